// Lets tasks wait until something that is counted has changed, a deadline has passed, or they are cancelled.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "async/cancellation.h"
#include "async/task.h"
#include "async/wakeup.h"
#include "foundation/time.h"
#include "platform/scheduler.h"

namespace naru {

// Thread-safe. The scheduler outlives it, and it outlives its tasks.
class ChangeSignal {
 public:
  explicit ChangeSignal(Scheduler& scheduler) : scheduler_(scheduler) {}

  uint64_t count() const;
  void notify();
  // Returns at once when count() is not `seen` any more, or when kMaxWaiting tasks wait already.
  Task<void> wait_beyond(uint64_t seen, MonotonicTime deadline, CancelToken token);

  static constexpr size_t kMaxWaiting = 1000;

 private:
  // nullptr: no need to wait.
  std::shared_ptr<Wakeup> enlist(uint64_t seen);
  void leave(const std::shared_ptr<Wakeup>& wakeup);

  Scheduler& scheduler_;
  mutable std::mutex mutex_;
  uint64_t count_ = 0;
  std::vector<std::shared_ptr<Wakeup>> waiting_;
};

}  // namespace naru
