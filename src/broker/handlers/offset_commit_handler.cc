// OffsetCommit: how far a group has come. Answered when that is durable.
#include <map>

#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "broker/turns.h"
#include "cluster_control/metadata_publisher.h"
#include "kafka_protocol/messages/offset_commit_request.h"
#include "kafka_protocol/messages/offset_commit_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithMemberEpochs = 9;
constexpr int16_t kFirstOffsetCommitWithIds = 10;

using CommittedTopic = kafka::OffsetCommitRequest::OffsetCommitRequestTopic;

struct Topic {
  ErrorCode error = ErrorCode::none;  // of all its partitions
  const TopicMetadata* metadata = nullptr;
};

Topic find_topic(const BrokerServices& services, const RequestContext& context, const MetadataImage& image,
                 const CommittedTopic& wanted) {
  const bool by_id = context.version >= kFirstOffsetCommitWithIds;
  const TopicMetadata* topic = by_id ? image.find_topic(wanted.topic_id) : image.find_topic(wanted.name);
  if (by_id && topic == nullptr) return {ErrorCode::unknown_topic_id};
  const std::string_view name = by_id ? std::string_view(topic->name) : wanted.name;
  if (!services.authorizer.authorize(context.caller, Operation::read, ResourceType::topic, name)) {
    return {ErrorCode::topic_authorization_failed};
  }
  if (topic == nullptr) return {ErrorCode::unknown_topic_or_partition};
  return {ErrorCode::none, topic};
}

// Where an answer of the coordinator belongs.
struct Waiting {
  size_t topic;
  size_t partition;
  size_t entry;  // of what was asked
};

// Splits the request: what cannot be committed is answered at once, the rest goes to the coordinator. A partition that
// is named several times is committed once, as it was named last.
Task<void> sort_out(const BrokerServices& services, const RequestContext& context,
                    const kafka::OffsetCommitRequest& request, CommitOffsets& commit,
                    kafka::OffsetCommitResponse& response, std::vector<Waiting>& waiting, Turns& turns) {
  const MetadataImagePtr image = services.metadata.current();
  const ErrorCode group_error = group_access(services, context, Operation::read, request.group_id);
  std::map<std::pair<std::string_view, PartitionIndex>, size_t> entries;
  for (const CommittedTopic& wanted : request.topics) {
    co_await turns.step();
    auto& answered = response.topics.emplace_back();
    answered.name = wanted.name;
    answered.topic_id = wanted.topic_id;
    const Topic topic =
        group_error == ErrorCode::none ? find_topic(services, context, *image, wanted) : Topic{group_error};
    for (const auto& entry : wanted.partitions) {
      co_await turns.step();
      ErrorCode code = topic.error;
      if (code == ErrorCode::none && topic.metadata->partition(entry.partition_index) == nullptr) {
        code = ErrorCode::unknown_topic_or_partition;
      }
      answered.partitions.push_back({.partition_index = entry.partition_index, .error_code = code});
      if (code != ErrorCode::none) continue;
      const auto [known, is_new] =
          entries.try_emplace({topic.metadata->name, entry.partition_index}, commit.entries.size());
      waiting.push_back({response.topics.size() - 1, answered.partitions.size() - 1, known->second});
      if (is_new) commit.entries.emplace_back();
      commit.entries[known->second] = {.partition = {topic.metadata->name, entry.partition_index},
                                       .topic_id = topic.metadata->id,
                                       .offset = entry.committed_offset,
                                       .leader_epoch = entry.committed_leader_epoch,
                                       .metadata = std::string(entry.committed_metadata.value_or(""))};
    }
  }
}

}  // namespace

Task<Response> handle_offset_commit(const BrokerServices& services, const RequestContext& context,
                                    kafka::WireReader& reader) {
  kafka::OffsetCommitRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  CommitOffsets commit{.group_id = std::string(request.group_id),
                       .member = {.member_id = std::string(request.member_id),
                                  .instance_id = to_owned(request.group_instance_id),
                                  .generation = request.generation_id_or_member_epoch},
                       .retention = request.retention_time_ms >= 0
                                        ? std::optional(Milliseconds(request.retention_time_ms))
                                        : std::nullopt,
                       .knows_member_epochs = context.version >= kFirstVersionWithMemberEpochs,
                       .entries = {}};
  kafka::OffsetCommitResponse response;
  std::vector<Waiting> waiting;
  Turns turns(services, context, Turns::Order::kept);
  co_await sort_out(services, context, request, commit, response, waiting, turns);
  if (!waiting.empty()) {
    context.times.mark(RequestStage::handled, services.clock.now());
    co_await turns.to_worker_if_large();
    const size_t entries = commit.entries.size();
    const auto answer = co_await services.groups.ask<CommitAnswer>(
        request.group_id,
        [commit = std::move(commit)](GroupCoordinator& groups, Reply<CommitAnswer> reply, const CoordinatorTime& time,
                                     CoordinatorOutcome& outcome) mutable {
          groups.commit_offsets(std::move(commit), std::move(reply), time, outcome);
        },
        {.elements = entries});
    co_await off_the_loop_if_large(services, context, waiting.size());
    for (const auto& [topic, partition, entry] : waiting) {
      response.topics[topic].partitions[partition].error_code = answer ? answer->entries[entry] : answer.error().code();
    }
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
