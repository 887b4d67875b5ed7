// Where a request's time went, and a log line for those that took too long.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/time.h"
#include "observability/log_rate.h"

namespace naru {

// In the order in which a request passes them; it may skip some.
enum class RequestStage : uint8_t {
  queued,     // between its last byte and its handler: behind others of its connection, or for memory
  handled,    // the handler has done its work: appended, looked up
  committed,  // what the answer waits for is true: durable, replicated
};
inline constexpr size_t kRequestStages = 3;

// Travels with its request; one thread at a time.
class RequestTimes {
 public:
  explicit RequestTimes(MonotonicTime started) : started_(started), last_(started) {}

  // The time since the previous mark is charged to `stage`.
  void mark(RequestStage stage, MonotonicTime now) {
    charged_[static_cast<size_t>(stage)] += now - last_;
    last_ = now;
  }
  // Time in which the request waited on purpose, such as a long poll: in no stage, and not in total().
  void skip_wait(MonotonicTime now) {
    waited_ += now - last_;
    last_ = now;
  }
  Duration total() const { return last_ - started_ - waited_; }
  Duration charged(RequestStage stage) const { return charged_[static_cast<size_t>(stage)]; }
  Duration waited() const { return waited_; }
  // "queued 0.0 ms, handled 0.1 ms, committed 0.0 ms"
  std::string to_string() const;

 private:
  MonotonicTime started_;
  MonotonicTime last_;
  Duration waited_{};
  std::array<Duration, kRequestStages> charged_{};
};

// Thread-safe. At most ten lines per second.
class SlowRequestLog {
 public:
  // Threshold 0: logs nothing.
  explicit SlowRequestLog(Duration threshold) : threshold_(threshold) {}

  void set_threshold(Duration threshold) { threshold_.store(threshold, std::memory_order_relaxed); }
  bool is_slow(const RequestTimes& times) const {
    const Duration threshold = threshold_.load(std::memory_order_relaxed);
    return threshold > Duration::zero() && times.total() >= threshold;
  }
  // True if a line was written. `client` is what the client called itself: it is quoted and cut.
  bool observe(std::string_view api, std::string_view client, const RequestTimes& times, MonotonicTime now);
  uint64_t suppressed() const { return rate_.skipped_in_all(); }

 private:
  static constexpr int kLinesPerSecond = 10;

  std::atomic<Duration> threshold_;
  LogRate rate_{kLinesPerSecond};
};

}  // namespace naru
