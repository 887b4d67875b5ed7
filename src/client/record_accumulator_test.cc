#include "client/record_accumulator.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "platform/simulated/simulated_random.h"
#include "record_format/decompressor.h"

namespace naru::client {
namespace {

const TopicPartition kFirst{"t", PartitionIndex(0)};
const TopicPartition kSecond{"t", PartitionIndex(1)};

MonotonicTime at(Duration since_start) {
  return MonotonicTime(since_start);
}

NewRecord record(std::string_view value) {
  return {.timestamp = 1, .value = as_bytes(value)};
}

BatchHeader header_of(const ProducerBatch& batch) {
  EXPECT_TRUE(batch_crc_matches(batch.bytes));
  return parse_batch_header(batch.bytes).value();
}

TEST(RecordAccumulator, ABatchWaitsForCompany) {
  RecordAccumulator accumulator({.linger = 5ms});
  EXPECT_FALSE(accumulator.next_due());
  EXPECT_FALSE(accumulator.add(kFirst, record("a"), at(1ms)));
  EXPECT_FALSE(accumulator.add(kFirst, record("b"), at(3ms)));
  EXPECT_EQ(accumulator.next_due(), at(6ms));
  EXPECT_TRUE(accumulator.take(at(5ms)).sendable.empty());
  auto taken = accumulator.take(at(6ms));
  ASSERT_EQ(taken.sendable.size(), 1u);
  EXPECT_EQ(header_of(*taken.sendable[0]).records_count, 2);
  EXPECT_EQ(header_of(*taken.sendable[0]).base_sequence, -1);
  EXPECT_FALSE(accumulator.empty());
  accumulator.delivered(std::move(taken.sendable[0]));
  EXPECT_TRUE(accumulator.empty());
  EXPECT_EQ(accumulator.used_bytes(), 0u);
}

TEST(RecordAccumulator, AFullBatchDoesNotWait) {
  RecordAccumulator accumulator({.batch_bytes = 100, .linger = 1h});
  const std::string large(60, 'x');
  EXPECT_FALSE(accumulator.add(kFirst, record(large), at(1ms)));
  EXPECT_TRUE(accumulator.add(kFirst, record(large), at(2ms))) << "the second one does not fit, so the first is full";
  EXPECT_EQ(accumulator.take(at(2ms)).sendable.size(), 1u);
  EXPECT_FALSE(accumulator.next_due()) << "the second waits for the fate of the first";
}

TEST(RecordAccumulator, FlushSendsEverythingNow) {
  RecordAccumulator accumulator({.linger = 1h, .delivery_timeout = 2h});
  accumulator.add(kFirst, record("a"), at(1ms));
  accumulator.add(kSecond, record("b"), at(1ms));
  accumulator.flush();
  auto taken = accumulator.take(at(1ms));
  ASSERT_EQ(taken.sendable.size(), 2u);
  accumulator.add(kFirst, record("c"), at(2ms));
  for (auto& batch : taken.sendable) accumulator.delivered(std::move(batch));
  taken = accumulator.take(at(2ms));
  ASSERT_EQ(taken.sendable.size(), 1u) << "the flush lasts until nothing is left";
  accumulator.delivered(std::move(taken.sendable[0]));
  accumulator.add(kFirst, record("d"), at(3ms));
  EXPECT_EQ(accumulator.next_due(), at(3ms) + 1h);
}

TEST(RecordAccumulator, ABatchThatIsSentAgainKeepsItsPlaceItsBytesAndItsNumbers) {
  RecordAccumulator accumulator({.batch_bytes = 10, .linger = 0ms});
  accumulator.set_identity({ProducerId(4000), ProducerEpoch(3)});
  accumulator.add(kFirst, record("first"), at(1ms));
  accumulator.add(kFirst, record("second"), at(1ms));
  auto first = std::move(accumulator.take(at(1ms)).sendable.at(0));
  const Bytes bytes = first->bytes;
  accumulator.retry(std::move(first), at(10ms));
  EXPECT_TRUE(accumulator.take(at(9ms)).sendable.empty());
  first = std::move(accumulator.take(at(10ms)).sendable.at(0));
  EXPECT_EQ(first->bytes, bytes);
  accumulator.delivered(std::move(first));
  const auto second = std::move(accumulator.take(at(10ms)).sendable.at(0));
  EXPECT_EQ(header_of(*second).base_sequence, 1);
  EXPECT_EQ(header_of(*second).producer_id, ProducerId(4000));
  EXPECT_EQ(header_of(*second).producer_epoch, ProducerEpoch(3));
}

TEST(RecordAccumulator, GivesUpAtTheDeadline) {
  RecordAccumulator accumulator({.linger = 0ms, .delivery_timeout = 1s});
  accumulator.add(kFirst, record("a"), at(0ms));
  auto batch = std::move(accumulator.take(at(0ms)).sendable.at(0));
  accumulator.retry(std::move(batch), at(30s));
  EXPECT_EQ(accumulator.next_due(), at(1s)) << "a long pause does not hide the deadline";
  auto taken = accumulator.take(at(1s));
  ASSERT_EQ(taken.expired.size(), 1u);
  EXPECT_TRUE(accumulator.failed(std::move(taken.expired[0]), true)) << "without an identity there is none to spoil";
  EXPECT_TRUE(accumulator.empty());
}

TEST(RecordAccumulator, NumbersThatNoBrokerHasSeenAreUsedAgain) {
  RecordAccumulator accumulator({.batch_bytes = 10, .linger = 0ms});
  accumulator.set_identity({ProducerId(1), ProducerEpoch(0)});
  for (const char* value : {"a", "b", "c"}) accumulator.add(kFirst, record(value), at(0ms));
  auto batch = std::move(accumulator.take(at(0ms)).sendable.at(0));
  batch->attempts = 1;
  EXPECT_TRUE(accumulator.failed(std::move(batch), false));
  batch = std::move(accumulator.take(at(0ms)).sendable.at(0));
  EXPECT_EQ(batch->base_sequence, 0);
  batch->attempts = 1;
  EXPECT_FALSE(accumulator.failed(std::move(batch), true)) << "who knows whether it is stored";
  accumulator.set_identity({ProducerId(2), ProducerEpoch(0)});
  batch = std::move(accumulator.take(at(0ms)).sendable.at(0));
  EXPECT_EQ(batch->base_sequence, 0);
  EXPECT_EQ(header_of(*batch).producer_id, ProducerId(2));
}

TEST(RecordAccumulator, ABatchCanBeSentInANewName) {
  RecordAccumulator accumulator({.linger = 0ms});
  accumulator.set_identity({ProducerId(1), ProducerEpoch(0)});
  accumulator.add(kFirst, record("a"), at(0ms));
  auto batch = std::move(accumulator.take(at(0ms)).sendable.at(0));
  accumulator.set_identity({ProducerId(2), ProducerEpoch(0)});
  accumulator.restamp_and_retry(std::move(batch), at(0ms));
  batch = std::move(accumulator.take(at(0ms)).sendable.at(0));
  EXPECT_EQ(header_of(*batch).producer_id, ProducerId(2));
  EXPECT_EQ(header_of(*batch).base_sequence, 0);
}

TEST(RecordAccumulator, TheBufferIsBoundedButTakesAnyFirstRecord) {
  RecordAccumulator accumulator({.buffer_bytes = 100});
  EXPECT_TRUE(accumulator.has_room(1000));
  accumulator.add(kFirst, record("a"), at(0ms));
  EXPECT_TRUE(accumulator.has_room(50));
  EXPECT_FALSE(accumulator.has_room(100));
  EXPECT_EQ(accumulator.abandon().size(), 1u);
  EXPECT_TRUE(accumulator.has_room(1000));
  EXPECT_FALSE(RecordAccumulator::check({.timestamp = -2}).ok());
}

// A broker that keeps what Kafka's idempotence promises, as far as one batch in flight needs it.
class ModelBroker {
 public:
  struct Stored {
    ProducerIdentity identity;
    int32_t next_sequence = 0;
    std::vector<std::string> values;
  };

