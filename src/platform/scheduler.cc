#include "platform/scheduler.h"

#include <atomic>
#include <memory>

namespace naru {
namespace {

// Timer and cancellation race for one OneShot; whoever is second finds it taken.
struct Sleep {
  OneShot<Status> woken;
  std::atomic_flag taken;

  void wake(Status status) {
    if (!taken.test_and_set(std::memory_order_acq_rel)) woken.set(std::move(status));
  }
};

}  // namespace

Task<Status> sleep_until(Scheduler& scheduler, MonotonicTime deadline, CancelToken token) {
  // Shared, because a timer that is just firing may outlive this frame.
  const auto sleep = std::make_shared<Sleep>();
  const auto timer = scheduler.start_timer(deadline, [sleep] { sleep->wake(Status()); });
  Status status;
  {
    const CancelCallback on_cancel(token, [sleep] { sleep->wake(Status(ErrorCode::cancelled)); });
    status = co_await sleep->woken;
  }
  if (!status.ok()) scheduler.cancel_timer(timer);
  co_return status;
}

}  // namespace naru
