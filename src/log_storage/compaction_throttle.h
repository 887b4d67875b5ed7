// What compactions may read and write per second, all those of a broker together: log.cleaner.io.max.bytes.per.second.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "async/cancellation.h"
#include "async/task.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "platform/clock.h"
#include "platform/scheduler.h"

namespace naru {

// Bytes that were used before the rate allowed them. Passing time pays for them. Not thread-safe.
class ByteDebt {
 public:
  // How long it takes at this rate, which is above 0, until nothing is owed; at most an hour. The time since the last
  // call counts at this rate, too.
  Duration add(uint64_t bytes, MonotonicTime now, double bytes_per_second);

 private:
  double owed_ = 0;
  MonotonicTime paid_until_{};
};

// Thread-safe. The rate is asked for whenever it is needed, so that a wait follows its changes.
class CompactionThrottle {
 public:
  CompactionThrottle(Clock& clock, Scheduler& scheduler, std::function<double()> bytes_per_second)
      : clock_(clock), scheduler_(scheduler), bytes_per_second_(std::move(bytes_per_second)) {}

  // After so many bytes. True: wait() before the next ones.
  [[nodiscard]] bool spend(uint64_t bytes);
  // Until nothing is owed, or cancelled. The coroutine goes on on a worker.
  Task<Status> wait(CancelToken cancelled);

 private:
  Duration add(uint64_t bytes);

  Clock& clock_;
  Scheduler& scheduler_;
  const std::function<double()> bytes_per_second_;
  std::mutex mutex_;
  ByteDebt debt_;
};

}  // namespace naru
