// OffsetFetch: how far groups have come. Each group and partition is answered once, however often it is named: a short
// request must not have an answer of gigabytes.
#include <set>
#include <tuple>

#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "broker/turns.h"
#include "cluster_control/metadata_publisher.h"
#include "kafka_protocol/messages/offset_fetch_request.h"
#include "kafka_protocol/messages/offset_fetch_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithSeveralGroups = 8;
constexpr int16_t kFirstOffsetFetchWithIds = 10;

using RequestGroup = kafka::OffsetFetchRequest::OffsetFetchRequestGroup;
using ResponseGroup = kafka::OffsetFetchResponse::OffsetFetchResponseGroup;
using FetchedTopic = kafka::OffsetFetchResponse::OffsetFetchResponseTopics;
using ResponsePartition = kafka::OffsetFetchResponse::OffsetFetchResponsePartitions;

// Older versions ask for one group, in other fields.
std::vector<RequestGroup> groups_of(const RequestContext& context, const kafka::OffsetFetchRequest& request) {
  if (context.version >= kFirstVersionWithSeveralGroups) return request.groups;
  RequestGroup group;
  group.group_id = request.group_id;
  group.topics.reset();
  if (request.topics) {
    group.topics.emplace();
    for (const auto& topic : *request.topics) {
      auto& wanted = group.topics->emplace_back();
      wanted.name = topic.name;
      wanted.partition_indexes = topic.partition_indexes;
    }
  }
  return {std::move(group)};
}

// What offsets carry besides their numbers, decoded and encoded: a group may have committed long texts.
uint64_t memory_of(const ResponseGroup& group) {
  uint64_t bytes = 0;
  for (const FetchedTopic& topic : group.topics) {
    for (const ResponsePartition& partition : topic.partitions) bytes += 200 + 2 * partition.metadata->size();
  }
  return bytes;
}

ResponsePartition no_offset(PartitionIndex index, ErrorCode error) {
  return {.partition_index = index, .committed_offset = kNoOffset, .metadata = "", .error_code = error};
}

// Not if it was committed for a former topic of the same name: the group has read nothing of today's.
bool is_of_today(const CommittedOffset& committed, const TopicMetadata* topic) {
  return topic == nullptr || committed.belongs_to(topic->id);
}

ResponsePartition to_partition(FetchedOffset& fetched, const TopicMetadata* topic) {
  if (fetched.error != ErrorCode::none) {
    ResponsePartition unknown = no_offset(fetched.partition.partition, fetched.error);
    unknown.naru_pending_producer_id = fetched.pending_producer;
    return unknown;
  }
  if (!fetched.committed || !is_of_today(*fetched.committed, topic)) {
    return no_offset(fetched.partition.partition, ErrorCode::none);
  }
  return {.partition_index = fetched.partition.partition,
          .committed_offset = fetched.committed->offset,
          .committed_leader_epoch = fetched.committed->leader_epoch,
          .metadata = std::move(fetched.committed->metadata),
          .error_code = ErrorCode::none};
}

// One request for the coordinator, and where its answers belong.
struct Question {
  FetchOffsets fetch;
  std::vector<std::pair<size_t, size_t>> places;  // (topic, partition) in the response
};

ErrorCode problem_with(const BrokerServices& services, const RequestContext& context, const TopicMetadata* topic,
                       std::string_view name) {
  if (context.version >= kFirstOffsetFetchWithIds && topic == nullptr) return ErrorCode::unknown_topic_id;
  return services.authorizer.authorize(context.caller, Operation::describe, ResourceType::topic, name)
             ? ErrorCode::none
             : ErrorCode::topic_authorization_failed;
}

Task<Question> prepare(const BrokerServices& services, const RequestContext& context, const MetadataImage& image,
                       const RequestGroup& wanted, bool require_stable, ResponseGroup& group, Turns& turns) {
  Question question{.fetch = {.group_id = std::string(wanted.group_id),
                              .member_id = to_owned(wanted.member_id),
                              .member_epoch = wanted.member_epoch,
                              .partitions = std::nullopt,
                              .require_stable = require_stable},
                    .places = {}};
  if (!wanted.topics) co_return question;
  question.fetch.partitions.emplace();
  std::set<std::tuple<std::string_view, Uuid, PartitionIndex>> asked;
  for (const auto& topic : *wanted.topics) {
    co_await turns.step();
    FetchedTopic& answered = group.topics.emplace_back();
    answered.name = topic.name;
    answered.topic_id = topic.topic_id;
    const bool by_id = context.version >= kFirstOffsetFetchWithIds;
    const TopicMetadata* known = by_id ? image.find_topic(topic.topic_id) : image.find_topic(topic.name);
    const std::string_view name = known != nullptr ? std::string_view(known->name) : topic.name;
    const ErrorCode error = problem_with(services, context, known, name);
    for (const int32_t number : topic.partition_indexes) {
      co_await turns.step();
      const PartitionIndex index(number);
      if (!asked.emplace(name, topic.topic_id, index).second) continue;
      answered.partitions.push_back(no_offset(index, error));
      // What does not exist has no offset: nobody has to be asked.
      if (error != ErrorCode::none || known == nullptr || known->partition(index) == nullptr) continue;
      question.fetch.partitions->push_back({std::string(name), index});
      question.places.emplace_back(group.topics.size() - 1, answered.partitions.size() - 1);
    }
  }
  co_return question;
}

