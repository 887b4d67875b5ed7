#include <gtest/gtest.h>

#include "simulation/simulated_run.h"

namespace naru::simulation {
namespace {

constexpr uint64_t kSeeds = 500;
constexpr uint64_t kClusterSeeds = 500;  // of a block

TEST(Simulation, KeepsEveryPromiseInFiveHundredSeeds) {
  uint64_t acknowledged = 0, faults = 0, refused_logs = 0, repeated_batches = 0, assignments = 0, commits = 0,
           conversions = 0, transactions = 0, compared = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RunResult result = run_seed(seed, Shape::single);
    EXPECT_FALSE(result.problem) << "./dev sim --seed " << seed << ": " << *result.problem << "\n  " << result.plan;
    acknowledged += result.acknowledged;
    faults += static_cast<uint64_t>(result.faults);
    refused_logs += result.refused_logs;
    repeated_batches += result.repeated_batches;
    assignments += result.group_assignments;
    commits += result.group_commits;
    conversions += result.group_conversions;
    transactions += result.transactions_committed;
    compared += result.coordinators_compared;
  }
  // The generators must not have become tame.
  EXPECT_GT(acknowledged, kSeeds * 20);
  EXPECT_GT(faults, kSeeds);
  EXPECT_GT(repeated_batches, kSeeds * 5);
  EXPECT_GT(assignments, kSeeds * 10);
  EXPECT_GT(commits, kSeeds * 5);
  EXPECT_GT(conversions, kSeeds);
  EXPECT_GT(transactions, kSeeds * 3);
  EXPECT_GT(compared, kSeeds * 20);
  EXPECT_LT(refused_logs, kSeeds / 50) << "refusing is for disks that destroy what they promised, which is rare";
}

// In blocks, so that several of them can run at the same time.
class ClusterSimulation : public testing::TestWithParam<uint64_t> {};

TEST_P(ClusterSimulation, KeepsEveryPromise) {
  uint64_t acknowledged = 0, faults = 0, commits = 0, transactions = 0, compared = 0;
  const uint64_t first = GetParam() * kClusterSeeds + 1;
  for (uint64_t seed = first; seed < first + kClusterSeeds; ++seed) {
    const RunResult result = run_seed(seed, Shape::cluster);
    EXPECT_FALSE(result.problem) << "./dev sim --cluster --seed " << seed << ": " << *result.problem << "\n  "
                                 << result.plan;
    acknowledged += result.acknowledged;
    faults += static_cast<uint64_t>(result.faults);
    commits += result.group_commits;
    transactions += result.transactions_committed;
    compared += result.coordinators_compared;
  }
  EXPECT_GT(transactions, kClusterSeeds * 5);
  EXPECT_GT(acknowledged, kClusterSeeds * 20);
  EXPECT_GT(faults, kClusterSeeds);
  EXPECT_GT(commits, kClusterSeeds);
  EXPECT_GT(compared, kClusterSeeds * 20);
}

INSTANTIATE_TEST_SUITE_P(Blocks, ClusterSimulation, testing::Range<uint64_t>(0, 4));

TEST(Simulation, TheSameSeedIsTheSameRun) {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    const RunResult first = run_seed(seed, Shape::single);
    const RunResult second = run_seed(seed, Shape::single);
    EXPECT_EQ(first.trace_hash, second.trace_hash) << seed;
    EXPECT_EQ(first.events, second.events) << seed;
  }
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(run_seed(seed, Shape::cluster).trace_hash, run_seed(seed, Shape::cluster).trace_hash) << seed;
  }
  EXPECT_NE(run_seed(1, Shape::single).trace_hash, run_seed(2, Shape::single).trace_hash);
}

}  // namespace
}  // namespace naru::simulation
