// Idempotent appends through a partition whose syncs happen when the test says so.
#include "replication/partition.h"

#include <gtest/gtest.h>

#include <deque>

#include "platform/simulated/simulated_world.h"
#include "record_format/batch_builder.h"
#include "replication/partition_testing.h"

namespace naru {
namespace {

constexpr ProducerId kProducer{77};

class IdempotentAppends : public testing::Test {
 protected:
  void make_partition(const ConfigOverrides& overrides = {}) {
    const Seams seams = process->seams();
    partition = open_test_partition(node.disk(), open_files.emplace_back(node.disk(), 4),
                                    {seams.clock, seams.scheduler, durability, unsynced_logs}, overrides);
    ASSERT_NE(partition, nullptr);
  }

  struct Answer {
    std::shared_ptr<AppendGroup> group = std::make_shared<AppendGroup>(1);
    bool there() const { return group->finished(); }
    AppendResult result() const { return group->result(0); }
  };
  Answer send(int32_t sequence, int records = 2, Acks acks = Acks::all_in_sync, int16_t epoch = 0) {
    BatchBuilder builder({.producer_id = kProducer, .producer_epoch = ProducerEpoch(epoch), .base_sequence = sequence});
    for (int i = 0; i < records; ++i) builder.add(1000 + i, std::nullopt, "v");
    SharedBytes batch(builder.build().value());
    auto validated = validate_produced_batch(batch.view(), {}, 1000);
    EXPECT_TRUE(validated.has_value());
    Answer answer;
    partition->append({std::move(batch), std::move(*validated), acks}, answer.group, 0);
    return answer;
  }

  SimulatedWorld world{1};
  SimulatedNode& node = world.add_node("broker");
  std::unique_ptr<SimulatedProcess> process = node.start();
  std::deque<OpenFiles> open_files;  // one for each life of the process
  MetricsRegistry metrics;
  UnsyncedLogs unsynced_logs{{.sync_beyond = 100, .full = 200}, metrics};
  ManualDurability durability;
  std::shared_ptr<Partition> partition;
};

TEST_F(IdempotentAppends, ARepeatWaitsForTheOriginalAndIsToldItsOffset) {
  make_partition();
  for (const Acks acks : {Acks::all_in_sync, Acks::leader}) {
    const int32_t sequence = acks == Acks::leader ? 4 : 0;
    const Answer original = send(sequence, 2, acks);
    const Answer repeat = send(sequence, 2, acks);
    EXPECT_FALSE(original.there());
    EXPECT_FALSE(repeat.there()) << "the original may still be lost";
    durability.sync();
    ASSERT_TRUE(original.there() && repeat.there());
    EXPECT_TRUE(repeat.result().status.ok());
    EXPECT_EQ(repeat.result().base_offset, original.result().base_offset);
    const Answer late = send(sequence, 2, acks);
    ASSERT_TRUE(late.there()) << "committed long ago";
    EXPECT_EQ(late.result().base_offset, original.result().base_offset);
    ASSERT_FALSE(send(sequence + 2, 2, acks).there());
    durability.sync();
  }
  EXPECT_EQ(partition->log().end_offset(), Offset(8));
}

TEST_F(IdempotentAppends, ARepeatIsToldAtItsOwnOffsetNotAtThatOfLaterAppends) {
  make_partition();
  const Answer first = send(0);
  SyncWork work = partition->log().begin_sync();
  const Answer second = send(2);
  const Answer repeat = send(0);
  const Status performed = work.perform();
  ASSERT_TRUE(partition->log().finish_sync(std::move(work), performed).ok());
  partition->on_durable(partition->log().durable_end());
  EXPECT_TRUE(first.there() && repeat.there());
  EXPECT_FALSE(second.there());
  durability.sync();
  EXPECT_TRUE(second.there());
}

TEST_F(IdempotentAppends, ARepeatAfterAFailedSyncAsksForAnother) {
  make_partition();
  const Answer original = send(0);
  durability.fail();
  ASSERT_TRUE(original.there());
  EXPECT_EQ(original.result().status, ErrorCode::disk_full);
  const int asked = durability.asked;
  const Answer repeat = send(0);
  EXPECT_FALSE(repeat.there());
  EXPECT_GT(durability.asked, asked);
  durability.sync();
  ASSERT_TRUE(repeat.there());
  EXPECT_TRUE(repeat.result().status.ok());
  EXPECT_EQ(repeat.result().base_offset, Offset(0));
  EXPECT_EQ(partition->log().end_offset(), Offset(2));
}

TEST_F(IdempotentAppends, GapsAndZombiesAreRefusedAndStoreNothing) {
  make_partition();
  ASSERT_FALSE(send(0, 2, Acks::all_in_sync, 1).there());
  EXPECT_EQ(send(3, 1, Acks::all_in_sync, 1).result().status, ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(send(2, 1, Acks::all_in_sync, 0).result().status, ErrorCode::invalid_producer_epoch);
  EXPECT_EQ(send(1, 1, Acks::all_in_sync, 2).result().status, ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(partition->log().end_offset(), Offset(2));
}

TEST_F(IdempotentAppends, TheLooseRuleAnswersARepeatAtOnce) {
  make_partition({{"flush.messages", "1000000"}});
  const Answer original = send(0);
  const Answer repeat = send(0);
  ASSERT_TRUE(original.there() && repeat.there());
  EXPECT_EQ(repeat.result().base_offset, Offset(0));
  EXPECT_EQ(durability.asked, 0);
}

TEST_F(IdempotentAppends, RepeatsAreRecognisedAfterARestart) {
  make_partition();
  for (int i = 0; i < 7; ++i) send(2 * i);
  durability.sync();
  node.disk().kill();
  partition = nullptr;
  make_partition();
  for (int i = 2; i < 7; ++i) {
    const Answer repeat = send(2 * i);
    ASSERT_TRUE(repeat.there());
    EXPECT_EQ(repeat.result().base_offset, Offset(2 * i));
  }
  EXPECT_EQ(send(2).result().status, ErrorCode::out_of_order_sequence_number);
  EXPECT_FALSE(send(14).there());
}

TEST_F(IdempotentAppends, LogAppendTimeIsRepeatedToo) {
  make_partition({{"message.timestamp.type", "LogAppendTime"}});
  BatchBuilder builder({.producer_id = kProducer, .producer_epoch = ProducerEpoch(0), .base_sequence = 0});
  builder.add(1000, std::nullopt, "v");
  const SharedBytes batch(builder.build().value());
  for (const WallTimeMs now : {5000, 9000}) {
    auto validated = validate_produced_batch(batch.view(), {.timestamp_type = TimestampType::log_append_time}, now);
    Answer answer;
    partition->append({batch, std::move(*validated), Acks::leader}, answer.group, 0);
    if (now == 5000) durability.sync();
    ASSERT_TRUE(answer.there());
    EXPECT_EQ(answer.result().log_append_time_ms, 5000);
  }
}

}  // namespace
}  // namespace naru
