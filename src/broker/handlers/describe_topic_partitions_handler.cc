// DescribeTopicPartitions: topics in the order of their names, a bounded number of partitions at a time, and a cursor
// for what is left.
#include <algorithm>
#include <set>

#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "broker/turns.h"
#include "cluster_control/internal_topics.h"
#include "cluster_control/metadata_publisher.h"
#include "cluster_control/topic_name.h"
#include "kafka_protocol/messages/describe_topic_partitions_request.h"
#include "kafka_protocol/messages/describe_topic_partitions_response.h"

namespace naru {
namespace {

constexpr int32_t kMostPartitions = 2000;

using TopicPartitionsAnswer = kafka::DescribeTopicPartitionsResponse;
using DescribedTopic = TopicPartitionsAnswer::DescribeTopicPartitionsResponseTopic;

// By name; std::string_view points into the request or the image.
Task<std::set<std::string_view>> wanted_names(const BrokerServices& services, const RequestContext& context,
                                              const MetadataImage& image,
                                              const kafka::DescribeTopicPartitionsRequest& request, Turns& turns) {
  std::set<std::string_view> names;
  for (const auto& topic : request.topics) {
    co_await turns.step();
    names.insert(topic.name);
  }
  if (request.topics.empty()) {
    for (const TopicMetadataPtr& topic : image.topics()) {
      co_await turns.step();
      // Those that the client may not see are left out of a list of all.
      if (services.authorizer.authorize(context.caller, Operation::describe, ResourceType::topic, topic->name)) {
        names.insert(topic->name);
      }
    }
  }
  if (request.cursor) names.erase(names.begin(), names.lower_bound(request.cursor->topic_name));
  co_return names;
}

// The partitions from `first` on, as many as `room` allows; returns how many those are.
int32_t describe_partitions(const MetadataImage& image, const TopicMetadata& topic, int32_t first, int32_t room,
                            DescribedTopic& described) {
  const int32_t count = std::clamp(topic.partition_count() - first, 0, room);
  for (int32_t index = first; index < first + count; ++index) {
    auto& partition = described.partitions.emplace_back();
    fill_partition(image, *topic.partitions[static_cast<size_t>(index)], partition);
    partition.eligible_leader_replicas.emplace();
    partition.last_known_elr.emplace();
  }
  return count;
}

ErrorCode why_missing(std::string_view name) {
  return validate_topic_name(name).ok() ? ErrorCode::unknown_topic_or_partition : ErrorCode::invalid_topic_exception;
}

}  // namespace

Task<Response> handle_describe_topic_partitions(const BrokerServices& services, const RequestContext& context,
                                                kafka::WireReader& reader) {
  kafka::DescribeTopicPartitionsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  const MetadataImagePtr image = services.metadata.current();
  TopicPartitionsAnswer response;
  int32_t room = std::clamp(request.response_partition_limit, 1, kMostPartitions);
  Turns turns(services, context);
  const std::set<std::string_view> names = co_await wanted_names(services, context, *image, request, turns);
  for (const std::string_view name : names) {
    co_await turns.step();
    const bool at_cursor = request.cursor && request.cursor->topic_name == name;
    const int32_t first = at_cursor ? std::max(0, request.cursor->partition_index) : 0;
    if (room == 0) {
      response.next_cursor = {.topic_name = std::string(name), .partition_index = first};
      break;
    }
    DescribedTopic& described = response.topics.emplace_back();
    described.name = std::string(name);
    if (!services.authorizer.authorize(context.caller, Operation::describe, ResourceType::topic, name)) {
      described.error_code = ErrorCode::topic_authorization_failed;
      continue;
    }
    const TopicMetadata* topic = image->find_topic(name);
    if (topic == nullptr) {
      described.error_code = why_missing(name);
      continue;
    }
    described.topic_id = topic->id;
    described.is_internal = is_internal_topic(name);
    described.topic_authorized_operations =
        authorized_operations(services.authorizer, context.caller, ResourceType::topic, name);
    const int32_t count = describe_partitions(*image, *topic, first, room, described);
    room -= count;
    if (first + count < topic->partition_count()) {
      response.next_cursor = {.topic_name = std::string(name), .partition_index = first + count};
      break;
    }
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
