#include "client/committed_records.h"

#include <gtest/gtest.h>

#include <vector>

#include "record_format/batch_builder.h"
#include "record_format/transaction_marker.h"

namespace naru::client {
namespace {

using Aborted = kafka::FetchResponse::AbortedTransaction;

constexpr ProducerIdentity kAlice{ProducerId(1), ProducerEpoch(0)};
constexpr ProducerIdentity kBob{ProducerId(2), ProducerEpoch(0)};

// A log that a test writes, and reads as a reader of committed records.
class CommittedLog {
 public:
  CommittedLog& data(const ProducerIdentity& producer, bool transactional = true) {
    BatchBuilder builder({.base_offset = next_, .transactional = transactional, .producer_id = producer.id});
    builder.add(1, std::nullopt, "value");
    return add(builder.build().value());
  }
  CommittedLog& marker(const ProducerIdentity& producer, TransactionResult result) {
    Bytes batch = build_marker_batch(producer, {.result = result, .coordinator_epoch = 0}, 1);
    const StoredHeader header =
        make_stored_header(batch, next_, LeaderEpoch(0), {.type = TimestampType::create_time, .max = 1});
    std::ranges::copy(header, batch.begin());
    return add(batch);
  }
  Result<CommittedLook> look(int64_t from, std::vector<Aborted> aborted = {}) const {
    return look_for_committed(bytes, Offset(from), aborted);
  }

  Bytes bytes;

 private:
  CommittedLog& add(const Bytes& batch) {
    append_bytes(bytes, batch);
    ++next_;
    return *this;
  }

  Offset next_{0};
};

TEST(CommittedRecords, MarkersAreNone) {
  CommittedLog log;
  log.data(kAlice).marker(kAlice, TransactionResult::commit);
  EXPECT_TRUE(log.look(0)->found);
  const auto behind = log.look(1);
  ASSERT_TRUE(behind);
  EXPECT_FALSE(behind->found);
  EXPECT_EQ(behind->next, Offset(2));
}

TEST(CommittedRecords, WhatWasAbortedIsNoneUpToItsMarker) {
  const std::vector<Aborted> aborted{{.producer_id = kAlice.id, .first_offset = Offset(0)}};
  CommittedLog log;
  log.data(kAlice).data(kAlice).marker(kAlice, TransactionResult::abort);
  EXPECT_FALSE(log.look(0, aborted)->found);
  EXPECT_FALSE(log.look(1, aborted)->found) << "begun in front of what is looked at";
  log.data(kAlice);
  EXPECT_TRUE(log.look(0, aborted)->found) << "her next transaction is not that one";
}

TEST(CommittedRecords, OnlyBatchesOfTheAbortedTransactionArePassedOver) {
  const std::vector<Aborted> aborted{{.producer_id = kAlice.id, .first_offset = Offset(1)}};
  CommittedLog before;
  before.data(kAlice).marker(kAlice, TransactionResult::commit);
  EXPECT_TRUE(before.look(0, {{.producer_id = kAlice.id, .first_offset = Offset(2)}})->found) << "it is a later one";
  CommittedLog others;
  others.marker(kBob, TransactionResult::commit).data(kAlice).data(kBob);
  EXPECT_TRUE(others.look(0, aborted)->found) << "another producer";
  CommittedLog plain;
  plain.marker(kBob, TransactionResult::commit).data(kAlice).data(kAlice, false);
  EXPECT_TRUE(plain.look(0, aborted)->found) << "no transaction at all";
}

TEST(CommittedRecords, ABatchThatIsCutOffIsLeftForTheNextFetch) {
  CommittedLog log;
  log.marker(kAlice, TransactionResult::commit).data(kBob, false);
  log.bytes.resize(log.bytes.size() - 1);
  const auto look = log.look(0);
  ASSERT_TRUE(look);
  EXPECT_FALSE(look->found);
  EXPECT_EQ(look->next, Offset(1));
  CommittedLog alone;
  alone.data(kBob, false);
  alone.bytes.resize(alone.bytes.size() - 1);
  EXPECT_EQ(alone.look(0).error().code(), ErrorCode::corrupt_message);
}

TEST(CommittedRecords, DamageIsAnError) {
  CommittedLog log;
  log.data(kBob, false);
  log.bytes.back() ^= std::byte{1};
  EXPECT_EQ(log.look(0).error().code(), ErrorCode::corrupt_message);
}

}  // namespace
}  // namespace naru::client
