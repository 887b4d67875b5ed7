// The broker's log, on stderr. One line per event: time, level, component, sentence.
//
// Every component can have a level of its own; those without one follow the root. Any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "foundation/error_code.h"
#include "foundation/time.h"

namespace naru {

// The names that lines begin with, in alphabetical order.
inline constexpr auto kLogComponents = std::to_array<std::string_view>(
    {"broker", "configuration", "controller", "coordination_store", "coordinator", "groups", "journal", "log_storage",
     "maintenance", "metadata", "network", "partition", "replication", "server", "slow request", "transactions",
     "watchdog", "zookeeper"});

// A name that is not in the list does not compile.
class LogComponent {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): log_info("broker", ...) is the common form.
  consteval LogComponent(const char* name) : index_(index_of(name).value()) {}

  static constexpr std::optional<LogComponent> find(std::string_view name) {
    const auto index = index_of(name);
    return index ? std::optional(LogComponent(*index)) : std::nullopt;
  }

  constexpr size_t index() const { return index_; }
  constexpr std::string_view name() const { return kLogComponents[index_]; }

 private:
  constexpr explicit LogComponent(size_t index) : index_(index) {}
  static constexpr std::optional<size_t> index_of(std::string_view name) {
    const auto* const found = std::ranges::find(kLogComponents, name);
    return found != kLogComponents.end() ? std::optional<size_t>(found - kLogComponents.begin()) : std::nullopt;
  }

  size_t index_;
};

bool log_enabled(LogLevel level, LogComponent component);
// Of the root.
void set_log_level(LogLevel level);
LogLevel log_level();
// nullopt: it follows the root again.
void set_component_log_level(LogComponent component, std::optional<LogLevel> level);
LogLevel component_log_level(LogComponent component);
void silence_log();  // for tests that provoke errors by the thousand
// Where lines get their time from, instead of the system; nullptr: from the system again. Not while others write lines.
void set_log_clock(std::function<WallTimeMs()> clock);
void write_log_line(LogLevel level, LogComponent component, std::string_view sentence);

template <class... Args>
void log(LogLevel level, LogComponent component, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level, component)) write_log_line(level, component, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_debug(LogComponent component, fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::debug, component, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_info(LogComponent component, fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::info, component, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_warn(LogComponent component, fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::warn, component, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_error(LogComponent component, fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::error, component, format, std::forward<Args>(args)...);
}

}  // namespace naru
