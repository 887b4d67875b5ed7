#include "observability/slow_request_log.h"

#include <fmt/format.h>

#include <iterator>

#include "foundation/log.h"

namespace naru {
namespace {

constexpr int kLinesPerSecond = 10;
constexpr size_t kShownClientBytes = 100;
constexpr std::array<std::string_view, kRequestStages> kStageNames{"admitted", "read", "handled", "committed", "sent"};

double in_ms(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

std::string RequestTimes::to_string() const {
  std::string text;
  for (size_t i = 0; i < kRequestStages; ++i) {
    fmt::format_to(std::back_inserter(text), "{}{} {:.1f} ms", i == 0 ? "" : ", ", kStageNames[i], in_ms(charged_[i]));
  }
  return text;
}

bool SlowRequestLog::observe(std::string_view api, std::string_view client, const RequestTimes& times,
                             MonotonicTime now) {
  if (threshold_ == Duration::zero() || times.total() < threshold_) return false;
  if (!line_allowed(now)) {
    suppressed_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  log_warn("slow request", "{} of {:?} took {:.1f} ms: {}", api, client.substr(0, kShownClientBytes),
           in_ms(times.total()), times.to_string());
  return true;
}

// Two threads may both start a second's count: then a line more or less is written, which does not matter.
bool SlowRequestLog::line_allowed(MonotonicTime now) {
  const int64_t second = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  if (second_.exchange(second, std::memory_order_relaxed) != second)
    lines_in_second_.store(0, std::memory_order_relaxed);
  return lines_in_second_.fetch_add(1, std::memory_order_relaxed) < kLinesPerSecond;
}

}  // namespace naru
