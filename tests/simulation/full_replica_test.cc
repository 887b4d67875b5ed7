// A follower whose disk is full just when its log has to be cut back: the log is offline, and is opened again, caught
// up and in sync without a restart once there is room.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "broker/hosted_partitions.h"
#include "simulation/cluster_scenario.h"

namespace naru::simulation {
namespace {

const std::string kTopic = "orders";
constexpr Duration kSeconds = 20s;

class FullReplica : public testing::Test {
 protected:
  static std::shared_ptr<Partition> partition_of(SimulatedBroker& broker) {
    return broker.broker().partitions().find(kTopic, PartitionIndex(0)).partition;
  }
  // There is no room for what the truncation writes first.
  static Task<bool> cut_back_on_full_disk(SimulatedBroker& broker) {
    broker.node().disk().fail_nth(FileOperation::write, 1, kTopic + "-0/checkpoint", ErrorCode::disk_full);
    const auto partition = partition_of(broker);
    std::ignore = co_await partition->with_log([](const LogAccess& access) -> Result<Unit> {
      NARU_TRY(access.log.truncate_to(access.log.end_offset() - 1));
      return Unit{};
    });
    co_return partition->offline();
  }
  static bool is_served(SimulatedBroker& broker) {
    const auto partition = partition_of(broker);
    return partition && !partition->offline();
  }

  ClusterScenario scenario_{1};
};

TEST_F(FullReplica, ComesBackByItself) {
  scenario_.run([this]() -> Task<void> {
    co_await scenario_.create_topic(kTopic, 1);
    scenario_.start_producing(kTopic);
    co_await scenario_.pause(2s);
    const PartitionState before = scenario_.stored(kTopic);
    for (const BrokerId id : before.replicas) {
      SimulatedBroker& broker = scenario_.broker(id);
      EXPECT_TRUE(co_await cut_back_on_full_disk(broker)) << "the fault was not met";
      const bool left = co_await scenario_.comes_true([&] { return !scenario_.in_sync(id, kTopic); }, kSeconds);
      EXPECT_TRUE(left) << id.value();
      const bool back =
          co_await scenario_.comes_true([&] { return is_served(broker) && scenario_.in_sync(id, kTopic); }, kSeconds);
      EXPECT_TRUE(back) << id.value();
    }
    co_await scenario_.stop_producing();
    const auto values = co_await scenario_.read_all(kTopic);
    EXPECT_GE(values.size(), static_cast<size_t>(scenario_.delivered()));
    EXPECT_GT(scenario_.delivered(), 0);
  });
}

}  // namespace
}  // namespace naru::simulation
