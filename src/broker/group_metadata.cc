#include "broker/group_metadata.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cluster_control/internal_topics.h"
#include "configuration/config_values.h"

namespace naru {
namespace {

GroupMigration migration_of(const std::string& policy) {
  if (policy == "upgrade") return GroupMigration::upgrade;
  if (policy == "downgrade") return GroupMigration::downgrade;
  return policy == "disabled" ? GroupMigration::disabled : GroupMigration::bidirectional;
}

// Stored values that are not allowed (written by another version) are skipped.
void override_timeout(const ConfigOverrides& overrides, std::string_view key, Milliseconds& timeout) {
  const auto found = overrides.find(key);
  if (found == overrides.end() || !validate_group_config(key, found->second).ok()) return;
  ConfigValues values(group_config_definitions());
  values.set(key, found->second, ConfigSource::group, "");
  timeout = Milliseconds(values.integer(key));
}

}  // namespace

SharedTopics subscribable_topics(const MetadataImage& image) {
  std::vector<SubscribableTopic> topics;
  topics.reserve(image.topics().size());
  for (const TopicMetadataPtr& topic : image.topics()) {
    topics.push_back({topic->name, topic->id, topic->partition_count(), is_internal_topic(topic->name)});
  }
  return std::make_shared<const SubscribableTopics>(image.cluster().generation, std::move(topics));
}

TopicNews topic_news(const MetadataImage& before, const MetadataImage& now) {
  TopicNews news;
  for (const TopicMetadataPtr& topic : now.topics_changed_since(before)) {
    const TopicMetadata* known = before.find_topic(topic->id);
    if (known == nullptr || known->partition_count() != topic->partition_count()) news.others = true;
  }
  for (const TopicMetadataPtr& topic : before.topics_changed_since(now)) {
    if (now.find_topic(topic->id) == nullptr) news.gone.push_back({topic->name, topic->id});
  }
  news.others |= !news.gone.empty();
  return news;
}

GroupSettings group_settings(const BrokerConfig& broker, const MetadataImage& image) {
  const GroupsConfig& config = broker.groups;
  GroupSettings settings{.initial_rebalance_delay = config.initial_rebalance_delay,
                         .session_timeout_min = config.min_session_timeout,
                         .session_timeout_max = config.max_session_timeout,
                         .size_max = static_cast<size_t>(config.max_size),
                         .offset_metadata_bytes_max = static_cast<size_t>(config.offset_metadata_max_bytes),
                         .offsets_retention = config.offsets_retention};
  // The log of the offsets has to remember those that have ended, too.
  const auto producers = static_cast<size_t>(broker.max_producers_per_partition);
  settings.pending_transactions_max = std::min(settings.pending_transactions_max, (producers + 1) / 2);
  settings.consumer.timeouts = {.session_timeout = config.consumer_session_timeout,
                                .heartbeat_interval = config.consumer_heartbeat_interval};
  settings.consumer.size_max = static_cast<size_t>(config.consumer_max_size);
  settings.consumer.assignors = config.consumer_assignors;
  settings.consumer.migration = migration_of(config.consumer_migration_policy);
  for (const auto& [group_id, overrides] : image.group_configs()) {
    ConsumerGroupTimeouts timeouts = settings.consumer.timeouts;
    override_timeout(overrides, "consumer.session.timeout.ms", timeouts.session_timeout);
    override_timeout(overrides, "consumer.heartbeat.interval.ms", timeouts.heartbeat_interval);
    settings.consumer.timeouts_of_groups.emplace(group_id, timeouts);
  }
  return settings;
}

}  // namespace naru
