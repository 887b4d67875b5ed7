// A topic's effective configuration: its own value, else the broker's key of the same meaning, else the default.
#pragma once

#include <cstdint>
#include <optional>

#include "configuration/broker_config.h"
#include "configuration/config_values.h"

namespace naru {

enum class MessageTimestampType : uint8_t { create_time, log_append_time };
// compression.type: as the producer chose, or what every batch is stored in.
enum class TopicCompression : uint8_t { producer, uncompressed, gzip, snappy, lz4, zstd };

// The values that the broker acts on; everything else of a topic is in resolve_topic_values().
struct TopicConfig {
  int32_t max_message_bytes = 0;
  MessageTimestampType timestamp_type = MessageTimestampType::create_time;
  int64_t timestamp_before_max_ms = 0;
  int64_t timestamp_after_max_ms = 0;
  TopicCompression compression = TopicCompression::producer;
  int32_t compression_level = 0;  // of gzip, lz4 and zstd
  bool compacted = false;         // cleanup.policy contains compact: every record needs a key
  bool deletes_old = true;        // cleanup.policy contains delete

  int64_t retention_ms = -1;     // -1: no limit
  int64_t retention_bytes = -1;  // -1: no limit
  int64_t delete_retention_ms = 0;
  int64_t min_compaction_lag_ms = 0;
  int64_t max_compaction_lag_ms = 0;
  double min_cleanable_dirty_ratio = 0;

  int32_t segment_bytes = 0;
  int64_t segment_ms = 0;
  int64_t segment_jitter_ms = 0;
  int32_t segment_index_bytes = 0;
  int32_t index_interval_bytes = 0;

  int64_t flush_messages = 0;
  int64_t flush_ms = 0;                        // only where flush_messages > 1; the largest value: never by time
  std::optional<int32_t> min_insync_replicas;  // none: by the replication factor
  bool unclean_leader_election = false;
  std::optional<int64_t> replica_lag_max_messages;  // none: only time counts

  // Whether an acknowledgement waits for the disk.
  bool acknowledges_after_sync() const { return flush_messages == 1; }
  int32_t effective_min_insync_replicas(int32_t replication_factor) const {
    return min_insync_replicas.value_or(replication_factor >= 3 ? 2 : 1);
  }

  bool operator==(const TopicConfig&) const = default;
};

// Overrides were validated when they were stored. One that is unknown or invalid now (written by another version) is
// logged and skipped, so that old data can always be opened.
ConfigValues resolve_topic_values(const BrokerConfig& broker, const ConfigOverrides& overrides);
TopicConfig resolve_topic_config(const BrokerConfig& broker, const ConfigOverrides& overrides);

// invalid_config when values contradict each other that are allowed each by itself.
Status check_topic_conflicts(const BrokerConfig& broker, const ConfigOverrides& overrides);

}  // namespace naru
