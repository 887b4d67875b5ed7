#include "command_line/start_positions.h"

#include <algorithm>
#include <chrono>

#include "client/offsets.h"

namespace naru::command_line {
namespace {

using FoundOffsets = std::map<client::TopicPartition, client::OffsetAtTime>;
using Ranges = std::map<client::TopicPartition, ReadRange>;

Task<Result<FoundOffsets>> find_times(client::ClusterClient& client,
                                      const std::vector<client::TopicPartition>& partitions, const StartAt& start,
                                      WallTimeMs now) {
  if (start.kind == StartAt::Kind::time) co_return co_await client::list_offsets(client, partitions, start.time);
  if (start.kind != StartAt::Kind::ago) co_return FoundOffsets();
  const auto ago = std::chrono::duration_cast<Milliseconds>(start.ago).count();
  co_return co_await client::list_offsets(client, partitions, std::max<WallTimeMs>(0, now - ago));
}

Offset choose(const StartAt& start, Offset first, Offset end, Offset at_time) {
  switch (start.kind) {
    case StartAt::Kind::beginning:
      return first;
    case StartAt::Kind::end:
      return end;
    case StartAt::Kind::offset:
      return start.offset >= 0 ? Offset(start.offset) : end + std::max(start.offset, -end.value());
    case StartAt::Kind::time:
    case StartAt::Kind::ago:
      return at_time == kNoOffset ? end : at_time;  // none: no record is that young
  }
  return first;
}

}  // namespace

Task<Result<Ranges>> find_ranges(client::ClusterClient& client, std::vector<client::TopicPartition> partitions,
                                 StartAt start, WallTimeMs now, client::Isolation isolation) {
  NARU_CO_TRY_ASSIGN(const FoundOffsets firsts, co_await client::list_offsets(client, partitions, client::kEarliest));
  NARU_CO_TRY_ASSIGN(const FoundOffsets ends,
                     co_await client::list_offsets(client, partitions, client::kLatest, isolation));
  NARU_CO_TRY_ASSIGN(const FoundOffsets times, co_await find_times(client, partitions, start, now));
  Ranges ranges;
  for (const client::TopicPartition& partition : partitions) {
    const Offset first = firsts.at(partition).offset;
    const Offset end = std::max(first, ends.at(partition).offset);
    const auto at_time = times.find(partition);
    const Offset begin = choose(start, first, end, at_time == times.end() ? kNoOffset : at_time->second.offset);
    ranges[partition] = {.begin = std::clamp(begin, first, end), .end = end};
  }
  co_return ranges;
}

}  // namespace naru::command_line
