// Where a request's time went, and a log line for those that took too long.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/time.h"

namespace naru {

// In the order in which a request passes them; it may skip some.
enum class RequestStage : uint8_t {
  admitted,   // memory was there for its body
  read,       // the body is complete
  handled,    // the handler has done its work: appended, looked up
  committed,  // what the answer waits for is true: durable, replicated
  sent,       // the answer is in the socket
};
inline constexpr size_t kRequestStages = 5;

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
  // "admitted 0.0 ms, read 0.1 ms, ..., sent 0.0 ms"
  std::string to_string() const;

 private:
  MonotonicTime started_;
  MonotonicTime last_;
  Duration waited_{};
  std::array<Duration, kRequestStages> charged_{};
};

// Thread-safe. At most ten lines per second: a broker that is slow must not become slower by saying so.
class SlowRequestLog {
 public:
  // Threshold 0: logs nothing.
  explicit SlowRequestLog(Duration threshold) : threshold_(threshold) {}

  // True if a line was written. `client` is what the client called itself: it is quoted and cut.
  bool observe(std::string_view api, std::string_view client, const RequestTimes& times, MonotonicTime now);
  uint64_t suppressed() const { return suppressed_.load(std::memory_order_relaxed); }

 private:
  bool line_allowed(MonotonicTime now);

  const Duration threshold_;
  std::atomic<int64_t> second_{-1};
  std::atomic<int> lines_in_second_{0};
  std::atomic<uint64_t> suppressed_{0};
};

}  // namespace naru
