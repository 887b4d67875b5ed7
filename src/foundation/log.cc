#include "foundation/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace naru {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("naru", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %-5l %v", spdlog::pattern_time_type::utc);
    made.flush_on(spdlog::level::debug);
    return made;
  }();
  return instance;
}

}  // namespace

bool log_enabled(LogLevel level) {
  return logger().should_log(to_spdlog(level));
}
void silence_log() {
  logger().set_level(spdlog::level::off);
}
void set_log_level(LogLevel level) {
  logger().set_level(to_spdlog(level));
}

void write_log_line(LogLevel level, std::string_view component, std::string_view sentence) {
  logger().log(to_spdlog(level), "{}: {}", component, sentence);
}

}  // namespace naru
