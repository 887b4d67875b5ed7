// How much is planned in one step, whatever a request says and however large the cluster is.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "cluster_control/create_partitions.h"
#include "cluster_control/create_topics.h"
#include "cluster_control/elect_leaders.h"
#include "cluster_control/metadata_bench.h"
#include "cluster_control/partition_sweep.h"
#include "cluster_control/stored_metadata.h"

namespace naru {
namespace {

constexpr int32_t kBuckets = 200;
const Uuid kTopicId{7, 1};

// One topic that fills so many buckets, all led by the second of two replicas.
MetadataImagePtr large_image() {
  const MetadataBench bench(2);
  MetadataImageBuilder builder(bench.image());
  const int32_t partitions = kBuckets * kPartitionsPerBucket;
  EXPECT_TRUE(builder.put(metadata_keys::topic("t"), encode_topic(kTopicId, partitions, 0), 1).ok());
  for (int32_t bucket = 0; bucket < kBuckets; ++bucket) {
    PartitionBucket states;
    for (int32_t i = 0; i < kPartitionsPerBucket; ++i) {
      PartitionState state{.topic_id = kTopicId, .index = PartitionIndex(bucket * kPartitionsPerBucket + i)};
      state.replicas = state.isr = {BrokerId(0), BrokerId(1)};
      state.leader = BrokerId(1);
      state.bucket = bucket;
      states.push_back(std::make_shared<const PartitionState>(std::move(state)));
    }
    EXPECT_TRUE(builder.put(metadata_keys::partition_states(bucket), encode_bucket(states), 1).ok());
  }
  auto image = builder.build();
  EXPECT_TRUE(image) << image.error().to_string();
  return *image;
}

// Runs it as if each transaction were committed and changed nothing that it looks at again. Returns the steps.
size_t run(Planner& planner, const MetadataImage& image, size_t& most_puts) {
  size_t steps = 0;
  for (; !planner.done(); ++steps) {
    const auto transaction = planner.plan(image);
    if (transaction) most_puts = std::max(most_puts, transaction->puts.size());
    planner.committed();
  }
  return steps;
}
size_t run(Planner& planner, const MetadataImage& image) {
  size_t puts = 0;
  return run(planner, image, puts);
}

const BrokerConfig kConfig = *make_broker_config({});  // planners keep a reference

TEST(PlannerSteps, ItemsThatChangeNothingTakeStepsToo) {
  const MetadataBench bench(1);
  CreateTopicsRequest request{.validate_only = true};
  for (size_t i = 0; i < 10 * kItemsPerStep; ++i) request.topics.push_back({.name = fmt::format("t{}", i)});
  for (NewTopic& topic : request.topics) topic.partition_count = 1;
  CreateTopicsPlanner planner(std::move(request), kConfig, 0);
  EXPECT_EQ(run(planner, bench.image()), 10U);
  for (const auto& result : planner.take_results()) EXPECT_TRUE(result.status.ok()) << result.status.to_string();
}

TEST(PlannerSteps, WhatEarlierStepsHaveOnlyValidatedCounts) {
  const MetadataBench bench(1);
  CreateTopicsRequest request{.validate_only = true};
  request.topics.push_back({.name = "a.b"});
  for (size_t i = 0; i < kItemsPerStep; ++i) request.topics.push_back({.name = fmt::format("t{}", i)});
  request.topics.push_back({.name = "a_b"});
  for (NewTopic& topic : request.topics) topic.partition_count = 1;
  CreateTopicsPlanner planner(std::move(request), kConfig, 0);
  EXPECT_EQ(run(planner, bench.image()), 2U);
  EXPECT_EQ(planner.take_results().back().status.code(), ErrorCode::invalid_topic_exception);
}

TEST(PlannerSteps, ThousandsOfPartitionsAreAddedToFewTopicsAtATime) {
  MetadataBench bench(1);
  CreateTopicsRequest request;
  for (uint64_t i = 0; i < 20; ++i) {
    request.topics.push_back({.name = fmt::format("t{}", i), .partition_count = 1, .id = Uuid{8, i}});
  }
  CreateTopicsPlanner create(std::move(request), kConfig, 0);
  bench.run(create);
  std::vector<MorePartitions> items;
  for (int i = 0; i < 20; ++i) items.push_back({.topic = fmt::format("t{}", i), .count = 6000});
  CreatePartitionsPlanner planner(std::move(items), true);
  EXPECT_EQ(run(planner, bench.image()), 10U);
  for (const auto& result : planner.take_results()) EXPECT_TRUE(result.status.ok()) << result.status.to_string();
}

TEST(PlannerSteps, PartitionsThatDoNotExistAreNotAllPlannedAtOnce) {
  const MetadataBench bench(1);
  std::vector<ElectLeadersItem> items(5 * kPartitionItemsPerStep, {.topic = "unknown", .index = PartitionIndex(0)});
  ElectLeadersPlanner planner(ElectionType::preferred, std::move(items), {});
  EXPECT_EQ(run(planner, bench.image()), 5U);
  const auto results = planner.take_results();
  EXPECT_EQ(results.size(), 5 * kPartitionItemsPerStep);
  for (const auto& result : results) EXPECT_EQ(result.status.code(), ErrorCode::unknown_topic_or_partition);
}

TEST(PlannerSteps, AnElectionOfAllPartitionsChangesAFewBucketsAtATime) {
  const MetadataImagePtr image = large_image();
  ElectLeadersPlanner planner(ElectionType::preferred, all_partitions(*image), {});
  size_t most_puts = 0;
  const size_t items = size_t{kBuckets} * kPartitionsPerBucket;
  EXPECT_GE(run(planner, *image, most_puts), items / kPartitionItemsPerStep);
  EXPECT_LE(most_puts, kBucketsPerStep + 1);  // and the generation
  const auto results = planner.take_results();
  EXPECT_TRUE(std::ranges::all_of(results, [](const auto& result) { return result.status.ok(); }));
}

class TestSweep final : public PartitionSweep {
 public:
  explicit TestSweep(bool changes) : changes_(changes) {}
  size_t looked_at = 0;
  size_t most_looked_at = 0;

 private:
  void begin_step(const MetadataImage&) override { looked_at = 0; }
  std::optional<PartitionState> change(const MetadataImage&, const PartitionState& before) override {
    most_looked_at = std::max(most_looked_at, ++looked_at);
    if (!changes_) return std::nullopt;
    PartitionState after = before;
    after.leader = BrokerId(0);
    return after;
  }
  const bool changes_;
};

TEST(PlannerSteps, ASweepLooksAtSomeBucketsAndChangesFewer) {
  const MetadataImagePtr image = large_image();
  TestSweep idle(false);
  EXPECT_EQ(run(idle, *image), (kBuckets + PartitionSweep::kBucketsLookedAt - 1) / PartitionSweep::kBucketsLookedAt);
  EXPECT_LE(idle.most_looked_at, PartitionSweep::kBucketsLookedAt * kPartitionsPerBucket);
  TestSweep busy(true);
  size_t most_puts = 0;
  EXPECT_EQ(run(busy, *image, most_puts), (kBuckets + kBucketsPerStep - 1) / kBucketsPerStep);
  EXPECT_LE(most_puts, kBucketsPerStep + 1);
}

}  // namespace
}  // namespace naru
