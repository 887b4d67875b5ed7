// ListOffsets: the offset at one end of a partition, or of the first record at or after a time.
#include <set>

#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/leader_hints.h"
#include "broker/turns.h"
#include "foundation/canary.h"
#include "kafka_protocol/messages/list_offsets_request.h"
#include "kafka_protocol/messages/list_offsets_response.h"

namespace naru {
namespace {

// Special timestamps, and the first version of the API that knows each.
constexpr int64_t kLatest = -1;
constexpr int64_t kEarliest = -2;
constexpr int64_t kMaxTimestamp = -3;
constexpr int64_t kEarliestLocal = -4;
constexpr int64_t kLatestTiered = -5;
constexpr int64_t kEarliestPendingUpload = -6;

constexpr int16_t kFirstVersionWithOffsetNotAvailable = 5;
constexpr int8_t kReadUncommitted = 0;

int16_t first_version_of(int64_t timestamp) {
  switch (timestamp) {
    case kMaxTimestamp:
      return 7;
    case kEarliestLocal:
      return 8;
    case kLatestTiered:
      return 9;
    case kEarliestPendingUpload:
      return 11;
    default:
      return timestamp >= kEarliest ? 0 : INT16_MAX;
  }
}

using Found = kafka::ListOffsetsResponse::ListOffsetsPartitionResponse;

void fill_from_lookup(const Result<std::optional<OffsetAndTimestamp>>& lookup, Found& found) {
  if (!lookup) {
    found.error_code = lookup.error().code();
  } else if (*lookup) {
    found.offset = (*lookup)->offset;
    found.timestamp = (*lookup)->timestamp;
    found.leader_epoch = (*lookup)->leader_epoch;
  }
}

Task<void> look_up(const BrokerServices& services, const RequestContext& context,
                   const kafka::ListOffsetsRequest::ListOffsetsPartition& wanted, bool read_committed,
                   HostedPartition hosted, Found& found) {
  if (context.version < first_version_of(wanted.timestamp)) {
    found.error_code = ErrorCode::unsupported_version;
    co_return;
  }
  const PartitionView view = co_await hosted.partition->look(wanted.current_leader_epoch);
  if (!view.status.ok()) {
    found.error_code = view.status.code();
    co_return;
  }
  // After an election the high watermark may be lower than what clients have seen before, and so may be the start.
  const bool needs_end = wanted.timestamp >= 0 || wanted.timestamp == kLatest || wanted.timestamp == kMaxTimestamp;
  const bool needs_start = wanted.timestamp == kEarliest || wanted.timestamp == kEarliestLocal;
  const bool end_is_known = view.high_watermark_known || is_planted(Canary::latest_before_known);
  if ((needs_end && !end_is_known) || (needs_start && view.told_start_offset == kNoOffset)) {
    found.error_code = context.version >= kFirstVersionWithOffsetNotAvailable ? ErrorCode::offset_not_available
                                                                              : ErrorCode::leader_not_available;
    co_return;
  }
  switch (wanted.timestamp) {
    case kLatest:
      found.offset = read_committed ? view.last_stable_offset : view.high_watermark;
      found.leader_epoch = view.leader_epoch;
      break;
    case kEarliest:
    case kEarliestLocal:
      found.offset = view.told_start_offset;
      found.leader_epoch = view.leader_epoch;
      break;
    case kLatestTiered:
    case kEarliestPendingUpload:
      break;  // nothing is archived: -1
    case kMaxTimestamp:
      co_await to_worker(services.scheduler);  // reads from the log
      fill_from_lookup(co_await hosted.partition->find_max_timestamp(read_committed), found);
      break;
    default:
      co_await to_worker(services.scheduler);
      fill_from_lookup(co_await hosted.partition->find_timestamp(wanted.timestamp, read_committed), found);
      break;
  }
}

}  // namespace

Task<Response> handle_list_offsets(const BrokerServices& services, const RequestContext& context,
                                   kafka::WireReader& reader) {
  kafka::ListOffsetsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  const bool read_committed = request.isolation_level != kReadUncommitted;
  Turns turns(services, context);
  std::set<std::pair<std::string_view, PartitionIndex>> seen;
  kafka::ListOffsetsResponse response;
  for (const auto& topic : request.topics) {
    co_await turns.step();
    auto& answered = response.topics.emplace_back();
    answered.name = topic.name;
    const bool allowed =
        services.authorizer.authorize(context.caller, Operation::describe, ResourceType::topic, topic.name);
    for (const auto& wanted : topic.partitions) {
      co_await turns.step();
      Found found;
      found.partition_index = wanted.partition_index;
      const HostedPartition hosted = services.partitions.find(topic.name, wanted.partition_index);
      if (!allowed) {
        found.error_code = ErrorCode::topic_authorization_failed;
      } else if (!seen.emplace(topic.name, wanted.partition_index).second) {
        found.error_code = ErrorCode::invalid_request;
      } else if (turns.nobody_waits()) {
        found.error_code = ErrorCode::request_timed_out;
      } else if (!hosted) {
        found.error_code = why_not_here(services, hosted, topic.name, wanted.partition_index).code();
      } else {
        co_await look_up(services, context, wanted, read_committed, hosted, found);
      }
      answered.partitions.push_back(std::move(found));
    }
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
