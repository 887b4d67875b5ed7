// Disks that fail while a broker starts.
#include <gtest/gtest.h>

#include "simulation/cluster_scenario.h"

namespace naru::simulation {
namespace {

// What the folder holds is not known then, and nothing of it was recovered.
TEST(FailedStart, AFolderThatCouldNotBeListedIsNotMarkedAsCleanlyShutDown) {
  ClusterScenario scenario(1);
  scenario.run([&]() -> Task<void> {
    co_await scenario.create_topic("orders", 1);
    SimulatedBroker& broker = scenario.broker(scenario.stored("orders").leader);
    SimulatedFileSystem& disk = broker.node().disk();
    broker.kill();
    disk.fail_nth(FileOperation::read, 1, "partition.metadata");
    bool listed_in_vain = false;
    bool marked = false;
    disk.set_trace([&](FileOperation operation, const std::string& path, uint64_t) {
      listed_in_vain = listed_in_vain || path.ends_with("partition.metadata");
      marked = marked || (operation == FileOperation::rename && path.ends_with("clean-shutdown"));
    });
    co_await broker.start();
    disk.set_trace({});
    EXPECT_TRUE(listed_in_vain);
    EXPECT_FALSE(marked);
  });
}

}  // namespace
}  // namespace naru::simulation
