#include "cluster_control/alter_configs.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "cluster_control/effective_config.h"
#include "cluster_control/internal_topics.h"
#include "cluster_control/metadata_keys.h"
#include "cluster_control/stored_metadata.h"
#include "cluster_control/topic_name.h"

namespace naru {
namespace {

// A resource that is being changed: where it is stored, what is set now, and what its keys mean.
struct Target {
  std::string key;
  ConfigOverrides configs;
  ConfigScope scope;
  // What a key has without being set here, for lists that are appended to; and the check of all values together.
  ConfigValues inherited;
  BrokerConfig broker;
  bool all_brokers = false;
};

const ConfigDefinition* find_definition(ConfigScope scope, std::string_view name) {
  switch (scope) {
    case ConfigScope::topic:
      return find_topic_config(name);
    case ConfigScope::broker:
      return find_broker_config(name);
    case ConfigScope::group:
      return find_group_config(name);
    case ConfigScope::client_metrics:
      return find_client_metrics_config(name);
  }
  return nullptr;
}

// Like Kafka, which has another error for patterns and for what is no number than for the rest of a subscription.
Status validate_client_metrics(std::string_view name, std::string_view value) {
  const Status status = validate_client_metrics_config(name, value);
  const bool is_invalid_config = name == "match" || (name == "interval.ms" && !parse_config_integer(value));
  return status.ok() || is_invalid_config ? status : Status(ErrorCode::invalid_request, status.message());
}

Status validate(const Target& target, std::string_view name, std::string_view value) {
  switch (target.scope) {
    case ConfigScope::topic:
      return validate_topic_config(name, value);
    case ConfigScope::broker:
      return validate_dynamic_config(name, value, target.all_brokers);
    case ConfigScope::group:
      return validate_group_config(name, value);
    case ConfigScope::client_metrics:
      return validate_client_metrics(name, value);
  }
  return {};
}

Result<Target> find_topic(const MetadataImage& image, const BrokerConfig& config, const std::string& name) {
  if (name.empty()) return failure(ErrorCode::invalid_request, "the name of the topic is missing");
  NARU_TRY(validate_topic_name(name));
  const TopicMetadata* topic = image.find_topic(std::string_view(name));
  if (topic == nullptr) return failure(ErrorCode::unknown_topic_or_partition, "there is no topic {}", name);
  BrokerConfig broker = effective_broker_config(config, image);
  ConfigValues inherited = resolve_topic_values(broker, {});
  return Target{metadata_keys::topic_configs(name), topic->configs, ConfigScope::topic, std::move(inherited),
                std::move(broker)};
}

Result<Target> find_broker(const MetadataImage& image, const BrokerConfig& config, const std::string& name) {
  const auto id = parse_config_integer(name);
  const bool is_broker = id && *id >= 0 && *id <= INT32_MAX && name == std::to_string(*id) &&
                         image.find_broker(BrokerId(static_cast<int32_t>(*id))) != nullptr;
  if (!name.empty() && !is_broker) {
    return failure(ErrorCode::invalid_request, "there is no broker '{}'; brokers have numbers, '' stands for all",
                   name);
  }
  const std::string stored_as = name.empty() ? std::string(metadata_keys::kAllBrokers) : name;
  const ConfigOverrides& configs = stored_broker_configs(image, stored_as);
  // Without what is being changed: what it is laid over.
  static const ConfigOverrides kNone;
  const BrokerConfigLayers below{
      config, name.empty() ? kNone : stored_broker_configs(image, metadata_keys::kAllBrokers), kNone};
  BrokerConfig broker = effective_config(below);
  ConfigValues inherited = broker.values;
  return Target{metadata_keys::broker_configs(stored_as),
                configs,
                ConfigScope::broker,
                std::move(inherited),
                std::move(broker),
                name.empty()};
}

Result<Target> find_group(const MetadataImage& image, const BrokerConfig& config, const std::string& name) {
  if (name.empty()) return failure(ErrorCode::invalid_request, "the name of the group is missing");
  std::string key = metadata_keys::group_configs(name);
  if (key.size() > kMaxKeyBytes) {
    return failure(ErrorCode::invalid_request, "the name of the group is too long to have a configuration: {} bytes",
                   name.size());
  }
  return Target{std::move(key), stored_group_configs(image, name), ConfigScope::group,
                ConfigValues(group_config_definitions()), config};
}

Result<Target> find_client_metrics(const MetadataImage& image, const BrokerConfig& config, const std::string& name) {
  if (name.empty()) return failure(ErrorCode::invalid_request, "the name of the subscription is missing");
  std::string key = metadata_keys::client_metrics(name);
  if (key.size() > kMaxKeyBytes) {
    return failure(ErrorCode::invalid_request, "the name of the subscription is too long: {} bytes", name.size());
  }
  return Target{std::move(key), stored_client_metrics(image, name), ConfigScope::client_metrics,
                ConfigValues(client_metrics_config_definitions()), config};
}

Result<Target> find_target(const MetadataImage& image, const BrokerConfig& config, const AlterConfigsItem& item) {
  switch (item.resource) {
    case ConfigResource::topic:
      return find_topic(image, config, item.name);
    case ConfigResource::broker:
      return find_broker(image, config, item.name);
    case ConfigResource::group:
      return find_group(image, config, item.name);
    case ConfigResource::client_metrics:
      return find_client_metrics(image, config, item.name);
  }
  return failure(ErrorCode::invalid_request, "no such kind of resource");
}

// The list that is there, with the elements added or taken away.
Result<std::string> changed_list(const ConfigDefinition& definition, const ConfigChange& change,
                                 const std::string& present) {
  if (definition.type != ConfigType::list) {
    return failure(ErrorCode::invalid_config, "{} is no list: nothing can be appended to it or subtracted from it",
                   definition.name);
  }
  std::vector<std::string_view> elements = parse_config_list(present);
  for (const std::string_view element : parse_config_list(*change.value)) {
    if (change.operation == ConfigOperation::subtract) {
      std::erase(elements, element);
    } else if (std::ranges::find(elements, element) == elements.end()) {
      elements.push_back(element);
    }
  }
  return fmt::format("{}", fmt::join(elements, ","));
}

Status apply_change(const ConfigChange& change, Target& target) {
  const ConfigDefinition* definition = find_definition(target.scope, change.name);
  if (change.operation == ConfigOperation::remove) {
    // What another version stored can be removed without being known.
    const std::string name(definition != nullptr ? definition->name : std::string_view(change.name));
    const bool was_set = target.configs.erase(name) > 0;
    if (was_set || definition != nullptr) return {};
    const Status unknown = unknown_config(target.scope, change.name);
    return target.scope == ConfigScope::broker ? Status(ErrorCode::invalid_request, unknown.message()) : unknown;
  }
  if (!change.value) return error(ErrorCode::invalid_request, "{} has no value", change.name);
  std::string value = *change.value;
  if (definition != nullptr && change.operation != ConfigOperation::set) {
    const auto present = target.configs.find(definition->name);
    const std::string& list = present != target.configs.end()
                                  ? present->second
                                  : target.inherited.at(definition->name).text.value_or(std::string());
    NARU_TRY_ASSIGN(value, changed_list(*definition, change, list));
  }
  NARU_TRY(validate(target, change.name, value));
  target.configs.insert_or_assign(std::string(definition->name), std::move(value));
  return {};
}

// Values that are allowed each by itself must also fit together.
Status check_conflicts(const Target& target) {
  static const ConfigOverrides kNone;
  switch (target.scope) {
    case ConfigScope::topic:
      return check_topic_conflicts(target.broker, target.configs);
    case ConfigScope::broker: {
      const Status status = check_topic_conflicts(effective_config({target.broker, kNone, target.configs}), {});
      return status.ok() ? status : Status(ErrorCode::invalid_request, status.message());
    }
    case ConfigScope::group:
    case ConfigScope::client_metrics:
      return {};
  }
  return {};
}

const std::string* find_value(const ConfigOverrides& configs, std::string_view key) {
  const auto found = configs.find(key);
  return found != configs.end() ? &found->second : nullptr;
}

// A coordinator reads its topic from the beginning, and needs the last value of each key. It can live with all other
// keys: limits of what clients may send (max.message.bytes, segment.bytes, timestamps) and the codec do not hold for
// its own records.
Status check_internal_topic(const std::string& topic, const ConfigOverrides& configs) {
  if (!is_internal_topic(topic)) return {};
  constexpr std::string_view kWhy = "retention would remove what the coordinator still needs";
  const std::string* policy = find_value(configs, "cleanup.policy");
  if (policy == nullptr) {
    return error(ErrorCode::invalid_config, "cleanup.policy of {} must stay compact and cannot be unset: {}", topic,
                 kWhy);
  }
  if (parse_config_list(*policy) == std::vector<std::string_view>{"compact"}) return {};
  return error(ErrorCode::invalid_config, "cleanup.policy of {} must be compact, not '{}': {}", topic, *policy, kWhy);
}

// Whether acknowledgements wait for syncs, with these values in place of those that the target has.
bool waits_for_sync(const Target& target, const ConfigOverrides& configs) {
  static const ConfigOverrides kNone;
  const bool is_topic = target.scope == ConfigScope::topic;
  const BrokerConfig broker = is_topic ? target.broker : effective_config({target.broker, kNone, configs});
  return resolve_topic_config(broker, is_topic ? configs : kNone).acknowledges_after_sync();
}

// A broker that was there before may have acknowledged what it had not synced, also if it comes back much later.
void note_change_of_rule(const MetadataImage& image, const AlterConfigsItem& item, const Target& target,
                         const ConfigOverrides& before, int64_t generation, MetadataChange& change) {
  const bool concerned =
      target.scope == ConfigScope::topic || (target.scope == ConfigScope::broker && item.name.empty());
  if (!concerned || waits_for_sync(target, before) || !waits_for_sync(target, target.configs)) return;
  if (target.scope == ConfigScope::broker) {
    change.puts.push_back({std::string(metadata_keys::kSyncedSince), encode_synced_since(generation)});
    return;
  }
  const TopicMetadata& topic = *image.find_topic(std::string_view(item.name));
  change.puts.push_back(
      {metadata_keys::topic(topic.name),
       encode_topic(topic.id, topic.partition_count(), topic.created_at_ms, generation, topic.first_new_producer)});
}

}  // namespace

AlterConfigsPlanner::AlterConfigsPlanner(std::vector<AlterConfigsItem> all, bool validate_only,
                                         const BrokerConfig& config)
    : ItemPlanner(std::move(all)), validate_only_(validate_only), config_(config) {
  std::set<std::pair<ConfigResource, std::string>> seen;
  for (const AlterConfigsItem& item : items()) {
    if (!seen.emplace(item.resource, item.name).second) duplicates_.emplace(item.resource, item.name);
  }
}

AlterConfigsResult AlterConfigsPlanner::plan_item(const MetadataImage& image, const MetadataDraft& draft,
                                                  AlterConfigsItem& item, MetadataChange& change) {
  return failed_item(item, plan_resource(image, item, draft.next_generation(), change));
}

AlterConfigsResult AlterConfigsPlanner::failed_item(const AlterConfigsItem& item, const Status& status) const {
  return {item.resource, item.name, status};
}

Status AlterConfigsPlanner::plan_resource(const MetadataImage& image, const AlterConfigsItem& item, int64_t generation,
                                          MetadataChange& change) const {
  if (duplicates_.contains({item.resource, item.name})) {
    return Status(ErrorCode::invalid_request, "the request names this resource more than once");
  }
  NARU_TRY_ASSIGN(Target target, find_target(image, config_, item));
  const ConfigOverrides before = target.configs;
  if (item.replace_all) target.configs.clear();
  std::set<std::string_view> named;
  for (const ConfigChange& one : item.changes) {
    if (!named.insert(one.name).second) return error(ErrorCode::invalid_request, "{} is given twice", one.name);
    NARU_TRY(apply_change(one, target));
  }
  NARU_TRY(check_conflicts(target));
  if (target.scope == ConfigScope::topic) {
    NARU_TRY(check_internal_topic(item.name, target.configs));
  }
  if (validate_only_ || target.configs == before) return {};
  note_change_of_rule(image, item, target, before, generation, change);
  if (target.configs.empty()) {
    change.deletes.push_back(target.key);
  } else {
    change.puts.push_back({target.key, encode_configs(target.configs)});
  }
  return {};
}

}  // namespace naru
