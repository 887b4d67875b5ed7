// The values of flags: from what a person typed to what a command uses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/offsets.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "platform/transport.h"
#include "record_format/record_batch.h"

namespace naru::command_line {

using KeyValue = std::pair<std::string, std::string>;

enum class Acks : int8_t { all = -1, none = 0, leader = 1 };

// Where to begin reading.
struct StartAt {
  enum class Kind : uint8_t { beginning, end, offset, time, ago };
  Kind kind = Kind::beginning;
  int64_t offset = 0;   // negative: so many before the end
  WallTimeMs time = 0;  // since 1970
  Duration ago{};       // before now
};

Result<std::vector<Endpoint>> parse_bootstrap(std::string_view text);
Result<Acks> parse_acks(std::string_view text);
Result<Compression> parse_compression(std::string_view text);
Result<client::Isolation> parse_isolation(std::string_view text);
Result<double> parse_rate(std::string_view text);
Result<uint64_t> parse_count(std::string_view text);
// "beginning", "end", "42", "-10", "15m" (ago), "2026-11-15T10:00:00Z", "@1700000000000".
Result<StartAt> parse_start(std::string_view text);

// "earliest", "latest", "offset 42", "offset -10" (before the end), "time -2h", "time 2026-11-15T10:00:00Z",
// "time @1700000000000".
Result<StartAt> parse_reset_target(std::string_view text);

// Those of a flag that may be repeated; appended to `to`.
Status parse_assignments(std::string_view flag, const std::vector<std::string>& texts, std::vector<KeyValue>& to);
Status parse_partitions(const std::vector<std::string>& texts, std::vector<PartitionIndex>& to);

// Nothing when the text is empty. An error has the flag in front of what is wrong with its value.
template <class T>
Status parse_flag(std::string_view flag, const std::string& text, Result<T> (*parse)(std::string_view), auto& to) {
  if (text.empty()) return {};
  auto parsed = parse(text);
  if (!parsed) return error(ErrorCode::invalid_argument, "{}: {}", flag, parsed.error().message());
  to = *parsed;
  return {};
}

}  // namespace naru::command_line
