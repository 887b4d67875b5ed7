#include "configuration/topic_config.h"

#include <algorithm>
#include <limits>
#include <string>

#include "foundation/log.h"

namespace naru {
namespace {

// What a topic gets from a broker key of another unit: hours become milliseconds; "no limit" stays what it is.
std::string in_topic_unit(const std::string& text, int64_t multiplier) {
  if (multiplier == 1) return text;
  const int64_t number = parse_config_integer(text).value_or(0);
  return std::to_string(number < 0 ? number : number * multiplier);
}

void apply_broker_values(const BrokerConfig& broker, ConfigValues& values) {
  for (const ConfigDefinition& definition : topic_config_definitions()) {
    for (const ConfigSynonym& synonym : definition.synonyms.view()) {
      if (!broker.values.is_set(synonym.broker_key)) continue;
      const ConfigValue& value = broker.values.at(synonym.broker_key);
      values.set(definition.name, in_topic_unit(*value.text, synonym.multiplier), value.source, value.origin);
      break;
    }
  }
}

void set_compression(const ConfigValues& values, TopicConfig& config) {
  const std::string& type = values.string("compression.type");
  if (type == "uncompressed") {
    config.compression = TopicCompression::uncompressed;
  } else if (type == "gzip") {
    config.compression = TopicCompression::gzip;
    config.compression_level = values.int32("compression.gzip.level");
  } else if (type == "snappy") {
    config.compression = TopicCompression::snappy;
  } else if (type == "lz4") {
    config.compression = TopicCompression::lz4;
    config.compression_level = values.int32("compression.lz4.level");
  } else if (type == "zstd") {
    config.compression = TopicCompression::zstd;
    config.compression_level = values.int32("compression.zstd.level");
  }
}

}  // namespace

ConfigValues resolve_topic_values(const BrokerConfig& broker, const ConfigOverrides& overrides) {
  ConfigValues values(topic_config_definitions());
  apply_broker_values(broker, values);
  for (const auto& [name, text] : overrides) {
    const ConfigDefinition* definition = find_topic_config(name);
    const Status status =
        definition != nullptr ? validate_value(*definition, text) : unknown_config(ConfigScope::topic, name);
    if (!status.ok()) {
      log_warn("configuration", "a stored topic configuration is skipped: {}", status.message());
      continue;
    }
    values.set(name, text, ConfigSource::topic, "topic");
  }
  return values;
}

Status check_topic_conflicts(const BrokerConfig& broker, const ConfigOverrides& overrides) {
  const ConfigValues values = resolve_topic_values(broker, overrides);
  const int64_t shortest = values.integer("min.compaction.lag.ms");
  const int64_t longest = values.integer("max.compaction.lag.ms");
  if (shortest <= longest) return {};
  return error(ErrorCode::invalid_config, "min.compaction.lag.ms ({}) cannot be larger than max.compaction.lag.ms ({})",
               shortest, longest);
}

TopicConfig resolve_topic_config(const BrokerConfig& broker, const ConfigOverrides& overrides) {
  const ConfigValues values = resolve_topic_values(broker, overrides);
  TopicConfig config;
  config.max_message_bytes = values.int32("max.message.bytes");
  config.timestamp_type = values.string("message.timestamp.type") == "LogAppendTime"
                              ? MessageTimestampType::log_append_time
                              : MessageTimestampType::create_time;
  config.timestamp_before_max_ms = values.integer("message.timestamp.before.max.ms");
  config.timestamp_after_max_ms = values.integer("message.timestamp.after.max.ms");
  set_compression(values, config);
  const auto policies = parse_config_list(values.string("cleanup.policy"));
  config.compacted = std::ranges::count(policies, "compact") > 0;
  config.deletes_old = std::ranges::count(policies, "delete") > 0;
  config.retention_ms = values.integer("retention.ms");
  config.retention_bytes = values.integer("retention.bytes");
  config.delete_retention_ms = values.integer("delete.retention.ms");
  config.min_compaction_lag_ms = values.integer("min.compaction.lag.ms");
  config.max_compaction_lag_ms = values.integer("max.compaction.lag.ms");
  config.min_cleanable_dirty_ratio = values.floating("min.cleanable.dirty.ratio");
  config.segment_bytes = values.int32("segment.bytes");
  config.segment_ms = values.integer("segment.ms");
  config.segment_jitter_ms = values.integer("segment.jitter.ms");
  config.segment_index_bytes = values.int32("segment.index.bytes");
  config.index_interval_bytes = values.int32("index.interval.bytes");
  config.flush_messages = values.integer("flush.messages");
  config.flush_ms = values.integer("flush.ms");
  config.min_insync_replicas = values.optional_int32("min.insync.replicas");
  config.unclean_leader_election = values.boolean("unclean.leader.election.enable");
  const int64_t lag_max = values.integer("replica.lag.max.messages");
  if (lag_max != std::numeric_limits<int64_t>::max()) config.replica_lag_max_messages = lag_max;
  return config;
}

}  // namespace naru