  // False: out of order.
  bool append(const ProducerBatch& batch) {
    const BatchHeader header = header_of(batch);
    Stored& stored = partitions_[batch.partition];
    const ProducerIdentity identity{header.producer_id, header.producer_epoch};
    if (stored.identity != identity) stored = {identity, 0, std::move(stored.values)};
    if (header.base_sequence < stored.next_sequence) return true;  // a duplicate
    if (header.base_sequence > stored.next_sequence) return false;
    stored.next_sequence += header.records_count;
    Decompressor decompressor;
    auto reader = open_records(header, batch.bytes, decompressor, 1 << 20);
    RecordView one;
    while (reader->next(one)) stored.values.emplace_back(as_text(*one.value));
    return true;
  }
  const std::vector<std::string>& values(const TopicPartition& partition) { return partitions_[partition].values; }

 private:
  std::map<TopicPartition, Stored> partitions_;
};

TEST(RecordAccumulator, WhateverHappensRecordsAreStoredOnceAndInOrder) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SimulatedRandom random(seed);
    RecordAccumulator accumulator({.batch_bytes = 120, .linger = 5ms, .delivery_timeout = 1s});
    int64_t identities = 1;
    accumulator.set_identity({ProducerId(identities), ProducerEpoch(0)});
    ModelBroker broker;
    std::map<TopicPartition, std::vector<std::string>> sent;
    std::map<std::string, bool> fate;  // delivered?
    std::vector<RecordAccumulator::Batch> flying;
    MonotonicTime now = at(0ms);
    int number = 0;
    const auto values_of = [](const ProducerBatch& batch) {
      std::vector<std::string> values;
      Decompressor decompressor;
      auto reader = open_records(header_of(batch), batch.bytes, decompressor, 1 << 20);
      RecordView one;
      while (reader->next(one)) values.emplace_back(as_text(*one.value));
      return values;
    };
    for (int step = 0; step < 400 || !accumulator.empty(); ++step) {
      now += Duration(static_cast<int64_t>(random.below(4'000'000)));
      if (step < 400 && random.one_in(2)) {
        const TopicPartition& partition = random.one_in(2) ? kFirst : kSecond;
        sent[partition].push_back(std::to_string(number++));
        accumulator.add(partition, record(sent[partition].back()), now);
      }
      if (step >= 400) accumulator.flush();
      auto taken = accumulator.take(now);
      for (auto& batch : taken.expired) {
        if (!accumulator.failed(std::move(batch), true))
          accumulator.set_identity({ProducerId(++identities), ProducerEpoch(0)});
      }
      for (auto& batch : taken.sendable) flying.push_back(std::move(batch));
      if (flying.empty() || random.one_in(3)) continue;
      const size_t which = random.below(flying.size());
      auto batch = std::move(flying[which]);
      flying.erase(flying.begin() + static_cast<ptrdiff_t>(which));
      ++batch->attempts;
      const bool arrives = !random.one_in(4);
      if (arrives) ASSERT_TRUE(broker.append(*batch)) << "seed " << seed << ": sequence numbers with a gap";
      if (arrives && !random.one_in(4)) {
        for (const std::string& value : values_of(*batch)) fate[value] = true;
        accumulator.delivered(std::move(batch));
      } else if (random.one_in(20)) {
        if (!accumulator.failed(std::move(batch), true))
          accumulator.set_identity({ProducerId(++identities), ProducerEpoch(0)});
      } else {
        accumulator.retry(std::move(batch), now + 2ms);
      }
    }
    for (const auto& [partition, values] : sent) {
      // What is stored is a subsequence of what was sent, and everything delivered is in it.
      const auto& stored = broker.values(partition);
      size_t position = 0;
      for (const std::string& value : values) {
        const bool is_next = position < stored.size() && stored[position] == value;
        ASSERT_TRUE(is_next || !fate[value]) << "seed " << seed << ": " << value << " was delivered and is not there";
        if (is_next) ++position;
      }
      ASSERT_EQ(position, stored.size()) << "seed " << seed << ": stored twice or out of order";
    }
    EXPECT_EQ(accumulator.used_bytes(), 0u);
  }
}

}  // namespace
}  // namespace naru::client
