#include "log_storage/epoch_history.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "foundation/assert.h"
#include "foundation/request_canary.h"

namespace naru {
namespace {

// Takes the next line, without its line end.
std::optional<std::string_view> next_line(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

template <class Int>
std::optional<Int> parse_number(std::string_view text) {
  Int value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<EpochStart> parse_entry(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto epoch = parse_number<int32_t>(line.substr(0, space));
  const auto start = parse_number<int64_t>(line.substr(space + 1));
  if (!epoch || !start || *epoch < 0 || *start < 0) return std::nullopt;
  return EpochStart{LeaderEpoch(*epoch), Offset(*start)};
}

}  // namespace

bool EpochHistory::assign(LeaderEpoch epoch, Offset start_offset) {
  if (epoch <= latest()) return false;
  // An epoch of which trim_start() has left nothing but the name.
  if (!starts_.empty() && starts_.back().start_offset == start_offset) starts_.pop_back();
  NARU_ASSERT(starts_.empty() || start_offset > starts_.back().start_offset,
              "leader epoch {} begins at {}, not behind epoch {} at {}", epoch, start_offset, starts_.back().epoch,
              starts_.back().start_offset);
  starts_.push_back({epoch, start_offset});
  return true;
}

void EpochHistory::truncate(Offset end) {
  while (!starts_.empty() && starts_.back().start_offset >= end) starts_.pop_back();
}

bool EpochHistory::trim_start(Offset start) {
  if (starts_.empty() || starts_.front().start_offset >= start) return false;
  const auto later = std::ranges::upper_bound(starts_, start, {}, &EpochStart::start_offset);
  starts_.erase(starts_.begin(), std::prev(later));
  starts_.front().start_offset = start;
  return true;
}

EpochEnd EpochHistory::end_offset_for(LeaderEpoch epoch, Offset log_end) const {
  const bool is_none =
      is_planted(RequestCanary::negative_epoch_looked_up) ? epoch == kNoLeaderEpoch : epoch < LeaderEpoch(0);
  if (is_none || epoch > latest()) return {};  // clients name any number
  if (epoch == latest()) return {epoch, log_end};
  const auto higher = std::ranges::upper_bound(starts_, epoch, {}, &EpochStart::epoch);
  const LeaderEpoch known = higher == starts_.begin() ? epoch : std::prev(higher)->epoch;
  return {known, higher->start_offset};
}

std::string EpochHistory::to_text() const {
  std::string text = fmt::format("0\n{}\n", starts_.size());
  for (const EpochStart& entry : starts_) text += fmt::format("{} {}\n", entry.epoch, entry.start_offset);
  return text;
}

Result<EpochHistory> EpochHistory::parse(BytesView bytes) {
  std::string_view text = as_text(bytes);
  const auto version = next_line(text);
  if (!version || *version != "0") return failure(ErrorCode::corrupt_data, "the first line is not version 0");
  const auto count = next_line(text).and_then(parse_number<uint64_t>);
  if (!count) return failure(ErrorCode::corrupt_data, "the second line is not a number of entries");

  EpochHistory history;
  while (!text.empty()) {
    const auto entry = next_line(text).and_then(parse_entry);
    if (!entry)
      return failure(ErrorCode::corrupt_data, "line {} is not an epoch and an offset", history.starts_.size() + 3);
    if (!history.starts_.empty() &&
        (entry->epoch <= history.starts_.back().epoch || entry->start_offset <= history.starts_.back().start_offset)) {
      return failure(ErrorCode::corrupt_data, "line {} is not above the line before", history.starts_.size() + 3);
    }
    history.starts_.push_back(*entry);
  }
  if (history.starts_.size() != *count) {
    return failure(ErrorCode::corrupt_data, "it holds {} entries instead of {}", history.starts_.size(), *count);
  }
  return history;
}

}  // namespace naru
