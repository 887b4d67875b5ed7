#include "command_line/flag_values.h"

#include <array>

#include "command_line/units.h"

namespace naru::command_line {
namespace {

Result<KeyValue> parse_assignment(std::string_view flag, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return failure(ErrorCode::invalid_argument, "{} {}: expected key=value", flag, text);
  return KeyValue(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace

Status parse_assignments(std::string_view flag, const std::vector<std::string>& texts, std::vector<KeyValue>& to) {
  for (const std::string& text : texts) {
    NARU_TRY_ASSIGN(KeyValue assignment, parse_assignment(flag, text));
    to.push_back(std::move(assignment));
  }
  return {};
}

Result<std::vector<Endpoint>> parse_bootstrap(std::string_view text) {
  std::vector<Endpoint> addresses;
  while (true) {
    const size_t comma = text.find(',');
    NARU_TRY_ASSIGN(Endpoint address, parse_endpoint(text.substr(0, comma)));
    if (address.port == 0) return failure(ErrorCode::invalid_argument, "'{}' has no port", address.host);
    addresses.push_back(std::move(address));
    if (comma == std::string_view::npos) return addresses;
    text.remove_prefix(comma + 1);
  }
}

Result<Acks> parse_acks(std::string_view text) {
  if (text == "all" || text == "-1") return Acks::all;
  if (text == "1") return Acks::leader;
  if (text == "0") return Acks::none;
  return failure(ErrorCode::invalid_argument, "'{}' is not all, 1 or 0", text);
}

Result<Compression> parse_compression(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Compression>, 5> kCodecs{{{"none", Compression::none},
                                                                             {"gzip", Compression::gzip},
                                                                             {"snappy", Compression::snappy},
                                                                             {"lz4", Compression::lz4},
                                                                             {"zstd", Compression::zstd}}};
  for (const auto& [name, codec] : kCodecs) {
    if (name == text) return codec;
  }
  return failure(ErrorCode::invalid_argument, "'{}' is not none, gzip, snappy, lz4 or zstd", text);
}

Result<client::Isolation> parse_isolation(std::string_view text) {
  if (text == "read_committed") return client::Isolation::read_committed;
  if (text == "read_uncommitted") return client::Isolation::read_uncommitted;
  return failure(ErrorCode::invalid_argument, "'{}' is not read_committed or read_uncommitted", text);
}

Result<double> parse_rate(std::string_view text) {
  const std::string_view number = text.ends_with("/s") ? text.substr(0, text.size() - 2) : text;
  const auto rate = parse_number(number);
  if (!rate || *rate < 1)
    return failure(ErrorCode::invalid_argument, "'{}' is not a number of records per second", text);
  return static_cast<double>(*rate);
}

Result<uint64_t> parse_count(std::string_view text) {
  const auto count = parse_number(text);
  if (!count || *count < 1) return failure(ErrorCode::invalid_argument, "'{}' is not a number above 0", text);
  return static_cast<uint64_t>(*count);
}

Status parse_partitions(const std::vector<std::string>& texts, std::vector<PartitionIndex>& to) {
  for (const std::string& text : texts) {
    const auto index = parse_number(text);
    if (!index || *index < 0 || *index > INT32_MAX)
      return error(ErrorCode::invalid_argument, "--partition: '{}' is not the number of a partition", text);
    to.emplace_back(static_cast<int32_t>(*index));
  }
  return {};
}

Result<StartAt> parse_reset_target(std::string_view text) {
  using Kind = StartAt::Kind;
  if (text == "earliest") return StartAt{.kind = Kind::beginning};
  if (text == "latest") return StartAt{.kind = Kind::end};
  if (text.starts_with("offset ")) {
    if (const auto offset = parse_number(text.substr(7))) return StartAt{.kind = Kind::offset, .offset = *offset};
  }
  if (text.starts_with("time ")) {
    std::string_view time = text.substr(5);
    if (time.starts_with('-')) time.remove_prefix(1);
    const auto start = parse_start(time);
    if (start && (start->kind == Kind::time || start->kind == Kind::ago)) return *start;
  }
  return failure(ErrorCode::invalid_argument,
                 "'{}' is not earliest, latest, offset N, or time T, where T is a time (2026-11-15T10:00:00Z, "
                 "@1700000000000) or how long ago (-2h)",
                 text);
}

Result<StartAt> parse_start(std::string_view text) {
  using Kind = StartAt::Kind;
  if (text == "beginning") return StartAt{.kind = Kind::beginning};
  if (text == "end") return StartAt{.kind = Kind::end};
  if (text.starts_with('@')) {
    const auto time = parse_number(text.substr(1));
    if (time && *time >= 0) return StartAt{.kind = Kind::time, .time = *time};
  } else if (const auto offset = parse_number(text)) {
    return StartAt{.kind = Kind::offset, .offset = *offset};
  } else if (const auto ago = parse_duration(text)) {
    return StartAt{.kind = Kind::ago, .ago = *ago};
  } else if (const auto time = parse_time(text)) {
    return StartAt{.kind = Kind::time, .time = *time};
  }
  return failure(ErrorCode::invalid_argument,
                 "'{}' is not beginning, end, an offset (42, or -10 before the end), how long ago (15m), "
                 "or a time (2026-11-15T10:00:00Z, @1700000000000)",
                 text);
}

}  // namespace naru::command_line
