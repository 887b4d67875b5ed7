#include "cluster_control/allocate_producer_ids.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "cluster_control/controller_shell.h"
#include "cluster_control/metadata_bench.h"
#include "cluster_control/metadata_keys.h"
#include "cluster_control/stored_metadata.h"
#include "coordination_store/embedded/embedded_store.h"
#include "coordination_store/simulated/fault_injecting_store.h"
#include "coordination_store/simulated/run_in_world.h"
#include "foundation/log.h"

namespace naru {
namespace {

constexpr int64_t kSize = AllocateProducerIdsPlanner::kBlockSize;

ProducerIdBlock allocate(MetadataBench& bench) {
  AllocateProducerIdsPlanner planner;
  bench.run(planner);
  return planner.result().value();
}

TEST(AllocateProducerIds, BlocksFollowEachOther) {
  MetadataBench bench(1);
  EXPECT_EQ(allocate(bench), (ProducerIdBlock{ProducerId(0), ProducerId(kSize)}));
  EXPECT_EQ(allocate(bench), (ProducerIdBlock{ProducerId(kSize), ProducerId(2 * kSize)}));
  EXPECT_EQ(bench.image().cluster().next_producer_id, ProducerId(2 * kSize));
}

TEST(AllocateProducerIds, ABlockOfUnknownOutcomeIsSkipped) {
  MetadataBench bench(1);
  AllocateProducerIdsPlanner planner;
  static_cast<void>(planner.plan(bench.image()));
  allocate(bench);  // as if it was this one, and its answer was lost
  bench.run(planner);
  EXPECT_EQ(planner.result()->first, ProducerId(kSize));
}

TEST(AllocateProducerIds, TheLastIdsAreNotGivenTwice) {
  MetadataImage nothing;
  const auto image_with = [&](int64_t next) {
    MetadataImageBuilder builder(nothing);
    EXPECT_TRUE(builder.put(metadata_keys::kProducerIds, encode_producer_ids(ProducerId(next)), 1).ok());
    return *builder.build();
  };
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  AllocateProducerIdsPlanner fits;
  EXPECT_TRUE(fits.plan(*image_with(kMax - kSize)));
  AllocateProducerIdsPlanner full;
  EXPECT_FALSE(full.plan(*image_with(kMax - kSize + 1)));
  full.committed();
  EXPECT_FALSE(full.result().has_value());
  MetadataImageBuilder builder(nothing);
  EXPECT_FALSE(builder.put(metadata_keys::kProducerIds, encode_producer_ids(ProducerId(-1)), 1).ok());
}

// A broker that dies at every write of its store, with every loss that a power cut may bring: no id is given twice.
TEST(AllocateProducerIds, NoCrashMakesBlocksOverlap) {
  set_log_level(LogLevel::error);
  const BrokerConfig config = *make_broker_config({});
  int crashes = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SimulatedWorld world(seed);
    SimulatedNode& node = world.add_node("broker");
    ProducerId highest(-1);
    for (uint64_t step = 0; step < 30; step += 1 + world.random().below(3)) {
      const auto process = node.start();
      const Seams seams = process->seams();
      std::unique_ptr<EmbeddedStore> store;
      {
        auto opened = run_in(world, EmbeddedStore::open(seams.files, seams.scheduler, seams.random, {.folder = "/m"}));
        ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
        store = std::move(*opened);
      }
      MetadataPublisher publisher;
      MetricsRegistry metrics;
      ControllerShell controller({*store, publisher, metrics, config, seams.clock, seams.random, seams.scheduler});
      const BrokerRegistration registration{.id = BrokerId(1), .incarnation = seams.random.uuid()};
      ASSERT_TRUE(run_in(world, controller.start(registration)).ok());
      node.disk().die_after(step);
      for (int i = 0; i < 10; ++i) {
        const auto block = run_in(world, controller.allocate_producer_ids());
        if (!block) break;
        ASSERT_GT(block->first, highest) << "seed " << seed << " step " << step;
        ASSERT_EQ(block->end - block->first, kSize);
        highest = block->end - 1;
      }
      crashes += node.disk().is_dead() ? 1 : 0;
      world.run_task(controller.stop());
      ignore(run_in(world, store->close()));
      node.crash();
    }
  }
  EXPECT_GT(crashes, 200);
  set_log_level(LogLevel::info);
}

TEST(AllocateProducerIds, ConflictsAndLostAnswersNeverMakeBlocksOverlap) {
  set_log_level(LogLevel::error);
  const BrokerConfig config = *make_broker_config({});
  SimulatedWorld world(5);
  const auto process = world.add_node("broker").start();
  const Seams seams = process->seams();
  auto embedded = run_in(world, EmbeddedStore::open(seams.files, seams.scheduler, seams.random, {.folder = "/m"}));
  FaultInjectingStore store(**embedded, seams.random);
  MetadataPublisher publisher;
  MetricsRegistry metrics;
  ControllerShell controller({store, publisher, metrics, config, seams.clock, seams.random, seams.scheduler});
  ASSERT_TRUE(run_in(world, controller.start({.id = BrokerId(1), .incarnation = seams.random.uuid()})).ok());
  store.set_faults({.conflict_one_in = 4, .lost_request_one_in = 4, .lost_answer_one_in = 4});
  ProducerId end(0);
  int allocated = 0;
  for (int i = 0; i < 300; ++i) {
    const auto block = run_in(world, controller.allocate_producer_ids());
    if (!block) continue;
    ASSERT_GE(block->first, end);
    end = block->end;
    ++allocated;
  }
  EXPECT_GT(allocated, 200);
  EXPECT_GT(end.value(), allocated * kSize) << "some answers were lost";
  world.run_task(controller.stop());
  ignore(run_in(world, (*embedded)->close()));
  set_log_level(LogLevel::info);
}

}  // namespace
}  // namespace naru
