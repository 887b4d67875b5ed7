#include "command_line/units.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>

namespace naru::command_line {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kTimes{Unit{"ns", 1},   Unit{"us", 1e3},   Unit{"ms", 1e6},   Unit{"s", 1e9},
                            Unit{"m", 60e9}, Unit{"h", 3600e9}, Unit{"d", 86400e9}};
constexpr std::array kSizes{Unit{"", 1},     Unit{"B", 1},      Unit{"KB", 1e3},      Unit{"MB", 1e6},
                            Unit{"GB", 1e9}, Unit{"KiB", 1024}, Unit{"MiB", 1048576}, Unit{"GiB", 1073741824}};
constexpr double kLongestTime = 86400e9 * 10'000;
constexpr double kLargestSize = 1e18;

// "1.5h" -> 1.5 x the factor of h.
template <size_t N>
std::optional<double> parse_with_unit(std::string_view text, const std::array<Unit, N>& units) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (problem != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  const std::string_view name(end, static_cast<size_t>(text.data() + text.size() - end));
  for (const Unit& unit : units) {
    if (unit.name == name) return number * unit.factor;
  }
  return std::nullopt;
}

// Takes a number of exactly `digits` digits from the front, and the separator in front of it.
std::optional<int> take_digits(std::string_view& text, std::string_view separator, size_t digits) {
  if (!text.starts_with(separator) || text.size() < separator.size() + digits) return std::nullopt;
  const std::string_view number = text.substr(separator.size(), digits);
  int value = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + digits, value);
  if (problem != std::errc() || end != number.data() + digits || value < 0) return std::nullopt;
  text.remove_prefix(separator.size() + digits);
  return value;
}

std::optional<WallTimeMs> take_clock(std::string_view& text) {
  const auto hour = take_digits(text, "T", 2);
  const auto minute = take_digits(text, ":", 2);
  if (!hour || !minute || *hour > 23 || *minute > 59) return std::nullopt;
  WallTimeMs time = (*hour * 60 + *minute) * int64_t{60'000};
  if (text.starts_with(":")) {
    const auto second = take_digits(text, ":", 2);
    if (!second || *second > 59) return std::nullopt;
    time += *second * int64_t{1000};
  }
  if (text.starts_with(".")) {
    const auto milliseconds = take_digits(text, ".", 3);
    if (!milliseconds) return std::nullopt;
    time += *milliseconds;
  }
  return time;
}

std::optional<WallTimeMs> parse_utc(std::string_view text) {
  const auto year = take_digits(text, "", 4);
  const auto month = take_digits(text, "-", 2);
  const auto day = take_digits(text, "-", 2);
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  WallTimeMs time = std::chrono::sys_days(date).time_since_epoch().count() * int64_t{86'400'000};
  if (text.empty()) return time;
  const auto clock = take_clock(text);
  if (!clock || !(text.empty() || text == "Z")) return std::nullopt;
  return time + *clock;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const auto nanoseconds = parse_with_unit(text, kTimes);
  if (!nanoseconds || *nanoseconds < 1 || *nanoseconds > kLongestTime)
    return failure(ErrorCode::invalid_argument, "'{}' is not a time such as 500ms, 30s, 5m, 2h or 1d", text);
  return Duration(static_cast<int64_t>(*nanoseconds));
}

Result<uint64_t> parse_size(std::string_view text) {
  const auto bytes = parse_with_unit(text, kSizes);
  if (!bytes || *bytes > kLargestSize)
    return failure(ErrorCode::invalid_argument, "'{}' is not a size such as 500, 64KiB, 1MB or 2GiB", text);
  return static_cast<uint64_t>(*bytes);
}

Result<WallTimeMs> parse_time(std::string_view text) {
  const auto time = parse_utc(text);
  if (!time) return failure(ErrorCode::invalid_argument, "'{}' is not a time such as 2026-11-15T10:00:00Z", text);
  return *time;
}

Result<int64_t> parse_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size())
    return failure(ErrorCode::invalid_argument, "'{}' is not a number", text);
  return value;
}

std::string format_time(WallTimeMs time) {
  constexpr int64_t kDay = 86'400'000;
  const int64_t days = time >= 0 ? time / kDay : (time - kDay + 1) / kDay;
  const int64_t rest = time - days * kDay;
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), rest / 3'600'000,
                     rest / 60'000 % 60, rest / 1000 % 60, rest % 1000);
}

std::string format_bytes(uint64_t bytes) {
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return value < 10 ? fmt::format("{:.1f} {}", value, kUnits[unit]) : fmt::format("{:.0f} {}", value, kUnits[unit]);
}

std::string format_duration(Duration duration) {
  const auto nanoseconds = static_cast<double>(duration.count());
  const auto show = [](double value, std::string_view unit) {
    return value < 10 ? fmt::format("{:.1f} {}", value, unit) : fmt::format("{:.0f} {}", value, unit);
  };
  if (nanoseconds < 1e6) return show(nanoseconds / 1e3, "us");
  if (nanoseconds < 1e9) return show(nanoseconds / 1e6, "ms");
  return show(nanoseconds / 1e9, "s");
}

std::string format_age(Duration age) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  if (seconds < 10) return fmt::format("{:.1f} s", std::chrono::duration<double>(age).count());
  if (seconds < 120) return fmt::format("{} s", seconds);
  const int64_t minutes = seconds / 60, hours = minutes / 60;
  if (hours < 2) return fmt::format("{} min", minutes);
  if (hours < 48) return fmt::format("{} h {} min", hours, minutes % 60);
  return fmt::format("{} d {} h", hours / 24, hours % 24);
}

std::string format_count(uint64_t count) {
  std::string text = std::to_string(count);
  for (auto position = static_cast<ptrdiff_t>(text.size()) - 3; position > 0; position -= 3)
    text.insert(static_cast<size_t>(position), ",");
  return text;
}

size_t utf8_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool too_long = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool beyond = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return too_long || beyond ? 0 : length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || is_control(character)) {
      for (const char byte : character) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else {
      shown += character;
    }
    text.remove_prefix(character.size());
  }
  return shown;
}

}  // namespace naru::command_line
