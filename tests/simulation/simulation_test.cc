#include <gtest/gtest.h>

#include "simulation/simulated_run.h"

namespace naru::simulation {
namespace {

constexpr uint64_t kSeeds = 500;

TEST(Simulation, KeepsEveryPromiseInFiveHundredSeeds) {
  uint64_t acknowledged = 0, faults = 0, refused_logs = 0, repeated_batches = 0, assignments = 0, commits = 0,
           conversions = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RunResult result = run_seed(seed);
    EXPECT_FALSE(result.problem) << "./dev sim --seed " << seed << ": " << *result.problem << "\n  " << result.plan;
    acknowledged += result.acknowledged;
    faults += static_cast<uint64_t>(result.faults);
    refused_logs += result.refused_logs;
    repeated_batches += result.repeated_batches;
    assignments += result.group_assignments;
    commits += result.group_commits;
    conversions += result.group_conversions;
  }
  // The generators must not have become tame.
  EXPECT_GT(acknowledged, kSeeds * 20);
  EXPECT_GT(faults, kSeeds);
  EXPECT_GT(repeated_batches, kSeeds * 5);
  EXPECT_GT(assignments, kSeeds * 10);
  EXPECT_GT(commits, kSeeds * 5);
  EXPECT_GT(conversions, kSeeds);
  EXPECT_LT(refused_logs, kSeeds / 50) << "refusing is for disks that destroy what they promised, which is rare";
}

TEST(Simulation, TheSameSeedIsTheSameRun) {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    const RunResult first = run_seed(seed);
    const RunResult second = run_seed(seed);
    EXPECT_EQ(first.trace_hash, second.trace_hash) << seed;
    EXPECT_EQ(first.events, second.events) << seed;
  }
  EXPECT_NE(run_seed(1).trace_hash, run_seed(2).trace_hash);
}

}  // namespace
}  // namespace naru::simulation
