// Retention, DeleteRecords and compaction through a partition, with readers, writers and closing in between.
#include "replication/partition_maintenance.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "async/task_group.h"
#include "log_storage/file_sync_service.h"
#include "platform/simulated/simulated_world.h"
#include "record_format/batch_builder.h"
#include "record_format/record_reader.h"
#include "replication/partition_compaction.h"
#include "replication/partition_testing.h"

namespace naru {
namespace {

class PartitionMaintenance : public testing::Test {
 protected:
  void make_partition(const ConfigOverrides& overrides) {
    partition = open_test_partition(node.disk(), open_files,
                                    {seams().clock, seams().scheduler, durability, unsynced_logs}, overrides);
    ASSERT_NE(partition, nullptr);
  }
  void reconfigure(const ConfigOverrides& overrides) {
    partition->set_config(resolve_topic_config(*make_broker_config({}), overrides));
  }
  Seams seams() { return process->seams(); }

  Task<void> produce(std::string key, std::string value) {
    BatchBuilder builder;
    builder.add(seams().clock.wall_now_ms(), key, value);
    SharedBytes batch(builder.build().value());
    auto validated = validate_produced_batch(batch.view(), {}, seams().clock.wall_now_ms());
    EXPECT_TRUE(validated.has_value());
    auto group = std::make_shared<AppendGroup>(1);
    partition->append({std::move(batch), std::move(*validated), Acks::all_in_sync}, group, 0);
    while (!group->finished()) {
      ignore(co_await sleep_until(seams().scheduler, seams().clock.now() + 1ms));
    }
    EXPECT_TRUE(group->result(0).status.ok()) << group->result(0).status.to_string();
  }
  Task<void> open_transaction(ProducerIdentity producer) {
    BatchBuilder builder({.transactional = true, .producer_id = producer.id, .producer_epoch = producer.epoch});
    builder.add(seams().clock.wall_now_ms(), "k", "v");
    SharedBytes batch(builder.build().value());
    auto validated = validate_produced_batch(batch.view(), {.sequence_required = false}, seams().clock.wall_now_ms());
    auto group = std::make_shared<AppendGroup>(1);
    partition->append({.batch = std::move(batch), .validated = *validated, .by_coordinator = true}, group, 0);
    co_await group->settled();
    EXPECT_TRUE(group->result(0).status.ok()) << group->result(0).status.to_string();
  }
  Task<void> produce_many(int count, int keys) {
    for (int i = 0; i < count; ++i) co_await produce(std::to_string(i % keys), std::to_string(i));
  }
  Task<std::vector<int64_t>> offsets() {
    std::vector<int64_t> found;
    const PartitionView view = co_await partition->look(kNoLeaderEpoch);
    for (Offset at = view.log_start_offset; at < view.high_watermark;) {
      const PartitionView read =
          co_await partition->read({.from = at, .max_bytes = 1 << 20, .at_least_one_batch = true});
      EXPECT_TRUE(read.status.ok()) << read.status.to_string();
      if (read.slice.empty()) break;
      Bytes bytes(read.slice.bytes);
      EXPECT_TRUE(read.slice.file->read_at(read.slice.position, bytes).has_value());
      for (BytesView rest = bytes; !rest.empty();) {
        const BatchHeader header = parse_batch_header(rest).value();
        Decompressor decompressor;
        auto reader = open_records(header, rest.first(header.total_size), decompressor, 1 << 20).value();
        for (RecordView record; reader.next(record);) {
          if (record.offset >= at) found.push_back(record.offset.value());
        }
        rest = rest.subspan(header.total_size);
      }
      at = read.slice.next_offset;
    }
    co_return found;
  }
  Task<RetentionOutcome> retain() {
    const auto outcome = co_await apply_retention(partition, seams().clock, seams().scheduler);
    EXPECT_TRUE(outcome.has_value()) << outcome.error().to_string();
    co_return outcome.value_or(RetentionOutcome{});
  }
  Task<Result<CompactionStatistics>> compact() {
    return compact_partition(partition, {.clock = seams().clock,
                                         .scheduler = seams().scheduler,
                                         .hash_key = {1, 2},
                                         .map_bytes = 1 << 16,
                                         .stopped = stop.token()});
  }
  Task<void> pass(Duration time) { ignore(co_await sleep_until(seams().scheduler, seams().clock.now() + time)); }