// Everything that the group has committed, by topic.
Task<void> fill_all(const BrokerServices& services, const RequestContext& context, const MetadataImage& image,
                    std::vector<FetchedOffset> offsets, ResponseGroup& group, Turns& turns) {
  for (FetchedOffset& fetched : offsets) {
    co_await turns.step();
    const std::string& name = fetched.partition.topic;
    if (!services.authorizer.authorize(context.caller, Operation::describe, ResourceType::topic, name)) continue;
    const TopicMetadata* topic = image.find_topic(name);
    if (context.version >= kFirstOffsetFetchWithIds && topic == nullptr) continue;
    if (fetched.committed && !is_of_today(*fetched.committed, topic)) continue;
    if (group.topics.empty() || group.topics.back().name != name) {
      FetchedTopic& answered = group.topics.emplace_back();
      answered.name = name;
      if (topic != nullptr) answered.topic_id = topic->id;
    }
    group.topics.back().partitions.push_back(to_partition(fetched, topic));
  }
}

// A group's error belongs to the group, and in versions without such a field to each of its partitions.
void fill_error(ErrorCode error, ResponseGroup& group) {
  group.error_code = error;
  for (FetchedTopic& topic : group.topics) {
    for (ResponsePartition& partition : topic.partitions) partition = no_offset(partition.partition_index, error);
  }
}

Task<ResponseGroup> fetch_group(const BrokerServices& services, const RequestContext& context,
                                const RequestGroup& wanted, bool require_stable, bool include_pending, Turns& turns) {
  ResponseGroup group;
  group.group_id = wanted.group_id;
  const MetadataImagePtr image = services.metadata.current();
  Question question = co_await prepare(services, context, *image, wanted, require_stable, group, turns);
  const ErrorCode refused = group_access(services, context, Operation::describe, wanted.group_id);
  if (refused != ErrorCode::none || turns.nobody_waits()) {
    fill_error(refused != ErrorCode::none ? refused : ErrorCode::request_timed_out, group);
    co_return group;
  }
  auto answer = co_await services.groups.ask<FetchOffsetsAnswer>(
      wanted.group_id,
      [fetch = std::move(question.fetch)](GroupCoordinator& groups, Reply<FetchOffsetsAnswer> reply,
                                          const CoordinatorTime& time, CoordinatorOutcome& outcome) mutable {
        groups.fetch_offsets(std::move(fetch), std::move(reply), time, outcome);
      },
      {.elements = question.places.size(), .whole_group = !wanted.topics}, context.connection->gone());
  if (answer) co_await off_the_loop_if_large(services, context, answer->offsets.size());
  const ErrorCode error = answer ? answer->error : answer.error().code();
  if (answer && !include_pending) {
    for (FetchedOffset& fetched : answer->offsets) fetched.pending_producer = kNoProducerId;
  }
  if (error != ErrorCode::none) {
    fill_error(error, group);
  } else if (!wanted.topics) {
    co_await fill_all(services, context, *image, std::move(answer->offsets), group, turns);
  } else {
    for (size_t i = 0; i < question.places.size(); ++i) {
      const auto [topic, partition] = question.places[i];
      group.topics[topic].partitions[partition] =
          to_partition(answer->offsets[i], image->find_topic(answer->offsets[i].partition.topic));
    }
  }
  co_return group;
}

void fill_old_response(ResponseGroup group, kafka::OffsetFetchResponse& response) {
  response.error_code = group.error_code;
  for (FetchedTopic& topic : group.topics) {
    auto& answered = response.topics.emplace_back();
    answered.name = std::move(topic.name);
    for (ResponsePartition& partition : topic.partitions) {
      answered.partitions.push_back({.partition_index = partition.partition_index,
                                     .committed_offset = partition.committed_offset,
                                     .committed_leader_epoch = partition.committed_leader_epoch,
                                     .metadata = std::move(partition.metadata),
                                     .error_code = partition.error_code});
    }
  }
}

}  // namespace

Task<Response> handle_offset_fetch(const BrokerServices& services, const RequestContext& context,
                                   kafka::WireReader& reader) {
  kafka::OffsetFetchRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  Turns turns(services, context);
  kafka::OffsetFetchResponse response;
  const auto wanted = groups_of(context, request);
  std::set<std::string_view> answered;
  for (const RequestGroup& group : wanted) {
    co_await turns.step();
    if (!answered.insert(group.group_id).second) continue;
    response.groups.push_back(
        co_await fetch_group(services, context, group, request.require_stable, request.naru_include_pending, turns));
    if (!context.memory.take_for_answer(memory_of(response.groups.back()))) co_return no_memory_for_answer();
  }
  if (context.version < kFirstVersionWithSeveralGroups) {
    fill_old_response(std::move(response.groups.front()), response);
    response.groups.clear();
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
