#include <algorithm>
#include <array>
#include <cstdint>

#include "foundation/assert.h"
#include "foundation/error_code.h"

namespace naru {
namespace {

using enum ErrorCode;
using enum LogLevel;

constexpr bool kRetry = true, kFinal = false;
constexpr bool kMaybe = true, kNo = false;  // may it have been persisted?

// In the wire column: "the number of the code itself", which is how Kafka's own errors travel.
constexpr int16_t kOwn = INT16_MAX;
constexpr ErrorRow row(ErrorCode code, int16_t wire, std::string_view name, bool retriable, bool maybe, LogLevel level,
                       std::string_view meaning) {
  return {code, wire == kOwn ? static_cast<int16_t>(code) : wire, name, retriable, maybe, level, meaning};
}

constexpr std::array kRows{
    row(unknown_server_error, kOwn, "UNKNOWN_SERVER_ERROR", kFinal, kMaybe, error, "a bug in the broker"),
    row(none, kOwn, "NONE", kFinal, kNo, debug, "no error"),
    row(offset_out_of_range, kOwn, "OFFSET_OUT_OF_RANGE", kFinal, kNo, debug, "the offset is outside of the log"),
    row(corrupt_message, kOwn, "CORRUPT_MESSAGE", kRetry, kNo, warn,
        "a batch's checksum or size does not match its bytes"),
    row(unknown_topic_or_partition, kOwn, "UNKNOWN_TOPIC_OR_PARTITION", kRetry, kNo, debug,
        "there is no such partition"),
    row(invalid_fetch_size, kOwn, "INVALID_FETCH_SIZE", kFinal, kNo, info, "a fetch size is negative"),
    row(leader_not_available, kOwn, "LEADER_NOT_AVAILABLE", kRetry, kNo, info, "no leader is elected yet"),
    row(not_leader_or_follower, kOwn, "NOT_LEADER_OR_FOLLOWER", kRetry, kNo, info,
        "this broker does not lead the partition"),
    row(request_timed_out, kOwn, "REQUEST_TIMED_OUT", kRetry, kMaybe, info, "the request took longer than it allowed"),
    row(broker_not_available, kOwn, "BROKER_NOT_AVAILABLE", kFinal, kNo, info, "the broker is not available"),
    row(replica_not_available, kOwn, "REPLICA_NOT_AVAILABLE", kRetry, kNo, info, "the replica is not available"),
    row(message_too_large, kOwn, "MESSAGE_TOO_LARGE", kFinal, kNo, info, "the batch is larger than max.message.bytes"),
    row(offset_metadata_too_large, kOwn, "OFFSET_METADATA_TOO_LARGE", kFinal, kNo, info,
        "the metadata of a committed offset is longer than offset.metadata.max.bytes"),
    row(network_exception, kOwn, "NETWORK_EXCEPTION", kRetry, kMaybe, info, "the connection was lost"),
    row(coordinator_load_in_progress, kOwn, "COORDINATOR_LOAD_IN_PROGRESS", kRetry, kNo, info,
        "the coordinator is not ready yet"),
    row(coordinator_not_available, kOwn, "COORDINATOR_NOT_AVAILABLE", kRetry, kMaybe, info,
        "the coordinator cannot answer now"),
    row(not_coordinator, kOwn, "NOT_COORDINATOR", kRetry, kNo, info,
        "another broker coordinates this group or transaction"),
    row(invalid_topic_exception, kOwn, "INVALID_TOPIC_EXCEPTION", kFinal, kNo, info, "the topic's name is not allowed"),
    row(record_list_too_large, kOwn, "RECORD_LIST_TOO_LARGE", kFinal, kNo, info, "the batch is larger than a segment"),
    row(not_enough_replicas, kOwn, "NOT_ENOUGH_REPLICAS", kRetry, kNo, warn,
        "fewer in-sync replicas than min.insync.replicas; nothing was written"),
    row(not_enough_replicas_after_append, kOwn, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", kRetry, kMaybe, warn,
        "written, but on fewer in-sync replicas than min.insync.replicas"),
    row(invalid_required_acks, kOwn, "INVALID_REQUIRED_ACKS", kFinal, kNo, info, "acks is not -1, 0 or 1"),
    row(illegal_generation, kOwn, "ILLEGAL_GENERATION", kFinal, kNo, info,
        "the group has gone on to another generation"),
    row(inconsistent_group_protocol, kOwn, "INCONSISTENT_GROUP_PROTOCOL", kFinal, kNo, info,
        "the group's members share no such protocol"),
    row(invalid_group_id, kOwn, "INVALID_GROUP_ID", kFinal, kNo, info, "a group needs a name"),
    row(unknown_member_id, kOwn, "UNKNOWN_MEMBER_ID", kFinal, kNo, info, "the group has no such member"),
    row(invalid_session_timeout, kOwn, "INVALID_SESSION_TIMEOUT", kFinal, kNo, info,
        "the session timeout is outside of group.min and group.max.session.timeout.ms"),
    row(rebalance_in_progress, kOwn, "REBALANCE_IN_PROGRESS", kFinal, kNo, info, "the group rebalances: join again"),
    row(topic_authorization_failed, kOwn, "TOPIC_AUTHORIZATION_FAILED", kFinal, kNo, info,
        "not authorized for the topic"),
    row(group_authorization_failed, kOwn, "GROUP_AUTHORIZATION_FAILED", kFinal, kNo, info,
        "not authorized for the group"),
    row(cluster_authorization_failed, kOwn, "CLUSTER_AUTHORIZATION_FAILED", kFinal, kNo, info,
        "not authorized for the cluster"),
    row(invalid_timestamp, kOwn, "INVALID_TIMESTAMP", kFinal, kNo, info,
        "a record's timestamp is outside of message.timestamp.before/after.max.ms"),
    row(unsupported_version, kOwn, "UNSUPPORTED_VERSION", kFinal, kNo, info,
        "this version of the API is not supported"),
    row(topic_already_exists, kOwn, "TOPIC_ALREADY_EXISTS", kFinal, kNo, info, "a topic of this name exists"),
    row(invalid_partitions, kOwn, "INVALID_PARTITIONS", kFinal, kNo, info, "the number of partitions is not allowed"),
    row(invalid_replication_factor, kOwn, "INVALID_REPLICATION_FACTOR", kFinal, kNo, info,
        "the replication factor is below 1 or larger than the number of brokers"),
    row(invalid_replica_assignment, kOwn, "INVALID_REPLICA_ASSIGNMENT", kFinal, kNo, info,
        "the replica assignment is not allowed"),
    row(invalid_config, kOwn, "INVALID_CONFIG", kFinal, kNo, info, "a configuration key or value is not allowed"),
    row(not_controller, kOwn, "NOT_CONTROLLER", kRetry, kNo, info, "this broker is not the controller"),
    row(invalid_request, kOwn, "INVALID_REQUEST", kFinal, kNo, info, "the request contradicts itself or the protocol"),
    row(policy_violation, kOwn, "POLICY_VIOLATION", kFinal, kNo, info, "a policy forbids it"),
    row(out_of_order_sequence_number, kOwn, "OUT_OF_ORDER_SEQUENCE_NUMBER", kFinal, kNo, warn,
        "a producer's sequence number has a gap"),
    row(duplicate_sequence_number, kOwn, "DUPLICATE_SEQUENCE_NUMBER", kFinal, kMaybe, info, "already stored"),
    row(invalid_producer_epoch, kOwn, "INVALID_PRODUCER_EPOCH", kFinal, kNo, info, "a newer producer has this id"),
    row(invalid_txn_state, kOwn, "INVALID_TXN_STATE", kFinal, kNo, info,
        "not allowed in this state of the transaction"),
    row(invalid_producer_id_mapping, kOwn, "INVALID_PRODUCER_ID_MAPPING", kFinal, kNo, info,
        "the producer id is not the one of the transactional id"),
    row(invalid_transaction_timeout, kOwn, "INVALID_TRANSACTION_TIMEOUT", kFinal, kNo, info,
        "the transaction timeout is below 1 or above transaction.max.timeout.ms"),
    row(concurrent_transactions, kOwn, "CONCURRENT_TRANSACTIONS", kRetry, kNo, debug,
        "the transaction before this one is being completed"),
    row(transaction_coordinator_fenced, kOwn, "TRANSACTION_COORDINATOR_FENCED", kFinal, kNo, info,
        "a newer transaction coordinator has spoken"),
    row(transactional_id_authorization_failed, kOwn, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", kFinal, kNo, info,
        "not authorized for the transactional id"),
    row(operation_not_attempted, kOwn, "OPERATION_NOT_ATTEMPTED", kFinal, kNo, info,
        "not done because another part of the request was refused"),
    row(kafka_storage_error, kOwn, "KAFKA_STORAGE_ERROR", kRetry, kMaybe, error,
        "the log is offline after a disk error"),
    row(unknown_producer_id, kOwn, "UNKNOWN_PRODUCER_ID", kFinal, kNo, info, "no state is known for the producer id"),
    row(non_empty_group, kOwn, "NON_EMPTY_GROUP", kFinal, kNo, info, "the group has members"),
    row(group_id_not_found, kOwn, "GROUP_ID_NOT_FOUND", kFinal, kNo, info, "there is no such group"),
    row(fetch_session_id_not_found, kOwn, "FETCH_SESSION_ID_NOT_FOUND", kRetry, kNo, debug,
        "the fetch session is gone"),
    row(invalid_fetch_session_epoch, kOwn, "INVALID_FETCH_SESSION_EPOCH", kRetry, kNo, info,
        "the fetch session's epoch is not the next one"),
    row(listener_not_found, kOwn, "LISTENER_NOT_FOUND", kRetry, kNo, info, "the leader has no such listener"),
    row(topic_deletion_disabled, kOwn, "TOPIC_DELETION_DISABLED", kFinal, kNo, info, "delete.topic.enable is false"),
    row(fenced_leader_epoch, kOwn, "FENCED_LEADER_EPOCH", kRetry, kNo, info, "the client's leader epoch is older"),
    row(unknown_leader_epoch, kOwn, "UNKNOWN_LEADER_EPOCH", kRetry, kNo, info, "the client's leader epoch is newer"),
    row(unsupported_compression_type, kOwn, "UNSUPPORTED_COMPRESSION_TYPE", kFinal, kNo, info,
        "the codec is not allowed in this version of the API"),
    row(stale_broker_epoch, kOwn, "STALE_BROKER_EPOCH", kFinal, kNo, info,
        "the broker has registered again since it sent this"),
    row(offset_not_available, kOwn, "OFFSET_NOT_AVAILABLE", kRetry, kNo, info, "not known yet after an election"),
    row(member_id_required, kOwn, "MEMBER_ID_REQUIRED", kFinal, kNo, info,
        "join again with the member id of this answer"),
    row(preferred_leader_not_available, kOwn, "PREFERRED_LEADER_NOT_AVAILABLE", kRetry, kNo, info,
        "the first replica is not there, or not in sync"),
    row(group_max_size_reached, kOwn, "GROUP_MAX_SIZE_REACHED", kFinal, kNo, info,
        "the group has as many members as it may have"),
    row(fenced_instance_id, kOwn, "FENCED_INSTANCE_ID", kFinal, kNo, info,
        "another member has taken over this group.instance.id"),
    row(eligible_leaders_not_available, kOwn, "ELIGIBLE_LEADERS_NOT_AVAILABLE", kRetry, kNo, info,
        "no replica that may lead is there"),
    row(election_not_needed, kOwn, "ELECTION_NOT_NEEDED", kFinal, kNo, debug, "the leader is the one it should be"),
    row(group_subscribed_to_topic, kOwn, "GROUP_SUBSCRIBED_TO_TOPIC", kFinal, kNo, info, "the group reads this topic"),
    row(invalid_record, kOwn, "INVALID_RECORD", kFinal, kNo, info, "a batch's header disagrees with its records"),
    row(unstable_offset_commit, kOwn, "UNSTABLE_OFFSET_COMMIT", kRetry, kNo, info,
        "a transaction that commits this offset is open"),
    row(throttling_quota_exceeded, kOwn, "THROTTLING_QUOTA_EXCEEDED", kRetry, kNo, info, "over quota"),
    row(producer_fenced, kOwn, "PRODUCER_FENCED", kFinal, kNo, info,
        "a newer producer has taken over this transactional id"),
    row(invalid_update_version, kOwn, "INVALID_UPDATE_VERSION", kFinal, kNo, info,
        "the partition has changed since; look at it again"),
    row(unknown_topic_id, kOwn, "UNKNOWN_TOPIC_ID", kRetry, kNo, debug, "this broker knows no topic of this id"),
    row(broker_id_not_registered, kOwn, "BROKER_ID_NOT_REGISTERED", kFinal, kNo, info,
        "no broker of this id is registered"),
    row(inconsistent_topic_id, kOwn, "INCONSISTENT_TOPIC_ID", kRetry, kNo, info, "the topic has another id"),
    row(inconsistent_cluster_id, kOwn, "INCONSISTENT_CLUSTER_ID", kFinal, kNo, info, "another cluster's id"),
    row(transactional_id_not_found, kOwn, "TRANSACTIONAL_ID_NOT_FOUND", kFinal, kNo, info,
        "there is no such transactional id"),
    row(fetch_session_topic_id_error, kOwn, "FETCH_SESSION_TOPIC_ID_ERROR", kRetry, kNo, info,
        "the fetch session names its topics the other way"),
    row(ineligible_replica, kOwn, "INELIGIBLE_REPLICA", kFinal, kNo, info,
        "a replica that is not there, is stopping or has registered again cannot be in sync"),
    row(fenced_member_epoch, kOwn, "FENCED_MEMBER_EPOCH", kFinal, kNo, info,
        "the member's epoch is not the current one: join again"),
    row(unreleased_instance_id, kOwn, "UNRELEASED_INSTANCE_ID", kFinal, kNo, info,
        "a member with this group.instance.id is still in the group"),
    row(unsupported_assignor, kOwn, "UNSUPPORTED_ASSIGNOR", kFinal, kNo, info, "the group has no such assignor"),
    row(stale_member_epoch, kOwn, "STALE_MEMBER_EPOCH", kFinal, kNo, info,
        "the member's epoch is behind: heartbeat, then try again"),
    row(mismatched_endpoint_type, kOwn, "MISMATCHED_ENDPOINT_TYPE", kFinal, kNo, info,
        "this address is one of brokers, not of controllers"),
    row(unsupported_endpoint_type, kOwn, "UNSUPPORTED_ENDPOINT_TYPE", kFinal, kNo, info,
        "there is no such kind of address"),
    row(transaction_abortable, kOwn, "TRANSACTION_ABORTABLE", kFinal, kNo, info,
        "the transaction has to be aborted; the producer may go on after that"),

    row(invalid_regular_expression, kOwn, "INVALID_REGULAR_EXPRESSION", kFinal, kNo, info,
        "the regular expression is not in RE2's syntax"),
    row(malformed_request, 42, "MALFORMED_REQUEST", kFinal, kNo, warn, "the bytes are not a request"),
    row(io_error, 56, "IO_ERROR", kRetry, kMaybe, error, "the operating system reported an I/O error"),
    row(disk_full, 56, "DISK_FULL", kRetry, kMaybe, error, "no space is left in the data folder"),
    row(too_many_open_files, 56, "TOO_MANY_OPEN_FILES", kRetry, kMaybe, error,
        "the process has no file descriptor left"),
    row(not_found, 3, "NOT_FOUND", kRetry, kNo, info, "it does not exist"),
    row(already_exists, -1, "ALREADY_EXISTS", kFinal, kNo, info, "it exists already"),
    row(corrupt_data, 56, "CORRUPT_DATA", kFinal, kNo, error, "stored bytes are damaged"),
    row(unsupported_format, 56, "UNSUPPORTED_FORMAT", kFinal, kNo, error, "stored bytes are of a format unknown here"),
    row(invalid_argument, 42, "INVALID_ARGUMENT", kFinal, kNo, error, "a value is not allowed"),
    row(cancelled, 7, "CANCELLED", kRetry, kMaybe, debug, "given up before it finished"),
    row(shutting_down, 6, "SHUTTING_DOWN", kRetry, kMaybe, info, "the broker is shutting down"),
    row(unavailable, 7, "UNAVAILABLE", kRetry, kMaybe, warn, "the coordination store did not answer"),
    row(version_conflict, 7, "VERSION_CONFLICT", kRetry, kNo, debug, "somebody else changed it first"),
    row(log_offline, 56, "LOG_OFFLINE", kRetry, kMaybe, error, "the log is offline after a failed write or sync"),
    row(out_of_memory_budget, 7, "OUT_OF_MEMORY_BUDGET", kRetry, kNo, warn, "the memory budget is used up"),
};

}  // namespace

std::span<const ErrorRow> error_table() {
  return kRows;
}

const ErrorRow& describe(ErrorCode code) {
  const auto* found = std::ranges::find(kRows, code, &ErrorRow::code);
  NARU_ASSERT(found != kRows.end(), "error code {} has no row in the error table", static_cast<int>(code));
  return *found;
}

}  // namespace naru