  SimulatedWorld world{1};
  SimulatedNode& node = world.add_node("broker");
  std::unique_ptr<SimulatedProcess> process = node.start();
  OpenFiles open_files{node.disk(), 4};
  MetricsRegistry metrics;
  UnsyncedLogs unsynced_logs{{.sync_beyond = 100, .full = 200}, metrics};
  FileSyncService durability{process->seams().scheduler};
  CancelSource stop;
  std::shared_ptr<Partition> partition;
};

TEST_F(PartitionMaintenance, NothingGoesThatIsNotStable) {
  make_partition({{"segment.bytes", "300"},
                  {"retention.bytes", "300"},
                  {"cleanup.policy", "delete,compact"},
                  {"min.cleanable.dirty.ratio", "0"}});
  const auto life = [this]() -> Task<void> {
    co_await produce_many(4, 1);
    const ProducerIdentity producer{ProducerId(7), ProducerEpoch(0)};
    co_await open_transaction(producer);
    co_await produce_many(20, 2);
    EXPECT_GT((co_await retain()).removed_segments, 0u);
    EXPECT_LE(partition->log().start_offset(), Offset(4)) << "the transaction begins there";
    EXPECT_EQ((co_await look_for_compaction(partition, seams().clock)).value().segments, 0u);
    auto group = std::make_shared<AppendGroup>(1);
    partition->append_marker({.producer = producer}, group, 0);
    co_await group->settled();
    EXPECT_TRUE(group->result(0).status.ok()) << group->result(0).status.to_string();
    EXPECT_GT((co_await look_for_compaction(partition, seams().clock)).value().segments, 3u);
    co_await retain();
    EXPECT_GT(partition->log().start_offset(), Offset(10));
    EXPECT_TRUE((co_await partition->close(Status(ErrorCode::shutting_down), LogFate::kept)).ok());
  };
  world.run_task(life());
}

TEST_F(PartitionMaintenance, DeleteRecordsMovesTheStartUpToTheHighWatermark) {
  make_partition({{"segment.bytes", "300"}});
  const auto life = [this]() -> Task<void> {
    co_await produce_many(12, 3);
    const auto erase = [this](int64_t up_to) { return delete_records(partition, seams().scheduler, Offset(up_to)); };
    EXPECT_EQ((co_await erase(5)).value(), Offset(5));
    EXPECT_EQ((co_await erase(2)).value(), Offset(5)) << "it never goes back";
    EXPECT_EQ((co_await offsets()).front(), 5);
    EXPECT_EQ((co_await erase(13)).error(), ErrorCode::offset_out_of_range);
    EXPECT_EQ((co_await erase(-2)).error(), ErrorCode::offset_out_of_range);
    EXPECT_EQ((co_await erase(-1)).value(), Offset(12));
    EXPECT_TRUE((co_await offsets()).empty());
    co_await produce("k", "v");
    EXPECT_EQ((co_await offsets()).front(), 12);
    EXPECT_TRUE((co_await partition->close(Status(ErrorCode::shutting_down), LogFate::kept)).ok());
    EXPECT_EQ((co_await erase(13)).error(), ErrorCode::shutting_down);
  };
  world.run_task(life());
}

TEST_F(PartitionMaintenance, DeleteRecordsIsAgainstThePolicyOfTopicsThatAreOnlyCompacted) {
  make_partition({{"cleanup.policy", "compact"}});
  const auto life = [this]() -> Task<void> {
    co_await produce("k", "v");
    EXPECT_EQ((co_await delete_records(partition, seams().scheduler, Offset(1))).error(), ErrorCode::policy_violation);
    reconfigure({{"cleanup.policy", "compact,delete"}});
    EXPECT_EQ((co_await delete_records(partition, seams().scheduler, Offset(1))).value(), Offset(1));
  };
  world.run_task(life());
}

TEST_F(PartitionMaintenance, RetentionClosesAndRemovesWhatNobodyWritesTo) {
  make_partition({{"retention.ms", "60000"}, {"segment.bytes", "400"}});
  const auto life = [this]() -> Task<void> {
    co_await produce_many(10, 3);
    EXPECT_EQ((co_await retain()).removed_segments, 0U);
    co_await pass(61s);
    EXPECT_GT((co_await retain()).removed_segments, 1U);
    const PartitionView view = co_await partition->look(kNoLeaderEpoch);
    EXPECT_EQ(view.log_start_offset, Offset(10));
    EXPECT_EQ(view.high_watermark, Offset(10));
    co_await produce("k", "v");
    EXPECT_EQ((co_await offsets()).front(), 10);
  };
  world.run_task(life());
}

TEST_F(PartitionMaintenance, WhatIsNotSyncedForItsAcknowledgementIsRetainedAndCompactedTheSame) {
  make_partition({{"retention.ms", "60000"}, {"segment.bytes", "400"}, {"flush.messages", "1000000"}});
  const auto life = [this]() -> Task<void> {
    co_await produce_many(10, 3);
    EXPECT_EQ((co_await retain()).removed_segments, 0U);
    co_await pass(61s);
    EXPECT_GT((co_await retain()).removed_segments, 1U) << "also what is in the active segment";
    EXPECT_EQ((co_await partition->look(kNoLeaderEpoch)).log_start_offset, Offset(10));

    reconfigure({{"cleanup.policy", "compact"}, {"segment.bytes", "400"}, {"flush.messages", "1000000"}});
    co_await produce_many(60, 4);
    co_await pass(1s);
    const auto statistics = co_await compact();
    EXPECT_TRUE(statistics.has_value());
    EXPECT_GT(statistics->removed_records, 40U);
  };
  world.run_task(life());
}

TEST_F(PartitionMaintenance, AChangedPolicyIsObeyedAtOnce) {
  make_partition({{"cleanup.policy", "compact"}, {"retention.bytes", "100"}, {"segment.bytes", "300"}});
  const auto life = [this]() -> Task<void> {
    co_await produce_many(12, 3);
    EXPECT_EQ((co_await retain()).removed_segments, 0U);
    reconfigure({{"cleanup.policy", "delete"}, {"retention.bytes", "100"}, {"segment.bytes", "300"}});
    EXPECT_GT((co_await retain()).removed_segments, 0U);
    EXPECT_EQ((co_await compact()).value().read_bytes, 0U) << "it is not compacted any more";
  };
  world.run_task(life());
}

TEST_F(PartitionMaintenance, CompactionGoesOnWhileRecordsAreAppendedAndRead) {
  make_partition({{"cleanup.policy", "compact"}, {"segment.bytes", "400"}, {"min.cleanable.dirty.ratio", "0.01"}});
  const auto life = [this]() -> Task<void> {
    co_await produce_many(60, 4);
    TaskGroup meanwhile;
    meanwhile.spawn(produce_many(30, 4));
    EXPECT_EQ((co_await offsets()).size() >= 60, true);
    const auto statistics = co_await compact();
    EXPECT_TRUE(statistics.has_value());
    EXPECT_GT(statistics->removed_records, 40U);
    co_await meanwhile.join();
    const auto left = co_await offsets();
    EXPECT_LT(left.size(), 50U);
    EXPECT_EQ(left.back(), 89);
    EXPECT_EQ((co_await look_for_compaction(partition, seams().clock)).value().segments > 0, true);
  };
  world.run_task(life());
}

TEST_F(PartitionMaintenance, ClosingCancelsACompactionAndWaitsForIt) {
  make_partition({{"cleanup.policy", "compact"}, {"segment.bytes", "400"}, {"min.cleanable.dirty.ratio", "0.01"}});
  const auto life = [this]() -> Task<void> {
    co_await produce_many(60, 4);
    TaskGroup meanwhile;
    const auto run = [this]() -> Task<void> {
      const auto statistics = co_await compact();
      EXPECT_TRUE(statistics || statistics.error() == ErrorCode::cancelled ||
                  statistics.error() == ErrorCode::shutting_down)
          << statistics.error().to_string();
    };
    meanwhile.spawn(run());
    EXPECT_EQ((co_await retain()).removed_segments, 0U) << "one at a time";
    EXPECT_TRUE((co_await partition->close(Status(ErrorCode::shutting_down), LogFate::kept)).ok());
    co_await meanwhile.join();
    const auto names = node.disk().list("/t-0").value();
    for (const DirectoryEntry& entry : names) EXPECT_FALSE(entry.name.ends_with(".swap")) << entry.name;
  };
  world.run_task(life());
}

}  // namespace
}  // namespace naru
