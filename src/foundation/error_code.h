// Every error has one name, and one row in error_table.cc that says what it means on the wire and to an operator.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace naru {

// Values up to 999 are Kafka's wire codes under Kafka's names. From 1000 on they are ours and never leave the process:
// the table gives the wire code that a client gets instead.
enum class ErrorCode : int16_t {
  unknown_server_error = -1,
  none = 0,
  offset_out_of_range = 1,
  corrupt_message = 2,
  unknown_topic_or_partition = 3,
  invalid_fetch_size = 4,
  leader_not_available = 5,
  not_leader_or_follower = 6,
  request_timed_out = 7,
  broker_not_available = 8,
  replica_not_available = 9,
  message_too_large = 10,
  offset_metadata_too_large = 12,
  network_exception = 13,
  coordinator_load_in_progress = 14,
  coordinator_not_available = 15,
  not_coordinator = 16,
  invalid_topic_exception = 17,
  record_list_too_large = 18,
  not_enough_replicas = 19,
  not_enough_replicas_after_append = 20,
  invalid_required_acks = 21,
  illegal_generation = 22,
  inconsistent_group_protocol = 23,
  invalid_group_id = 24,
  unknown_member_id = 25,
  invalid_session_timeout = 26,
  rebalance_in_progress = 27,
  topic_authorization_failed = 29,
  group_authorization_failed = 30,
  cluster_authorization_failed = 31,
  invalid_timestamp = 32,
  illegal_sasl_state = 34,
  unsupported_version = 35,
  topic_already_exists = 36,
  invalid_partitions = 37,
  invalid_replication_factor = 38,
  invalid_replica_assignment = 39,
  invalid_config = 40,
  not_controller = 41,
  invalid_request = 42,
  policy_violation = 44,
  out_of_order_sequence_number = 45,
  duplicate_sequence_number = 46,
  invalid_producer_epoch = 47,
  invalid_txn_state = 48,
  invalid_producer_id_mapping = 49,
  invalid_transaction_timeout = 50,
  concurrent_transactions = 51,
  transaction_coordinator_fenced = 52,
  transactional_id_authorization_failed = 53,
  security_disabled = 54,
  operation_not_attempted = 55,
  kafka_storage_error = 56,
  unknown_producer_id = 59,
  delegation_token_auth_disabled = 61,
  non_empty_group = 68,
  group_id_not_found = 69,
  fetch_session_id_not_found = 70,
  invalid_fetch_session_epoch = 71,
  listener_not_found = 72,
  topic_deletion_disabled = 73,
  fenced_leader_epoch = 74,
  unknown_leader_epoch = 75,
  unsupported_compression_type = 76,
  stale_broker_epoch = 77,
  offset_not_available = 78,
  member_id_required = 79,
  preferred_leader_not_available = 80,
  group_max_size_reached = 81,
  fenced_instance_id = 82,
  eligible_leaders_not_available = 83,
  election_not_needed = 84,
  group_subscribed_to_topic = 86,
  invalid_record = 87,
  unstable_offset_commit = 88,
  throttling_quota_exceeded = 89,
  producer_fenced = 90,
  resource_not_found = 91,
  duplicate_resource = 92,
  invalid_update_version = 95,
  unknown_topic_id = 100,
  broker_id_not_registered = 102,
  inconsistent_topic_id = 103,
  inconsistent_cluster_id = 104,
  transactional_id_not_found = 105,
  fetch_session_topic_id_error = 106,
  ineligible_replica = 107,
  fenced_member_epoch = 110,
  unreleased_instance_id = 111,
  unsupported_assignor = 112,
  stale_member_epoch = 113,
  mismatched_endpoint_type = 114,
  unsupported_endpoint_type = 115,
  transaction_abortable = 120,
  invalid_regular_expression = 128,

  malformed_request = 1000,  // bytes that do not decode; the connection is closed
  io_error = 1001,           // the disk or the network said no; the outcome of a write is unknown
  disk_full = 1002,
  too_many_open_files = 1003,
  not_found = 1004,  // it does not exist: never used for "could not read"
  already_exists = 1005,
  corrupt_data = 1006,        // bytes on disk whose checksum or shape is wrong
  unsupported_format = 1007,  // bytes on disk written by a newer Naru, or not by Naru at all
  invalid_argument = 1008,    // a value from a person: flag, file, environment
  cancelled = 1009,
  shutting_down = 1010,
  unavailable = 1011,       // the coordination store did not answer: outcome unknown, read again before retrying
  version_conflict = 1012,  // a compare of a coordination-store transaction did not hold
  log_offline = 1013,       // no more writes: a sync has failed, or something ran out and is not there again
  out_of_memory_budget = 1014,
};

// No line has the first and the last one; they are what a component can be set to: then it writes all, or errors only.
enum class LogLevel : uint8_t { trace, debug, info, warn, error, fatal };

struct ErrorRow {
  ErrorCode code;
  int16_t wire_code;         // what a Kafka client is told
  std::string_view name;     // Kafka's spelling, or ours
  bool retriable;            // a client may send the same request again
  bool maybe_persisted;      // the effect may nevertheless be, or become, durable
  LogLevel level;            // how loudly the broker mentions it
  std::string_view meaning;  // one line for a person
};

const ErrorRow& describe(ErrorCode code);
std::span<const ErrorRow> error_table();
inline int16_t wire_code(ErrorCode code) {
  return describe(code).wire_code;
}

}  // namespace naru
