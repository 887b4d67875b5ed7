#include "foundation/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace naru {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return spdlog::level::trace;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::fatal:
      return spdlog::level::critical;
  }
  return spdlog::level::err;
}

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("naru", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %-5l %v", spdlog::pattern_time_type::utc);
    made.set_level(spdlog::level::debug);  // what is written is decided here, for each component
    made.flush_on(spdlog::level::debug);
    return made;
  }();
  return instance;
}

std::function<WallTimeMs()>& log_clock() {
  static std::function<WallTimeMs()> instance;
  return instance;
}

constexpr auto kSilent = static_cast<LogLevel>(std::to_underlying(LogLevel::fatal) + 1);

// Reading takes no lock: a line that is switched off costs one load.
class Levels {
 public:
  Levels() { update(); }

  LogLevel of(LogComponent component) const { return effective_[component.index()].load(std::memory_order_relaxed); }
  LogLevel root() const {
    const std::scoped_lock lock(mutex_);
    return root_;
  }
  void set_root(LogLevel level) {
    const std::scoped_lock lock(mutex_);
    root_ = level;
    update();
  }
  void set(LogComponent component, std::optional<LogLevel> level) {
    const std::scoped_lock lock(mutex_);
    own_[component.index()] = level;
    update();
  }
  void silence() {
    const std::scoped_lock lock(mutex_);
    root_ = kSilent;
    own_.fill(std::nullopt);
    update();
  }

 private:
  void update() {
    for (size_t i = 0; i < own_.size(); ++i) effective_[i].store(own_[i].value_or(root_), std::memory_order_relaxed);
  }

  mutable std::mutex mutex_;
  LogLevel root_ = LogLevel::info;
  std::array<std::optional<LogLevel>, kLogComponents.size()> own_{};
  std::array<std::atomic<LogLevel>, kLogComponents.size()> effective_{};
};

Levels& levels() {
  static Levels instance;
  return instance;
}

}  // namespace

bool log_enabled(LogLevel level, LogComponent component) {
  const LogLevel least = levels().of(component);
  return level >= (least == LogLevel::fatal ? LogLevel::error : least);
}
void silence_log() {
  levels().silence();
}
void set_log_level(LogLevel level) {
  levels().set_root(level);
}
LogLevel log_level() {
  return levels().root();
}
void set_component_log_level(LogComponent component, std::optional<LogLevel> level) {
  levels().set(component, level);
}
LogLevel component_log_level(LogComponent component) {
  return levels().of(component);
}

void set_log_clock(std::function<WallTimeMs()> clock) {
  log_clock() = std::move(clock);
}

void write_log_line(LogLevel level, LogComponent component, std::string_view sentence) {
  if (!log_clock()) return logger().log(to_spdlog(level), "{}: {}", component.name(), sentence);
  const std::chrono::sys_time<Milliseconds> now{Milliseconds(log_clock()())};
  logger().log(now, {}, to_spdlog(level), fmt::format("{}: {}", component.name(), sentence));
}

}  // namespace naru
