#include "cluster_control/metadata_image_builder.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "cluster_control/metadata_keys.h"
#include "cluster_control/topic_name.h"
#include "foundation/assert.h"
#include "internal_records/broker_value.h"
#include "internal_records/cluster_value.h"
#include "internal_records/config_overrides_value.h"
#include "internal_records/controller_epoch_value.h"
#include "internal_records/deleted_topic_value.h"
#include "internal_records/generation_value.h"
#include "internal_records/known_broker_value.h"
#include "internal_records/partition_states_value.h"
#include "internal_records/producer_ids_value.h"
#include "internal_records/synced_since_value.h"
#include "internal_records/topic_value.h"
#include "kafka_protocol/stored_value.h"

namespace naru {
namespace {

constexpr int32_t kMaxBuckets = 1 << 20;
constexpr int32_t kMaxPartitionCount = 1 << 20;

std::optional<std::string_view> name_under(std::string_view folder, std::string_view key) {
  if (!key.starts_with(folder)) return std::nullopt;
  return key.substr(folder.size());
}

std::optional<int32_t> parse_number(std::string_view text) {
  int32_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

Status not_a_number(std::string_view text) {
  return error(ErrorCode::corrupt_data, "'{}' is not a number", text);
}

Result<ConfigOverrides> decode_configs(BytesView value) {
  NARU_TRY_ASSIGN(auto stored, kafka::decode_stored_value<internal::ConfigOverridesValue>(value));
  ConfigOverrides configs;
  for (auto& entry : stored.entries) configs.insert_or_assign(std::move(entry.name), std::move(entry.value));
  return configs;
}

Status check_partition(const PartitionState& state) {
  const auto& replicas = state.replicas;
  const auto is_replica = [&replicas](BrokerId id) { return std::ranges::find(replicas, id) != replicas.end(); };
  const bool plausible = state.index.value() >= 0 && !replicas.empty() && std::ranges::all_of(state.isr, is_replica) &&
                         (state.leader == kNoBroker || is_replica(state.leader));
  if (plausible) return {};
  return error(ErrorCode::corrupt_data, "partition {} of topic id {} has an impossible state", state.index,
               state.topic_id.to_string());
}

bool ordered_by_name(const TopicMetadataPtr& a, const TopicMetadataPtr& b) {
  const auto alike = compare_alike(a->name, b->name);
  return alike != 0 ? alike < 0 : a->name < b->name;
}

bool ordered_by_id(const TopicMetadataPtr& a, const TopicMetadataPtr& b) {
  return a->id < b->id;
}

}  // namespace

MetadataImageBuilder::MetadataImageBuilder(const MetadataImage& base)
    : base_(base), next_(std::make_unique<MetadataImage>(base)) {}

Status MetadataImageBuilder::put(std::string_view key, BytesView value, KeyVersion version) {
  if (Status status = decode(key, value, version); !status.ok()) {
    return error(status.code(), "coordination store key {}: {}", key, status.message());
  }
  return {};
}

Status MetadataImageBuilder::decode(std::string_view key, BytesView value, KeyVersion version) {
  using namespace metadata_keys;
  if (key == kCluster) return put_cluster(value);
  if (key == kControllerEpoch) return put_controller_epoch(value, version);
  if (key == kGeneration) return put_generation(value, version);
  if (key == kProducerIds) return put_producer_ids(value, next_->cluster_.next_producer_id);
  if (key == kProducerIdsAtDeletion) return put_producer_ids(value, next_->cluster_.producer_ids_at_deletion);
  if (key == kSyncedSince) return put_synced_since(value);
  if (const auto name = name_under(kTopics, key)) return put_topic(*name, value);
  if (const auto id = name_under(kBrokers, key)) return put_broker(*id, value);
  if (const auto id = name_under(kKnownBrokers, key)) return put_known_broker(*id, value);
  if (const auto id = name_under(kDeletedTopics, key)) return put_deleted_topic(*id, value);
  if (const auto bucket = name_under(kPartitionStates, key)) return put_bucket(*bucket, value);
  if (const auto name = name_under(kTopicConfigs, key)) {
    NARU_TRY_ASSIGN(topic_changes_[std::string(*name)].configs, decode_configs(value));
  } else if (const auto broker = name_under(kBrokerConfigs, key)) {
    NARU_TRY_ASSIGN(next_->broker_configs_[std::string(*broker)], decode_configs(value));
  } else if (const auto escaped = name_under(kGroupConfigs, key)) {
    const auto group = unescape_name(*escaped);
    if (!group) return error(ErrorCode::corrupt_data, "not the name of a group");
    NARU_TRY_ASSIGN(next_->group_configs_[*group], decode_configs(value));
  } else if (const auto escaped_subscription = name_under(kClientMetrics, key)) {
    const auto subscription = unescape_name(*escaped_subscription);
    if (!subscription) return error(ErrorCode::corrupt_data, "not the name of a subscription");
    NARU_TRY_ASSIGN(next_->client_metrics_[*subscription], decode_configs(value));
  }
  return {};
}

Status MetadataImageBuilder::remove(std::string_view key) {
  using namespace metadata_keys;
  if (const auto name = name_under(kTopics, key)) {
    topic_changes_[std::string(*name)].removed = true;
  } else if (const auto topic = name_under(kTopicConfigs, key)) {
    topic_changes_[std::string(*topic)].configs = ConfigOverrides();
  } else if (const auto broker_name = name_under(kBrokerConfigs, key)) {
    if (const auto at = next_->broker_configs_.find(*broker_name); at != next_->broker_configs_.end()) {
      next_->broker_configs_.erase(at);
    }
  } else if (const auto escaped = name_under(kGroupConfigs, key)) {
    if (const auto group = unescape_name(*escaped)) next_->group_configs_.erase(*group);
  } else if (const auto escaped_subscription = name_under(kClientMetrics, key)) {
    if (const auto name_of_it = unescape_name(*escaped_subscription)) next_->client_metrics_.erase(*name_of_it);
  } else if (const auto broker_id = name_under(kBrokers, key)) {
    const auto number = parse_number(*broker_id);
    if (!number) return not_a_number(*broker_id);
    next_->brokers_.erase(BrokerId(*number));
  } else if (const auto known_id = name_under(kKnownBrokers, key)) {
    const auto number = parse_number(*known_id);
    if (!number) return not_a_number(*known_id);
    next_->known_brokers_.erase(BrokerId(*number));
  } else if (const auto topic_id = name_under(kDeletedTopics, key)) {
    if (const auto id = Uuid::parse(*topic_id)) next_->deleted_topics_.erase(*id);
  }
  return {};
}

Status MetadataImageBuilder::put_cluster(BytesView value) {
  NARU_TRY_ASSIGN(const auto stored, kafka::decode_stored_value<internal::ClusterValue>(value));
  if (stored.feature_level > kFeatureLevel) {
    return error(ErrorCode::unsupported_format,
                 "the cluster has feature level {}, and this Naru knows levels up to {}: start the newer Naru",
                 stored.feature_level, kFeatureLevel);
  }
  next_->cluster_.cluster_id = stored.cluster_id;
  next_->cluster_.feature_level = stored.feature_level;
  return {};
}

Status MetadataImageBuilder::put_controller_epoch(BytesView value, KeyVersion version) {
  NARU_TRY_ASSIGN(const auto stored, kafka::decode_stored_value<internal::ControllerEpochValue>(value));
  next_->cluster_.controller_epoch = stored.epoch;
  next_->cluster_.controller_id = stored.controller_id;
  next_->cluster_.controller_incarnation = stored.incarnation;
  next_->controller_epoch_version_ = version;
  return {};
}

Status MetadataImageBuilder::put_generation(BytesView value, KeyVersion version) {
  NARU_TRY_ASSIGN(const auto stored, kafka::decode_stored_value<internal::GenerationValue>(value));
  next_->cluster_.generation = stored.generation;
  next_->generation_version_ = version;
  return {};
}

Status MetadataImageBuilder::put_producer_ids(BytesView value, ProducerId& next) {
  NARU_TRY_ASSIGN(const auto stored, kafka::decode_stored_value<internal::ProducerIdsValue>(value));
  if (stored.next_producer_id < ProducerId(0)) {
    return error(ErrorCode::corrupt_data, "producer id {}", stored.next_producer_id);
  }
  next = stored.next_producer_id;
  return {};
}

Status MetadataImageBuilder::put_synced_since(BytesView value) {
  NARU_TRY_ASSIGN(const auto stored, kafka::decode_stored_value<internal::SyncedSinceValue>(value));
  next_->cluster_.synced_since = stored.generation;
  return {};
}

Status MetadataImageBuilder::put_topic(std::string_view name, BytesView value) {
  NARU_TRY(validate_topic_name(name).ok() ? Status() : error(ErrorCode::corrupt_data, "not a topic name"));
  NARU_TRY_ASSIGN(const auto stored, kafka::decode_stored_value<internal::TopicValue>(value));
  if (stored.partition_count < 1 || stored.partition_count > kMaxPartitionCount) {
    return error(ErrorCode::corrupt_data, "a topic with {} partitions", stored.partition_count);
  }
  TopicMetadata identity{.id = stored.topic_id,
                         .name = std::string(name),
                         .created_at_ms = stored.created_at_ms,
                         .synced_since = stored.synced_since,
                         .first_new_producer = stored.first_new_producer_id};
  identity.partitions.resize(static_cast<size_t>(stored.partition_count));
  TopicChange& change = topic_changes_[std::string(name)];
  change.removed = false;
  change.identity = std::move(identity);
  return {};
}

Status MetadataImageBuilder::put_broker(std::string_view id, BytesView value) {
  const auto number = parse_number(id);
  if (!number) return not_a_number(id);
  NARU_TRY_ASSIGN(auto stored, kafka::decode_stored_value<internal::BrokerValue>(value));
  BrokerMetadata broker{.id = BrokerId(*number),
                        .incarnation = stored.incarnation,
                        .epoch = stored.broker_epoch,
                        .rack = std::move(stored.rack),
                        .clean_shutdown = stored.clean_shutdown,
                        .directory_ids = std::move(stored.directory_ids)};
  for (auto& listener : stored.listeners) {
    broker.listeners.push_back(
        {std::move(listener.name), std::move(listener.host), listener.port, listener.security_protocol});
  }
  next_->brokers_.insert_or_assign(broker.id, std::move(broker));
  return {};
}

Status MetadataImageBuilder::put_known_broker(std::string_view id, BytesView value) {
  const auto number = parse_number(id);
  if (!number) return not_a_number(id);
  NARU_TRY_ASSIGN(auto stored, kafka::decode_stored_value<internal::KnownBrokerValue>(value));
  KnownBroker known{.settled_epoch = stored.settled_epoch,
                    .directory_ids = std::move(stored.directory_ids),
                    .registered_epoch = stored.registered_epoch,
                    .registered_clean = stored.registered_clean,
                    .rolled_back = std::move(stored.rolled_back_ids)};
  for (const auto& confirmed : stored.confirmed_epochs) {
    known.confirmed.push_back({confirmed.directory_id, confirmed.broker_epoch});
  }
  if (stored.offline_since >= 0) {
    OfflineLogs offline{.broker_epoch = stored.offline_since};
    for (const auto& topic : stored.offline_logs) {
      for (const PartitionIndex index : topic.partitions) offline.partitions.emplace(topic.topic_id, index);
    }
    known.offline = std::make_shared<const OfflineLogs>(std::move(offline));
  }
  next_->known_brokers_.insert_or_assign(BrokerId(*number), std::move(known));
  return {};
}

Status MetadataImageBuilder::put_deleted_topic(std::string_view id, BytesView value) {
  const auto topic_id = Uuid::parse(id);
  if (!topic_id) return error(ErrorCode::corrupt_data, "'{}' is not a topic id", id);
  NARU_TRY_ASSIGN(auto stored, kafka::decode_stored_value<internal::DeletedTopicValue>(value));
  DeletedTopic deleted{*topic_id, std::move(stored.name), stored.partition_count, std::move(stored.pending_brokers)};
  next_->deleted_topics_.insert_or_assign(*topic_id, std::move(deleted));
  return {};
}

Status MetadataImageBuilder::put_bucket(std::string_view bucket, BytesView value) {
  const auto number = parse_number(bucket);
  if (!number || *number >= kMaxBuckets) return not_a_number(bucket);
  NARU_TRY_ASSIGN(auto stored, kafka::decode_stored_value<internal::PartitionStatesValue>(value));
  PartitionBucket partitions;
  for (auto& topic : stored.topics) {
    for (auto& from : topic.partitions) {
      auto state = std::make_shared<PartitionState>();
      *state = {topic.topic_id,    from.partition_index, std::move(from.replicas), std::move(from.isr),
                from.leader,       from.leader_epoch,    from.partition_epoch,     *number,
                from.isr_lost_data};
      NARU_TRY(check_partition(*state));
      partitions.push_back(std::move(state));
    }
  }
  replace_bucket(static_cast<size_t>(*number), std::move(partitions));
  return {};
}

// A state that did not change keeps its object, so that topics which only share the bucket with a changed one stay
// shared.
void MetadataImageBuilder::replace_bucket(size_t bucket, PartitionBucket partitions) {
  static const auto kEmpty = std::make_shared<const PartitionBucket>();
  if (next_->buckets_.size() <= bucket) next_->buckets_.resize(bucket + 1, kEmpty);
  std::map<std::pair<Uuid, int32_t>, PartitionStatePtr> old_states;
  for (const PartitionStatePtr& old : *next_->buckets_[bucket]) {
    old_states.emplace(std::pair(old->topic_id, old->index.value()), old);
  }
  for (PartitionStatePtr& state : partitions) {
    const auto old = old_states.extract({state->topic_id, state->index.value()});
    if (!old.empty() && *old.mapped() == *state) {
      state = old.mapped();
    } else {
      partition_changes_[state->topic_id].insert_or_assign(state->index.value(), state);
    }
  }
  for (const auto& [partition, old] : old_states) {
    partition_changes_[partition.first].emplace(partition.second, nullptr);
  }
  next_->buckets_[bucket] = std::make_shared<const PartitionBucket>(std::move(partitions));
}

Result<MetadataImagePtr> MetadataImageBuilder::build() {
  NARU_TRY_ASSIGN(auto topics, changed_topics());
  NARU_TRY(fill_partitions(topics));
  NARU_TRY(merge_topics(std::move(topics)));
  return MetadataImagePtr(std::move(next_));
}

// Copies of the topics that exist after the changes and differ from the base, apart from partition states.
Result<std::map<Uuid, TopicMetadata>> MetadataImageBuilder::changed_topics() {
  std::map<Uuid, TopicMetadata> topics;
  for (auto& [name, change] : topic_changes_) {
    const TopicMetadata* old = base_.find_topic(std::string_view(name));
    if (change.removed || (old == nullptr && !change.identity)) {
      const bool has_configs = change.configs && !change.configs->empty();
      if (has_configs) return failure(ErrorCode::corrupt_data, "configuration of topic {}, which does not exist", name);
      continue;
    }
    TopicMetadata topic = change.identity ? std::move(*change.identity) : *old;
    if (change.identity && old != nullptr && old->id == topic.id) {
      const size_t kept = std::min(topic.partitions.size(), old->partitions.size());
      std::copy_n(old->partitions.begin(), kept, topic.partitions.begin());
    }
    if (change.configs) {
      topic.configs = std::move(*change.configs);
    } else if (change.identity && old != nullptr) {
      topic.configs = old->configs;
    }
    const Uuid id = topic.id;
    if (!topics.emplace(id, std::move(topic)).second) {
      return failure(ErrorCode::corrupt_data, "two topics have the id {}", id.to_string());
    }
  }
  return topics;
}

Status MetadataImageBuilder::fill_partitions(std::map<Uuid, TopicMetadata>& topics) {
  for (const auto& [id, states] : partition_changes_) {
    auto topic = topics.find(id);
    if (topic == topics.end()) {
      const TopicMetadata* old = base_.find_topic(id);
      const bool survives = old != nullptr && !topic_changes_.contains(old->name);
      if (survives) topic = topics.emplace(id, *old).first;
    }
    for (const auto& [index, state] : states) {
      const bool has_slot = topic != topics.end() && index < topic->second.partition_count();
      if (has_slot) {
        topic->second.partitions[static_cast<size_t>(index)] = state;
      } else if (state != nullptr) {
        return error(ErrorCode::corrupt_data, "partition {} of topic id {} has a state, and its topic does not know it",
                     index, id.to_string());
      }
    }
  }
  for (const auto& [id, topic] : topics) {
    const auto missing = std::ranges::find(topic.partitions, nullptr);
    if (missing == topic.partitions.end()) continue;
    return error(ErrorCode::corrupt_data, "partition {} of topic {} has no state", missing - topic.partitions.begin(),
                 topic.name);
  }
  return {};
}

namespace {

// Takes `gone` out and puts `added` in; all are in this order. Only what changes is looked at: there may be a hundred
// thousand others.
template <class Order>
void replace_sorted(std::vector<TopicMetadataPtr>& sorted, const std::vector<TopicMetadataPtr>& gone,
                    const std::vector<TopicMetadataPtr>& added, Order order) {
  std::vector<TopicMetadataPtr> result;
  result.reserve(sorted.size() + added.size());
  auto from = sorted.begin();
  auto leaving = gone.begin();
  auto coming = added.begin();
  while (leaving != gone.end() || coming != added.end()) {
    const bool one_leaves = coming == added.end() || (leaving != gone.end() && !order(*coming, *leaving));
    const auto at = std::ranges::lower_bound(from, sorted.end(), one_leaves ? *leaving : *coming, order);
    result.insert(result.end(), std::move_iterator(from), std::move_iterator(at));
    from = at;
    if (one_leaves) {
      NARU_ASSERT(from != sorted.end() && from->get() == leaving->get(), "topic {} is not in its place",
                  (*leaving)->name);
      ++leaving;
      ++from;
    } else {
      result.push_back(*coming++);
    }
  }
  result.insert(result.end(), std::move_iterator(from), std::move_iterator(sorted.end()));
  sorted = std::move(result);
}

}  // namespace

Status MetadataImageBuilder::merge_topics(std::map<Uuid, TopicMetadata> topics) {
  std::set<std::string> replaced;
  for (const auto& [name, change] : topic_changes_) replaced.insert(name);
  for (const auto& [id, topic] : topics) replaced.insert(topic.name);

  int32_t partition_count = base_.partition_count_;
  std::vector<TopicMetadataPtr> gone;
  for (const std::string& name : replaced) {
    const TopicMetadata* old = base_.find_topic(std::string_view(name));
    if (old == nullptr) continue;
    partition_count -= old->partition_count();
    gone.emplace_back(TopicMetadataPtr(), old);  // owned by the base
  }
  std::vector<TopicMetadataPtr> added;
  for (auto& [id, topic] : topics) {
    partition_count += topic.partition_count();
    added.push_back(std::make_shared<const TopicMetadata>(std::move(topic)));
  }
  const auto replace_in = [&](std::vector<TopicMetadataPtr>& sorted, auto order) {
    std::ranges::sort(gone, order);
    std::ranges::sort(added, order);
    replace_sorted(sorted, gone, added, order);
  };
  if (!replaced.empty()) {
    replace_in(next_->topics_, ordered_by_name);
    replace_in(next_->topics_by_id_, ordered_by_id);
  }

  size_t state_count = 0;
  for (const PartitionBucketPtr& bucket : next_->buckets_) state_count += bucket->size();
  if (state_count != static_cast<size_t>(partition_count)) {
    return error(ErrorCode::corrupt_data, "{} partitions have {} states: some partition is in two buckets",
                 partition_count, state_count);
  }
  next_->partition_count_ = partition_count;
  return {};
}

}  // namespace naru
