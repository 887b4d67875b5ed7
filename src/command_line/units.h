// What people write and read: "30s", "64KiB", "2026-11-15T10:00:00Z"; and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/status.h"
#include "foundation/time.h"

namespace naru::command_line {

// A number and one of ns us ms s m h d; at least 1 ns, at most 10,000 days. "1.5h" is fine.
Result<Duration> parse_duration(std::string_view text);
// A number and nothing, B, KB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024).
Result<uint64_t> parse_size(std::string_view text);
// 2026-11-15, 2026-11-15T10:00, 2026-11-15T10:00:00Z, with or without fractions of a second. Always UTC.
Result<WallTimeMs> parse_time(std::string_view text);
// The whole text as a number.
Result<int64_t> parse_number(std::string_view text);

std::string format_time(WallTimeMs time);        // 2026-11-15T10:00:00.123Z
std::string format_bytes(uint64_t bytes);        // 1.4 MiB
std::string format_duration(Duration duration);  // 1.4 ms, 12 s
std::string format_age(Duration age);            // 0.4 s, 45 s, 12 min, 3 h 5 min, 2 d 4 h
std::string format_count(uint64_t count);        // 12,345

// For a terminal: control characters and bytes that are not UTF-8 become \xNN, so that no broker can repaint the
// screen.
std::string printable(std::string_view text);
bool is_utf8(std::string_view text);
// How many bytes the character at the front has; 0 if it is not UTF-8. The text is not empty.
size_t utf8_length(std::string_view text);

}  // namespace naru::command_line
