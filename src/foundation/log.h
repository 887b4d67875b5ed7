// The broker's log, on stderr. One line per event: time, level, component, sentence.
#pragma once

#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "foundation/error_code.h"

namespace naru {

bool log_enabled(LogLevel level);
void set_log_level(LogLevel level);
void silence_log();  // for tests that provoke errors by the thousand
void write_log_line(LogLevel level, std::string_view component, std::string_view sentence);

template <class... Args>
void log(LogLevel level, std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) write_log_line(level, component, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_debug(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::debug, component, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_info(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::info, component, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_warn(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::warn, component, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_error(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::error, component, format, std::forward<Args>(args)...);
}

}  // namespace naru
