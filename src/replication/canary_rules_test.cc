// Rules whose absence does little harm, because others keep it away: planted here, one by one.
#include <gtest/gtest.h>

#include "foundation/canary_testing.h"
#include "platform/simulated/simulated_world.h"
#include "record_format/batch_builder.h"
#include "replication/partition.h"
#include "replication/partition_testing.h"
#include "replication/transaction_guards.h"

namespace naru {
namespace {

TEST(CanaryRules, AGuardOfVersion1EndsWithTheTransaction) {
  const ProducerIdentity producer{.id = ProducerId(7), .epoch = ProducerEpoch(0)};
  const auto survives_a_marker = [&producer] {
    TransactionGuards guards;
    const VerificationGuard guard = guards.begin(producer, 0);
    guards.ended(producer, kNoTransactionNumber, 1);
    return guards.holds(producer, guard);
  };
  EXPECT_FALSE(survives_a_marker());
  const PlantedCanary planted(Canary::version_1_guard_kept);
  EXPECT_TRUE(survives_a_marker());
}

TEST(CanaryRules, ACoordinatorWritesInItsOwnLeaderEpochAlone) {
  SimulatedWorld world(1);
  SimulatedNode& node = world.add_node("broker");
  const auto process = node.start();
  OpenFiles open_files(node.disk(), 4);
  MetricsRegistry metrics;
  UnsyncedLogs unsynced_logs({.sync_beyond = 100, .full = 200}, metrics);
  ManualDurability durability;
  const Seams seams = process->seams();
  const auto partition =
      open_test_partition(node.disk(), open_files, {seams.clock, seams.scheduler, durability, unsynced_logs},
                          {{"flush.messages", "1000000"}}, leads_alone(BrokerId(1), LeaderEpoch(2)));
  ASSERT_NE(partition, nullptr);
  const auto write_in = [&](LeaderEpoch epoch) {
    BatchBuilder builder;
    builder.add(1000, "key", "value");
    SharedBytes batch(builder.build().value());
    const auto validated = validate_produced_batch(batch.view(), {.sequence_required = false}, 1000);
    const auto group = std::make_shared<AppendGroup>(1);
    partition->append({.batch = batch, .validated = *validated, .leader_epoch = epoch}, group, 0);
    return group->result(0).status.code();
  };
  EXPECT_EQ(write_in(LeaderEpoch(2)), ErrorCode::none);
  EXPECT_EQ(write_in(LeaderEpoch(1)), ErrorCode::not_leader_or_follower);
  const PlantedCanary planted(Canary::stale_coordinator_writes);
  EXPECT_EQ(write_in(LeaderEpoch(1)), ErrorCode::none);
}

}  // namespace
}  // namespace naru
