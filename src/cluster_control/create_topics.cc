#include "cluster_control/create_topics.h"

#include <algorithm>
#include <utility>

#include "cluster_control/effective_config.h"
#include "cluster_control/internal_topics.h"
#include "cluster_control/metadata_keys.h"
#include "cluster_control/partition_buckets.h"
#include "cluster_control/replica_placement.h"
#include "cluster_control/stored_metadata.h"

namespace naru {
namespace {

// Replicas that a request assigned by hand: partitions 0..n-1, equally many replicas each, on brokers that are there.
Result<std::vector<std::vector<BrokerId>>> check_assignments(const MetadataImage& image, const NewTopic& topic) {
  if (topic.partition_count != -1 || topic.replication_factor != -1) {
    return failure(ErrorCode::invalid_request,
                   "with replica assignments, the number of partitions and the replication factor must be -1");
  }
  const size_t count = topic.assignments.size();
  NARU_TRY(check_partition_count(static_cast<int32_t>(count)));
  const size_t replication_factor = topic.assignments.front().replicas.size();
  std::vector<std::vector<BrokerId>> replicas(count);
  for (const ReplicaAssignment& assignment : topic.assignments) {
    const int32_t index = assignment.partition_index;
    if (index < 0 || static_cast<size_t>(index) >= count || !replicas[static_cast<size_t>(index)].empty()) {
      return failure(ErrorCode::invalid_replica_assignment,
                     "partitions have to be numbered from 0 to {} without gaps, and {} does not fit", count - 1, index);
    }
    if (assignment.replicas.empty() || assignment.replicas.size() != replication_factor) {
      return failure(ErrorCode::invalid_replica_assignment,
                     "every partition needs the same number of replicas, at least one; partition {} has {}", index,
                     assignment.replicas.size());
    }
    NARU_TRY(check_replicas(image, index, assignment.replicas));
    replicas[static_cast<size_t>(index)] = assignment.replicas;
  }
  return replicas;
}

Result<ConfigOverrides> check_configs(const BrokerConfig& config, const MetadataImage& image,
                                      const std::vector<ConfigEntry>& entries) {
  ConfigOverrides configs;
  for (const ConfigEntry& entry : entries) {
    if (!entry.value) return failure(ErrorCode::invalid_config, "{} has no value", entry.name);
    NARU_TRY(validate_topic_config(entry.name, *entry.value));
    if (!configs.emplace(entry.name, *entry.value).second) {
      return failure(ErrorCode::invalid_request, "{} is given twice", entry.name);
    }
  }
  if (!configs.empty()) NARU_TRY(check_topic_conflicts(effective_broker_config(config, image), configs));
  return configs;
}

// Producers that have written to an earlier topic of the same name go on with its sequences, and some clients give up
// if they are refused. Nobody has written to a topic that was gone before the producer got its id.
ProducerId first_new_producer(const MetadataImage& image) {
  const ClusterMetadata& cluster = image.cluster();
  const bool all_gone = image.deleted_topics().empty() && cluster.producer_ids_at_deletion != kNoProducerId;
  return all_gone ? cluster.producer_ids_at_deletion : cluster.next_producer_id;
}

CreateTopicResult existing_topic(const TopicMetadata& topic) {
  return {topic.name, {}, topic.id, topic.partition_count(), topic.replication_factor(), topic.configs};
}

}  // namespace

CreateTopicsPlanner::CreateTopicsPlanner(CreateTopicsRequest request, const BrokerConfig& config, WallTimeMs now,
                                         StoppingBrokers stopping)
    : ItemPlanner(std::move(request.topics)),
      config_(config),
      now_(now),
      stopping_(std::move(stopping)),
      validate_only_(request.validate_only) {
  std::set<std::string_view> seen;
  for (const NewTopic& topic : items()) {
    if (!seen.insert(topic.name).second) duplicate_names_.insert(topic.name);
    const int32_t partitions = partitions_of(topic);
    if (partitions > 0 && partitions <= kMaxPartitionsPerTopic) requested_partitions_ += partitions;
  }
}

// As asked for, however senseless.
int32_t CreateTopicsPlanner::partitions_of(const NewTopic& topic) const {
  if (!topic.assignments.empty()) return static_cast<int32_t>(topic.assignments.size());
  return topic.partition_count == -1 ? config_.num_partitions : topic.partition_count;
}

void CreateTopicsPlanner::begin_step() {
  planned_names_.clear();
  planned_partitions_ = 0;
}

void CreateTopicsPlanner::step_committed() {
  if (!validate_only_) return;
  validated_names_.merge(planned_names_);
  validated_partitions_ += planned_partitions_;
}

CreateTopicResult CreateTopicsPlanner::plan_item(const MetadataImage& image, const MetadataDraft& draft,
                                                 NewTopic& topic, MetadataChange& change) {
  auto result = plan_topic(image, draft, topic, change);
  return result ? std::move(*result) : failed_item(topic, result.error());
}

CreateTopicResult CreateTopicsPlanner::failed_item(const NewTopic& topic, const Status& status) const {
  return {.name = topic.name, .status = status};
}

void CreateTopicsPlanner::item_planned(const NewTopic& topic, const CreateTopicResult& result) {
  if (!result.status.ok()) return;
  planned_names_.insert(topic.name);
  planned_partitions_ += result.partition_count;
}

Result<CreateTopicResult> CreateTopicsPlanner::plan_topic(const MetadataImage& image, const MetadataDraft& draft,
                                                          const NewTopic& topic, MetadataChange& change) const {
  if (const TopicMetadata* own = image.find_topic(topic.id)) return existing_topic(*own);
  NARU_TRY(check_name(image, topic));
  if (requested_partitions_ > kMaxPartitionsPerRequest) {
    return failure(ErrorCode::policy_violation, "the request is for {} partitions, and {} can be created at a time",
                   requested_partitions_, kMaxPartitionsPerRequest);
  }
  NARU_TRY_ASSIGN(Replicas replicas, choose_replicas(image, topic));
  NARU_TRY(check_partition_limits(image, validated_partitions_ + planned_partitions_, 0,
                                  static_cast<int32_t>(replicas.size())));
  NARU_TRY_ASSIGN(ConfigOverrides configs, check_configs(config_, image, topic.configs));

  CreateTopicResult result{.name = topic.name};
  result.partition_count = static_cast<int32_t>(replicas.size());
  result.replication_factor = static_cast<int16_t>(replicas.front().size());
  if (!validate_only_) {
    result.topic_id = topic.id;
    change.puts.push_back({metadata_keys::topic(topic.name),
                           encode_topic(topic.id, result.partition_count, now_, -1, first_new_producer(image))});
    if (!configs.empty()) change.puts.push_back({metadata_keys::topic_configs(topic.name), encode_configs(configs)});
    change.buckets = add_partitions(draft, topic.id, 0, std::move(replicas));
  }
  result.configs = std::move(configs);
  return result;
}

Status CreateTopicsPlanner::check_name(const MetadataImage& image, const NewTopic& topic) const {
  if (duplicate_names_.contains(topic.name)) {
    return Status(ErrorCode::invalid_request, "the request names this topic more than once");
  }
  NARU_TRY(validate_topic_name(topic.name));
  if (is_internal_topic(topic.name) != topic.internal) {
    return error(ErrorCode::invalid_topic_exception, "{} is an internal topic: the broker makes it when it is needed",
                 topic.name);
  }
  const TopicMetadata* alike = image.find_topic_like(topic.name);
  if (alike != nullptr && alike->name == topic.name) {
    return error(ErrorCode::topic_already_exists, "topic {} exists", topic.name);
  }
  const std::string* other = alike != nullptr ? &alike->name : nullptr;
  for (const auto* names : {&planned_names_, &validated_names_}) {
    if (const auto found = names->find(topic.name); other == nullptr && found != names->end()) other = &*found;
  }
  if (other == nullptr) return {};
  return error(ErrorCode::invalid_topic_exception, "{} differs from topic {} only in '.' and '_'", topic.name, *other);
}

Result<CreateTopicsPlanner::Replicas> CreateTopicsPlanner::choose_replicas(const MetadataImage& image,
                                                                           const NewTopic& topic) const {
  if (!topic.assignments.empty()) return check_assignments(image, topic);
  NARU_TRY_ASSIGN(const int32_t partition_count, choose_partition_count(topic));
  NARU_TRY_ASSIGN(const int16_t replication_factor, choose_replication_factor(image, topic));
  const auto brokers = placement_brokers(image, stopping_, replication_factor);
  return place_replicas(brokers, partition_count, replication_factor, topic.id.low);
}

Result<int32_t> CreateTopicsPlanner::choose_partition_count(const NewTopic& topic) const {
  const int32_t count = partitions_of(topic);
  if (count < 1) {
    return failure(ErrorCode::invalid_partitions,
                   "{} partitions: there must be at least one, or -1 for the broker's default", count);
  }
  NARU_TRY(check_partition_count(count));
  return count;
}

Result<int16_t> CreateTopicsPlanner::choose_replication_factor(const MetadataImage& image,
                                                               const NewTopic& topic) const {
  const auto brokers = static_cast<int32_t>(image.brokers().size());
  const int32_t by_default = config_.default_replication_factor.value_or(std::min(3, brokers));
  const int32_t factor = topic.replication_factor == -1 ? by_default : topic.replication_factor;
  if (topic.replication_factor != -1 && factor < 1) {
    return failure(ErrorCode::invalid_replication_factor,
                   "replication factor {}: it must be at least 1, or -1 for the broker's default", factor);
  }
  if (factor < 1 || factor > brokers) {
    return failure(ErrorCode::invalid_replication_factor,
                   "replication factor {} needs as many brokers, and {} are there", factor, brokers);
  }
  return static_cast<int16_t>(factor);
}

}  // namespace naru
