#include "transactions/transaction_records.h"

#include <utility>
#include <vector>

#include <fmt/core.h>

#include "foundation/byte_reader.h"
#include "internal_records/transaction_log_key.h"
#include "internal_records/transaction_log_value.h"
#include "kafka_protocol/stored_value.h"

namespace naru {
namespace {

using kafka::decode_stored_value;
using kafka::encode_stored_value;

constexpr int16_t kTransactionValueVersion = 1;
internal::TransactionLogValue value_of(const StoredTransaction& transaction) {
  internal::TransactionLogValue value{.producer_id = transaction.producer.id,
                                      .next_producer_id = transaction.next.id,
                                      .producer_epoch = transaction.producer.epoch,
                                      .next_producer_epoch = transaction.next.epoch,
                                      .transaction_timeout_ms = transaction.timeout_ms,
                                      .transaction_status = static_cast<int8_t>(transaction.state),
                                      .transaction_last_update_timestamp_ms = transaction.last_update_ms,
                                      .transaction_start_timestamp_ms = transaction.start_ms,
                                      .client_transaction_version = transaction.version,
                                      .last_producer_epoch = transaction.last.epoch,
                                      .aborted_by_coordinator = transaction.aborted_by_coordinator};
  if (transaction.last.id != transaction.producer.id) value.previous_producer_id = transaction.last.id;
  auto& topics = value.transaction_partitions.emplace();
  for (const TopicPartitionName& each : transaction.partitions) {
    if (topics.empty() || topics.back().topic != each.topic) topics.push_back({.topic = each.topic});
    topics.back().partition_ids.push_back(each.partition.value());
  }
  return value;
}

std::set<TopicPartitionName> partitions_of(const std::vector<internal::TransactionLogValue::PartitionsSchema>& topics) {
  std::set<TopicPartitionName> partitions;
  for (const auto& topic : topics) {
    for (const int32_t index : topic.partition_ids) partitions.insert({topic.topic, PartitionIndex(index)});
  }
  return partitions;
}

Status check_stored_transaction(const StoredTransaction& transaction, int8_t status) {
  const auto refuse = [](std::string_view what) {
    return error(ErrorCode::corrupt_data, "TransactionLogValue has {}", what);
  };
  if (status < 0 || status > static_cast<int8_t>(TransactionState::complete_abort)) return refuse("no known state");
  if (transaction.producer.id.value() < 0 || transaction.producer.epoch.value() < 0) return refuse("no producer");
  if (transaction.timeout_ms < 0) return refuse("a negative timeout");
  for (const WallTimeMs each : {transaction.last_update_ms, transaction.start_ms}) {
    if (each < -1 || each > kLatestStoredTime) return refuse("a time that cannot be");
  }
  return {};
}

std::string to_text(const ProducerIdentity& producer) {
  return fmt::format("{}/{}", producer.id, producer.epoch);
}

}  // namespace

size_t bytes_of(std::string_view transactional_id, const StoredTransaction& transaction) {
  constexpr size_t kPerTransaction = 400;  // with its entry among those that are at work
  constexpr size_t kPerPartition = 96;
  size_t bytes = kPerTransaction + transactional_id.size();
  for (const TopicPartitionName& partition : transaction.partitions) bytes += kPerPartition + partition.topic.size();
  return bytes;
}

std::string to_string(const DurableTransactions& transactions) {
  std::string text;
  for (const auto& [id, each] : transactions) {
    text += fmt::format("{}: {} producer {} last {} next {} timeout {} updated {} started {} version {}{}:", id,
                        name_of(each.state), to_text(each.producer), to_text(each.last), to_text(each.next),
                        each.timeout_ms, each.last_update_ms, each.start_ms, each.version,
                        each.aborted_by_coordinator ? " aborted by the coordinator" : "");
    for (const TopicPartitionName& partition : each.partitions) {
      text += fmt::format(" {}-{}", partition.topic, partition.partition);
    }
    text += '\n';
  }
  return text;
}

Result<int16_t> transaction_record_type(BytesView key) {
  ByteReader reader(key);
  const auto type = reader.read_int<int16_t>();
  if (!reader.ok()) return failure(ErrorCode::corrupt_data, "a key of {} bytes has no type", key.size());
  return type;
}

CoordinatorRecord transaction_record(std::string_view transactional_id, const StoredTransaction* transaction) {
  CoordinatorRecord record{
      .key = encode_stored_value(internal::TransactionLogKey{.transactional_id = std::string(transactional_id)},
                                 kTransactionKeyType)};
  if (transaction != nullptr) record.value = encode_stored_value(value_of(*transaction), kTransactionValueVersion);
  return record;
}

Result<std::string> decode_transaction_key(BytesView key) {
  NARU_TRY_ASSIGN(auto value, decode_stored_value<internal::TransactionLogKey>(key));
  return std::move(value.transactional_id);
}

Result<StoredTransaction> decode_transaction_value(BytesView bytes) {
  NARU_TRY_ASSIGN(auto value, decode_stored_value<internal::TransactionLogValue>(bytes));
  StoredTransaction transaction{.producer = {value.producer_id, value.producer_epoch},
                                .timeout_ms = value.transaction_timeout_ms,
                                .state = static_cast<TransactionState>(value.transaction_status),
                                .last_update_ms = value.transaction_last_update_timestamp_ms,
                                .start_ms = value.transaction_start_timestamp_ms,
                                .version = value.client_transaction_version};
  NARU_TRY(check_stored_transaction(transaction, value.transaction_status));
  if (value.last_producer_epoch.value() >= 0) {
    const bool is_same_id = value.previous_producer_id == kNoProducerId;
    transaction.last = {is_same_id ? value.producer_id : value.previous_producer_id, value.last_producer_epoch};
  }
  // What means nothing in a state is not taken from whoever writes it nevertheless.
  using enum TransactionState;
  const bool is_preparing = transaction.state == prepare_commit || transaction.state == prepare_abort;
  if (is_preparing && value.next_producer_id.value() >= 0 && value.next_producer_epoch.value() >= 0) {
    transaction.next = {value.next_producer_id, value.next_producer_epoch};
  }
  const bool is_aborted = transaction.state == prepare_abort || transaction.state == complete_abort;
  transaction.aborted_by_coordinator = is_aborted && value.aborted_by_coordinator;
  if ((is_preparing || transaction.state == ongoing) && value.transaction_partitions) {
    transaction.partitions = partitions_of(*value.transaction_partitions);
  }
  return transaction;
}

}  // namespace naru
