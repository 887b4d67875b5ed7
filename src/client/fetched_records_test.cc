#include "client/fetched_records.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "platform/simulated/simulated_random.h"
#include "record_format/batch_builder.h"
#include "record_format/transaction_marker.h"

namespace naru::client {
namespace {

Bytes batch(int64_t base, std::vector<std::string> values, BatchOptions options = {}) {
  options.base_offset = Offset(base);
  BatchBuilder builder(options);
  for (const std::string& value : values) builder.add(1, std::nullopt, value);
  return builder.build().value();
}

Bytes operator+(Bytes first, const Bytes& second) {
  append_bytes(first, second);
  return first;
}

struct Read {
  std::vector<std::string> values;
  Result<Offset> next = Offset(0);
};

Read read(const Bytes& bytes, int64_t from, size_t limit = SIZE_MAX) {
  Read read;
  read.next = visit_records(bytes, Offset(from), [&](const RecordView& record) {
    read.values.emplace_back(as_text(*record.value));
    return read.values.size() < limit;
  });
  return read;
}

using Values = std::vector<std::string>;

TEST(VisitRecords, BeginsInTheMiddleOfABatch) {
  const auto got = read(batch(10, {"a", "b", "c"}) + batch(13, {"d"}, {.compression = Compression::zstd}), 11);
  EXPECT_EQ(got.values, (Values{"b", "c", "d"}));
  EXPECT_EQ(got.next, Offset(14));
}

TEST(VisitRecords, StopsWhereTheVisitorWantsTo) {
  const auto got = read(batch(10, {"a", "b", "c"}), 10, 2);
  EXPECT_EQ(got.values, (Values{"a", "b"}));
  EXPECT_EQ(got.next, Offset(12));
}

TEST(VisitRecords, PassesOverControlBatches) {
  const auto got = read(batch(0, {"marker"}, {.control = true}) + batch(1, {"a"}), 0);
  EXPECT_EQ(got.values, Values{"a"});
  EXPECT_EQ(got.next, Offset(2));
}

TEST(VisitRecords, LeavesABatchThatIsCutOffForTheNextFetch) {
  const Bytes whole = batch(0, {"a"}) + batch(1, {"bbbbbbbbbb"});
  const size_t first = batch(0, {"a"}).size();
  for (size_t size = first; size < whole.size(); ++size) {
    const auto got = read(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)), 0);
    EXPECT_EQ(got.values, Values{"a"});
    EXPECT_EQ(got.next, Offset(1)) << size;
  }
}

TEST(VisitRecords, APartOfTheOnlyBatchIsAnError) {
  Bytes part = batch(0, {"a"});
  part.pop_back();
  EXPECT_EQ(read(part, 0).next.error().code(), ErrorCode::corrupt_message);
  part.resize(5);
  EXPECT_EQ(read(part, 0).next.error().code(), ErrorCode::corrupt_message);
}

TEST(VisitRecords, DamageIsReportedWithItsPlace) {
  Bytes damaged = batch(0, {"a"}) + batch(1, {"b"});
  damaged.back() ^= std::byte{1};
  const auto got = read(damaged, 0);
  EXPECT_EQ(got.next.error().code(), ErrorCode::corrupt_message);
  EXPECT_NE(got.next.error().message().find("offset 1"), std::string::npos) << got.next.error().message();
}

TEST(VisitRecords, OffsetsNeverGoBack) {
  EXPECT_EQ(read(batch(0, {"old"}), 10).next, Offset(10));
}

TEST(VisitRecords, SurvivesAnyBytes) {
  SimulatedRandom random(3);
  const Bytes good = batch(0, {"a", "b"}) + batch(2, {"c"}, {.compression = Compression::lz4});
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes = good;
    for (uint64_t flips = 1 + random.below(4); flips > 0; --flips)
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
    bytes.resize(random.below(bytes.size() + 1));
    const auto got = read(bytes, 0);
    if (got.next) EXPECT_GE(*got.next, Offset(0));
  }
}

// --- Readers of committed records ------------------------------------------------------------------------------------

using Aborted = kafka::FetchResponse::AbortedTransaction;

constexpr ProducerIdentity kAlice{ProducerId(1), ProducerEpoch(0)};
constexpr ProducerIdentity kBob{ProducerId(2), ProducerEpoch(0)};

// A log that a test writes, one record or marker after the other.
class TransactionalLog {
 public:
  TransactionalLog& data(const ProducerIdentity& producer, const std::string& value, bool transactional = true) {
    return add(batch(next_, {value}, {.transactional = transactional, .producer_id = producer.id}));
  }
  TransactionalLog& marker(const ProducerIdentity& producer, TransactionResult result) {
    Bytes built = build_marker_batch(producer, {.result = result, .coordinator_epoch = 0}, 1);
    const StoredHeader header =
        make_stored_header(built, Offset(next_), LeaderEpoch(0), {.type = TimestampType::create_time, .max = 1});
    std::ranges::copy(header, built.begin());
    return add(built);
  }
  Values read(int64_t from, std::vector<Aborted> aborted) const {
    Values values;
    const auto next = visit_records(
        bytes_, Offset(from),
        [&](const RecordView& record) {
          values.emplace_back(as_text(*record.value));
          return true;
        },
        aborted);
    EXPECT_EQ(next, Offset(next_));
    return values;
  }

 private:
  TransactionalLog& add(const Bytes& built) {
    append_bytes(bytes_, built);
    ++next_;
    return *this;
  }

  Bytes bytes_;
  int64_t next_ = 0;
};

TEST(VisitCommittedRecords, WhatWasAbortedIsPassedOverUpToItsMarker) {
  const std::vector<Aborted> aborted{{.producer_id = kAlice.id, .first_offset = Offset(0)}};
  TransactionalLog log;
  log.data(kAlice, "a").data(kAlice, "b").marker(kAlice, TransactionResult::abort).data(kAlice, "next");
  EXPECT_EQ(log.read(0, aborted), Values{"next"});
  EXPECT_EQ(log.read(1, aborted), Values{"next"}) << "begun in front of what was fetched";
}

TEST(VisitCommittedRecords, OnlyBatchesOfTheAbortedTransactionArePassedOver) {
  TransactionalLog log;
  log.data(kAlice, "committed").marker(kAlice, TransactionResult::commit);
  log.data(kAlice, "aborted").data(kBob, "of another").data(kAlice, "outside", false);
  log.marker(kAlice, TransactionResult::abort).marker(kBob, TransactionResult::commit);
  EXPECT_EQ(log.read(0, {{.producer_id = kAlice.id, .first_offset = Offset(2)}}),
            (Values{"committed", "of another", "outside"}));
}

TEST(VisitCommittedRecords, TheMarkerOfAnotherProducerEndsNothing) {
  TransactionalLog log;
  log.data(kAlice, "x")
      .marker(kBob, TransactionResult::commit)
      .data(kAlice, "y")
      .marker(kAlice, TransactionResult::abort);
  EXPECT_EQ(log.read(0, {{.producer_id = kAlice.id, .first_offset = Offset(0)}}), Values{});
}

}  // namespace
}  // namespace naru::client
