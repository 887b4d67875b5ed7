#include "coordination_store/watch_registry.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "async/one_shot.h"
#include "async/strand.h"
#include "coordination_store/owned_strand.h"

namespace naru {

// One watch. Touched inside the strand only.
struct WatchRegistry::Entry {
  std::string subject;
  uint64_t id = 0;
  bool changed = false;
  uint64_t wait = 0;                  // counts the calls of next(), so that a late cancellation meets only its own call
  OneShot<Status>* waiter = nullptr;  // of the call that waits now

  void fire() {
    if (waiter == nullptr) {
      changed = true;
    } else {
      std::exchange(waiter, nullptr)->set(Status());
    }
  }
};

struct WatchRegistry::Shared {
  Strand strand;
  uint64_t next_id = 1;
  std::map<uint64_t, std::shared_ptr<Entry>> entries;
};

class WatchRegistry::RegisteredWatch final : public Watch {
 public:
  RegisteredWatch(std::shared_ptr<Shared> shared, std::string subject)
      : shared_(std::move(shared)), entry_(std::make_shared<Entry>()) {
    entry_->subject = std::move(subject);
    run_on_strand_of(shared_, [entry = entry_](Shared& shared) {
      entry->id = shared.next_id++;
      shared.entries.emplace(entry->id, entry);
    });
  }

  ~RegisteredWatch() override {
    run_on_strand_of(shared_, [entry = entry_](Shared& shared) { shared.entries.erase(entry->id); });
  }

  Task<Status> next(CancelToken token) override {
    OneShot<Status> woken;
    const uint64_t wait = ++waits_;
    run_on_strand_of(shared_, [entry = entry_, wait, &woken](Shared&) {
      entry->wait = wait;
      entry->waiter = &woken;
      if (std::exchange(entry->changed, false)) entry->fire();
    });
    const CancelCallback on_cancel(token, [shared = shared_, entry = entry_, wait] {
      run_on_strand_of(shared, [entry, wait](Shared&) {
        if (entry->wait != wait || entry->waiter == nullptr) return;
        std::exchange(entry->waiter, nullptr)->set(Status(ErrorCode::cancelled));
      });
    });
    co_return co_await woken;
  }

 private:
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<Entry> entry_;
  uint64_t waits_ = 0;
};

WatchRegistry::WatchRegistry() : shared_(std::make_shared<Shared>()) {}

WatchRegistry::~WatchRegistry() = default;

std::unique_ptr<Watch> WatchRegistry::watch(std::string subject) {
  return std::make_unique<RegisteredWatch>(shared_, std::move(subject));
}

void WatchRegistry::keys_changed(std::span<const std::string> keys) {
  run_on_strand_of(shared_, [keys = std::vector(keys.begin(), keys.end())](Shared& shared) {
    for (const auto& [id, entry] : shared.entries) {
      const auto covered = [&entry](const std::string& key) { return subject_covers(entry->subject, key); };
      if (std::ranges::any_of(keys, covered)) entry->fire();
    }
  });
}

void WatchRegistry::session_changed() {
  run_on_strand_of(shared_, [](Shared& shared) {
    for (const auto& [id, entry] : shared.entries) entry->fire();
  });
}

}  // namespace naru
