#include "platform/real/heap.h"

#include <malloc.h>

#include <atomic>

namespace naru {
namespace {

constexpr Duration kInterval = 10s;
constexpr int kLooksBeforeTrim = 3;
constexpr size_t kWorthTheTrouble = 16 << 20;

}  // namespace

class HeapKeeper::Core final : public std::enable_shared_from_this<Core> {
 public:
  Core(Clock& clock, Scheduler& scheduler) : clock_(clock), scheduler_(scheduler) {}

  void look_again_later() {
    scheduler_.start_timer(clock_.now() + kInterval, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self || self->ended) return;
      self->scheduler_.run_blocking([self] {
        self->look();
        if (!self->ended) self->look_again_later();
      });
    });
  }

  std::atomic<bool> ended{false};

 private:
  void look() {
    const struct mallinfo2 heap = ::mallinfo2();
    looks_ = heap.fordblks >= kWorthTheTrouble && heap.fordblks > heap.uordblks ? looks_ + 1 : 0;
    if (looks_ < kLooksBeforeTrim) return;
    looks_ = 0;
    ::malloc_trim(0);
  }

  Clock& clock_;
  Scheduler& scheduler_;
  int looks_ = 0;  // that found much free memory, one after the other
};

HeapKeeper::HeapKeeper(Clock& clock, Scheduler& scheduler) : core_(std::make_shared<Core>(clock, scheduler)) {
  core_->look_again_later();
}

HeapKeeper::~HeapKeeper() {
  core_->ended = true;
}

}  // namespace naru
