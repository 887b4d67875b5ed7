// A broker's configuration: typed, complete, validated.
//
// Values come from, weakest first: the defaults, the properties file, the environment (NARU_NODE_ID for node.id),
// flags. Immutable after loading, so usable from every thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "configuration/config_values.h"
#include "configuration/coordination_address.h"
#include "configuration/listener_config.h"
#include "foundation/error_code.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"

namespace naru {

struct GroupsConfig {
  int32_t offsets_topic_partitions = 0;
  std::optional<int32_t> offsets_topic_replication_factor;  // none: min(3, brokers)
  int32_t offsets_topic_segment_bytes = 0;
  Milliseconds offsets_retention{};
  Milliseconds offsets_retention_check_interval{};
  int32_t offset_metadata_max_bytes = 0;

  Milliseconds initial_rebalance_delay{};
  Milliseconds min_session_timeout{};
  Milliseconds max_session_timeout{};
  int32_t max_size = 0;

  Milliseconds consumer_session_timeout{};
  Milliseconds consumer_heartbeat_interval{};
  int32_t consumer_max_size = 0;
  std::vector<std::string> consumer_assignors;  // at least one; the first is the default
  std::string consumer_migration_policy;
};

struct TransactionsConfig {
  int32_t topic_partitions = 0;
  std::optional<int32_t> topic_replication_factor;   // none: min(3, brokers)
  std::optional<int32_t> topic_min_insync_replicas;  // none: by the replication factor
  int32_t topic_segment_bytes = 0;
  Milliseconds max_timeout{};
  Milliseconds id_expiration{};
  Milliseconds expiry_interval{};
};

struct ReplicationConfig {
  Milliseconds lag_time_max{};
  int32_t fetch_max_bytes = 0;
  int32_t fetch_response_max_bytes = 0;
  int32_t fetch_min_bytes = 0;
  Milliseconds fetch_wait_max{};
  Milliseconds fetch_backoff{};
};

struct BrokerConfig {
  BrokerId node_id;
  std::optional<std::string> rack;
  bool rack_aware_reads = false;      // replica.selector.class
  std::vector<std::string> log_dirs;  // the data folders, at least one

  CoordinationAddress coordination;
  Milliseconds coordination_session_timeout{};
  Milliseconds coordination_start_timeout{};
  Milliseconds shutdown_timeout{};

  std::vector<ListenerConfig> listeners;  // at least one
  std::string inter_broker_listener;      // one of them
  std::optional<Endpoint> admin_listener;

  int32_t num_partitions = 0;
  std::optional<int32_t> default_replication_factor;  // none: min(3, brokers)
  bool auto_create_topics_enable = false;
  bool delete_topic_enable = false;
  bool auto_leader_rebalance_enable = false;
  Milliseconds leader_imbalance_check_interval{};

  std::optional<int32_t> num_network_threads;  // none: one per core
  int32_t num_io_threads = 0;

  int32_t socket_request_max_bytes = 0;
  int32_t max_connections = 0;
  int32_t max_connections_per_ip = 0;
  std::map<std::string, size_t> max_connections_per_ip_overrides;  // by address
  int32_t max_fetch_sessions = 0;
  Milliseconds connections_max_idle{};
  int32_t max_inflight_requests_per_connection = 0;
  int32_t fetch_max_bytes = 0;
  uint64_t memory_budget_bytes = 0;
  uint64_t max_decompressed_bytes = 0;
  Milliseconds producer_id_expiration{};
  int32_t max_producers_per_partition = 0;

  bool journal_enable = false;
  uint64_t journal_bytes = 0;
  uint32_t journal_batch_max_bytes = 0;
  Milliseconds log_retention_check_interval{};
  bool log_cleaner_enable = false;
  int32_t log_cleaner_threads = 0;
  Milliseconds log_cleaner_backoff{};
  uint64_t log_cleaner_dedupe_buffer_bytes = 0;     // for one compaction
  double log_cleaner_io_bytes_per_second = 0;       // of all compactions
  std::optional<Milliseconds> log_verify_interval;  // none: never
  double log_verify_bytes_per_second = 0;

  ReplicationConfig replication;
  GroupsConfig groups;
  TransactionsConfig transactions;

  LogLevel log_level = LogLevel::info;
  Milliseconds slow_request{};    // 0: no slow-request log
  Milliseconds watchdog_stall{};  // 0: no watchdog

  // Every key of the table as text, with its source. The topic keys' defaults (log.retention.hours, ...) are only here:
  // resolve_topic_config() reads them.
  ConfigValues values{broker_config_definitions()};
};

struct ConfigAssignment {
  std::string key;
  std::string value;
  std::string origin;  // "flag --set", "flag --data": named in error messages
};

struct BrokerConfigInputs {
  std::string file_name;  // for messages; the caller reads the file
  std::string file_text;  // Java properties; empty when there is no file
  // All of the process's variables: those that do not start with NARU_ are skipped.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<ConfigAssignment> flags;  // the last one of a key wins
  std::string working_folder;           // absolute: what data folders without a leading / are in; empty: they stay so
};

// ErrorCode::invalid_argument whose message names every wrong value, where it came from, and what would be right.
Result<BrokerConfig> load_broker_config(const BrokerConfigInputs& inputs);

// The defaults with some keys replaced: for tests and tools.
Result<BrokerConfig> make_broker_config(const ConfigOverrides& values);

// "NAME://HOST:PORT,...", as the broker listens.
std::string listeners_text(const std::vector<ListenerConfig>& listeners);

// Reads the typed form of the keys that may change while the broker runs from `values` again.
void read_dynamic_values(BrokerConfig& config);

// Sentences about keys that were set and change nothing, with the reason; the broker logs them when it starts.
std::vector<std::string> ineffective_keys(const BrokerConfig& config);

// "NARU_NODE_ID" for node.id; our own prefix is not doubled: "NARU_LOG_LEVEL" for naru.log.level.
std::string environment_name(std::string_view key);

}  // namespace naru
