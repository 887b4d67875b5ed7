#include "cluster_control/delete_topics.h"

#include <algorithm>
#include <utility>

#include "cluster_control/internal_topics.h"
#include "cluster_control/metadata_keys.h"
#include "cluster_control/stored_metadata.h"

namespace naru {
namespace {

DeletedTopic record_deletion(const TopicMetadata& topic) {
  std::set<BrokerId> holders;
  for (const PartitionStatePtr& partition : topic.partitions) {
    holders.insert(partition->replicas.begin(), partition->replicas.end());
  }
  return {topic.id, topic.name, topic.partition_count(), {holders.begin(), holders.end()}};
}

std::map<int32_t, PartitionBucket> without_topic(const MetadataDraft& draft, const TopicMetadata& topic) {
  std::map<int32_t, PartitionBucket> changed;
  for (const PartitionStatePtr& partition : topic.partitions) {
    const auto [at, is_new] = changed.try_emplace(partition->bucket);
    if (!is_new) continue;
    std::ranges::copy_if(draft.bucket(partition->bucket), std::back_inserter(at->second),
                         [&topic](const PartitionStatePtr& other) { return other->topic_id != topic.id; });
  }
  return changed;
}

}  // namespace

DeleteTopicsPlanner::DeleteTopicsPlanner(std::vector<TopicReference> topics, const BrokerConfig& config)
    : ItemPlanner(std::move(topics)), config_(config) {
  std::set<std::string_view> names;
  std::set<Uuid> ids;
  for (const TopicReference& reference : items()) {
    if (reference.name && !names.insert(*reference.name).second) duplicate_names_.insert(*reference.name);
    if (!reference.name && !ids.insert(reference.id).second) duplicate_ids_.insert(reference.id);
  }
}

DeleteTopicResult DeleteTopicsPlanner::plan_item(const MetadataImage& image, const MetadataDraft& draft,
                                                 TopicReference& reference, MetadataChange& change) {
  if (const Status status = check_reference(reference); !status.ok()) return failed_item(reference, status);
  const TopicMetadata* topic = nullptr;
  if (reference.resolved) {
    topic = image.find_topic(*reference.resolved);
    if (topic == nullptr) return {reference.name, *reference.resolved, {}};
  } else {
    topic = reference.name ? image.find_topic(*reference.name) : image.find_topic(reference.id);
  }
  if (topic == nullptr) {
    const auto code = reference.name ? ErrorCode::unknown_topic_or_partition : ErrorCode::unknown_topic_id;
    return failed_item(reference, Status(code, "there is no such topic"));
  }
  if (is_internal_topic(topic->name)) {
    return failed_item(reference,
                       error(ErrorCode::invalid_topic_exception,
                             "{} is an internal topic: groups or transactions would lose their state", topic->name));
  }
  if (planned_.contains(topic->id)) {
    return failed_item(reference, Status(ErrorCode::invalid_request, "the request names this topic more than once"));
  }
  reference.resolved = topic->id;
  change.deletes.push_back(metadata_keys::topic(topic->name));
  if (!topic->configs.empty()) change.deletes.push_back(metadata_keys::topic_configs(topic->name));
  change.puts.push_back({metadata_keys::deleted_topic(topic->id), encode_deleted_topic(record_deletion(*topic))});
  change.buckets = without_topic(draft, *topic);
  return {topic->name, topic->id, {}};
}

DeleteTopicResult DeleteTopicsPlanner::failed_item(const TopicReference& reference, const Status& status) const {
  return {reference.name, reference.id, status};
}

void DeleteTopicsPlanner::item_planned(const TopicReference&, const DeleteTopicResult& result) {
  if (result.status.ok()) planned_.insert(result.topic_id);
}

Status DeleteTopicsPlanner::check_reference(const TopicReference& reference) const {
  if (!config_.delete_topic_enable) {
    return Status(ErrorCode::topic_deletion_disabled, "delete.topic.enable is false");
  }
  if (reference.name.has_value() != reference.id.is_zero()) {
    return Status(ErrorCode::invalid_request, "a topic is named either by its name or by its id");
  }
  const bool duplicate =
      reference.name ? duplicate_names_.contains(*reference.name) : duplicate_ids_.contains(reference.id);
  if (duplicate) return Status(ErrorCode::invalid_request, "the request names this topic more than once");
  return {};
}

ConfirmDeletionsPlanner::ConfirmDeletionsPlanner(BrokerId broker, std::vector<DeletionConfirmation> topics)
    : ItemPlanner(std::move(topics)), broker_(broker) {}

DeletionConfirmationResult ConfirmDeletionsPlanner::plan_item(const MetadataImage& image, const MetadataDraft&,
                                                              DeletionConfirmation& confirmation,
                                                              MetadataChange& change) {
  const auto found = image.deleted_topics().find(confirmation.topic_id);
  if (found == image.deleted_topics().end()) return {confirmation.topic_id, {}};
  DeletedTopic deleted = found->second;
  if (std::erase(deleted.pending_brokers, broker_) == 0) return {confirmation.topic_id, {}};
  const std::string key = metadata_keys::deleted_topic(deleted.id);
  if (deleted.pending_brokers.empty()) {
    change.deletes.push_back(key);
    change.puts.push_back(
        {std::string(metadata_keys::kProducerIdsAtDeletion), encode_producer_ids(image.cluster().next_producer_id)});
  } else {
    change.puts.push_back({key, encode_deleted_topic(deleted)});
  }
  return {confirmation.topic_id, {}};
}

DeletionConfirmationResult ConfirmDeletionsPlanner::failed_item(const DeletionConfirmation& confirmation,
                                                                const Status& status) const {
  return {confirmation.topic_id, status};
}

}  // namespace naru
