#include "observability/slow_request_log.h"

#include <fmt/format.h>

#include <iterator>

#include "foundation/log.h"

namespace naru {
namespace {

constexpr size_t kShownClientBytes = 100;
constexpr std::array<std::string_view, kRequestStages> kStageNames{"queued", "handled", "committed"};

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
  if (!is_slow(times) || !rate_.line_allowed(now)) return false;
  log_warn("slow request", "{} of {:?} took {:.1f} ms: {}", api, client.substr(0, kShownClientBytes),
           in_ms(times.total()), times.to_string());
  return true;
}

}  // namespace naru
