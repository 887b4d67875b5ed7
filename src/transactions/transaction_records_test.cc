#include "transactions/transaction_records.h"

#include <gtest/gtest.h>

#include "internal_records/transaction_log_value.h"
#include "kafka_protocol/stored_value.h"
#include "transactions/transaction_testing.h"

namespace naru {
namespace {

std::string to_hex(BytesView bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

StoredTransaction open_transaction() {
  return {.producer = test_producer(7, 3),
          .timeout_ms = 60'000,
          .state = TransactionState::ongoing,
          .partitions = {test_partition(3)},
          .last_update_ms = 1'700'000'000'000,
          .start_ms = 1'700'000'000'000,
          .version = 2};
}

TEST(TransactionRecords, ATransactionHasTheBytesThatOtherBrokersWrite) {
  const StoredTransaction transaction = open_transaction();
  const CoordinatorRecord record = transaction_record("tx", &transaction);
  EXPECT_EQ(to_hex(record.key),
            "0000"
            "00027478");
  EXPECT_EQ(to_hex(*record.value),
            "0001"
            "0000000000000007"
            "0003"
            "0000ea60"
            "01"
            "02"
            "0274"
            "02"
            "00000003"
            "00"
            "0000018bcfe56800"
            "0000018bcfe56800"
            "01"
            "02"
            "02"
            "0002");
  EXPECT_FALSE(transaction_record("tx", nullptr).value);
}

TEST(TransactionRecords, WhatIsOursIsInTaggedFieldsThatOthersSkip) {
  StoredTransaction transaction = open_transaction();
  transaction.state = TransactionState::complete_abort;
  transaction.partitions.clear();
  transaction.version = 0;
  transaction.last = test_producer(7, 2);
  transaction.aborted_by_coordinator = true;
  EXPECT_EQ(to_hex(*transaction_record("tx", &transaction).value),
            "0001"
            "0000000000000007"
            "0003"
            "0000ea60"
            "05"
            "01"
            "0000018bcfe56800"
            "0000018bcfe56800"
            "02"
            "904e"
            "02"
            "0002"
            "914e"
            "01"
            "01");
}

TEST(TransactionRecords, WhatIsWrittenIsReadAgain) {
  StoredTransaction transaction = open_transaction();
  transaction.partitions = {test_partition(0), test_partition(2), {"s", PartitionIndex(1)}};
  EXPECT_EQ(decode_transaction_value(*transaction_record("tx", &transaction).value), transaction);
  transaction.state = TransactionState::prepare_abort;
  transaction.producer.epoch = ProducerEpoch(32767);
  transaction.last = test_producer(7, 32766);
  transaction.next = test_producer(8, 0);
  transaction.aborted_by_coordinator = true;
  EXPECT_EQ(decode_transaction_value(*transaction_record("tx", &transaction).value), transaction);
  transaction.state = TransactionState::complete_abort;
  transaction.partitions.clear();
  transaction.producer = transaction.next;
  transaction.next = {};
  EXPECT_EQ(decode_transaction_value(*transaction_record("tx", &transaction).value), transaction);
  EXPECT_EQ(decode_transaction_key(transaction_record("tx", nullptr).key), "tx");
}

TEST(TransactionRecords, TheOldVersionIsReadToo) {
  const internal::TransactionLogValue value{.producer_id = ProducerId(7),
                                            .producer_epoch = ProducerEpoch(3),
                                            .transaction_timeout_ms = 60'000,
                                            .transaction_status = 1,
                                            .transaction_partitions = {{{.topic = "t", .partition_ids = {3}}}},
                                            .transaction_last_update_timestamp_ms = 1'700'000'000'000,
                                            .transaction_start_timestamp_ms = 1'700'000'000'000};
  StoredTransaction expected = open_transaction();
  expected.version = 0;
  EXPECT_EQ(decode_transaction_value(kafka::encode_stored_value(value, 0)), expected);
}

TEST(TransactionRecords, WhatCannotBeIsRefused) {
  const auto is_refused = [](auto&& spoil) {
    internal::TransactionLogValue value{.producer_id = ProducerId(7),
                                        .producer_epoch = ProducerEpoch(3),
                                        .transaction_timeout_ms = 1,
                                        .transaction_status = 1};
    spoil(value);
    const auto decoded = decode_transaction_value(kafka::encode_stored_value(value));
    return !decoded && decoded.error() == ErrorCode::corrupt_data;
  };
  EXPECT_FALSE(is_refused([](auto&) {}));
  EXPECT_TRUE(is_refused([](auto& value) { value.transaction_status = 6; }));
  EXPECT_TRUE(is_refused([](auto& value) { value.transaction_status = -1; }));
  EXPECT_TRUE(is_refused([](auto& value) { value.producer_id = ProducerId(-1); }));
  EXPECT_TRUE(is_refused([](auto& value) { value.producer_epoch = ProducerEpoch(-1); }));
  EXPECT_TRUE(is_refused([](auto& value) { value.transaction_timeout_ms = -1; }));
  EXPECT_TRUE(
      is_refused([](auto& value) { value.transaction_start_timestamp_ms = std::numeric_limits<int64_t>::max(); }));
  const auto later = Bytes{std::byte{0}, std::byte{2}};
  EXPECT_EQ(decode_transaction_value(later).error(), ErrorCode::unsupported_format);
}

}  // namespace
}  // namespace naru
