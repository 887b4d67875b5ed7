// One fault at a time in a cluster of three, and what must come of it.
#include <gtest/gtest.h>

#include "simulation/cluster_scenario.h"

namespace naru::simulation {
namespace {

constexpr Duration kSession = 1500ms;  // of a broker that has gone

// Every record that was sent is there once, in the order of sending.
void expect_all_in_order(const std::vector<std::string>& values, int count) {
  ASSERT_EQ(values.size(), static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) EXPECT_EQ(values[static_cast<size_t>(i)], std::to_string(i));
}

TEST(ClusterScenario, AnotherBrokerLeadsWhenTheLogOfTheLeaderGoesOffline) {
  for (const FileOperation broken : {FileOperation::write, FileOperation::sync_data}) {
    ClusterScenario scenario(1);
    scenario.run([&]() -> Task<void> {
      co_await scenario.create_topic("orders", 1);
      const BrokerId leader = scenario.stored("orders").leader;
      scenario.start_producing("orders");
      co_await scenario.pause(500ms);
      EXPECT_GT(scenario.delivered(), 0);
      scenario.broker(leader).node().disk().fail_nth(broken, 1, "orders-0");
      EXPECT_TRUE(co_await scenario.comes_true(
          [&] { return scenario.stored("orders").leader != leader && !scenario.in_sync(leader, "orders"); }, 2s));
      const int before = scenario.delivered();
      EXPECT_TRUE(co_await scenario.comes_true([&] { return scenario.delivered() > before + 10; }, 2s));
      co_await scenario.stop_producing();
      EXPECT_EQ(scenario.failed(), 0);
      expect_all_in_order(co_await scenario.read_all("orders"), scenario.delivered());
      // When the disk is well again and the broker has been restarted, it takes part again.
      scenario.broker(leader).kill();
      co_await scenario.broker(leader).start();
      EXPECT_TRUE(co_await scenario.comes_true([&] { return scenario.in_sync(leader, "orders"); }, 10s));
    });
  }
}

// It comes back before anybody has noticed that it was away, so it still leads and is in sync, as far as is known.
TEST(ClusterScenario, ABrokerWhoseLogsCannotBeOpenedIsNeitherLeaderNorInSync) {
  ClusterScenario scenario(2);
  scenario.run([&]() -> Task<void> {
    co_await scenario.create_topic("orders", 3);
    co_await scenario.create_topic("invoices", 1);
    const BrokerId broken = scenario.stored("orders", 1).leader;
    scenario.broker(broken).kill();
    SimulatedFileSystem& disk = scenario.broker(broken).node().disk();
    for (const char* log : {"orders-0/0", "orders-1/0", "orders-2/0"}) disk.fail_nth(FileOperation::open, 1, log);
    co_await scenario.broker(broken).start();
    const auto all_is_well = [&] {
      for (int32_t i = 0; i < 3; ++i) {
        const BrokerId leader = scenario.stored("orders", i).leader;
        if (scenario.in_sync(broken, "orders", i) || !scenario.leads(leader, "orders", i)) return false;
      }
      return true;
    };
    EXPECT_TRUE(co_await scenario.comes_true(all_is_well, 2s));
    EXPECT_TRUE(scenario.in_sync(broken, "invoices")) << "its other logs are not concerned";
    // A new controller has to hear of it, too, before it could elect that broker.
    const BrokerId controller = scenario.controller();
    if (controller != broken) {
      ignore(co_await scenario.broker(controller).stop_cleanly());
      EXPECT_TRUE(co_await scenario.comes_true(all_is_well, 5s));
    }
    for (int32_t i = 0; i < 3; ++i) EXPECT_NE(scenario.stored("orders", i).leader, broken);
  });
}

// A disk that hangs is not noticed by the coordination service: the controller stays in office.
TEST(ClusterScenario, ElectionsDoNotWaitForTheDiskOfTheController) {
  ClusterScenario scenario(3);
  scenario.run([&]() -> Task<void> {
    co_await scenario.create_topic("orders", 3);
    const BrokerId controller = scenario.controller();
    int32_t partition = 0;
    while (scenario.stored("orders", partition).leader == controller) ++partition;
    const BrokerId leader = scenario.stored("orders", partition).leader;
    scenario.broker(controller).process().scheduler().set_disk_timing({.usual_min = 60s, .usual_max = 60s});
    TaskGroup others;
    others.spawn(scenario.ask_for_topic("hangs"));
    co_await scenario.pause(1s);
    EXPECT_NE(scenario.stored().find_topic("hangs"), nullptr);
    scenario.broker(leader).kill();
    EXPECT_TRUE(co_await scenario.comes_true(
        [&] {
          const BrokerId next = scenario.stored("orders", partition).leader;
          return next != leader && scenario.leads(next, "orders", partition);
        },
        kSession + 2s));
    EXPECT_EQ(scenario.controller(), controller);
    scenario.broker(controller).process().scheduler().set_disk_timing({});
    co_await others.join();
  });
}

TEST(ClusterScenario, RolesDoNotWaitForTheFilesOfDeletedTopics) {
  ClusterScenario scenario(4);
  scenario.run([&]() -> Task<void> {
    co_await scenario.create_topic("orders", 3);
    co_await scenario.create_topic("old", 1);
    const BrokerId controller = scenario.controller();
    int32_t partition = 0;
    while (scenario.stored("orders", partition).leader == controller) ++partition;
    const BrokerId leader = scenario.stored("orders", partition).leader;
    for (const auto& broker : scenario.cluster().brokers()) {
      if (broker->id() != leader) {
        broker->process().scheduler().set_disk_timing({.usual_min = 60s, .usual_max = 60s});
      }
    }
    TaskGroup others;
    others.spawn(scenario.ask_for_deletion("old"));
    co_await scenario.pause(1s);
    scenario.broker(leader).kill();
    EXPECT_TRUE(co_await scenario.comes_true(
        [&] {
          const BrokerId next = scenario.stored("orders", partition).leader;
          return next != leader && scenario.leads(next, "orders", partition);
        },
        kSession + 2s));
    for (const auto& broker : scenario.cluster().brokers()) {
      if (broker->running()) broker->process().scheduler().set_disk_timing({});
    }
    co_await others.join();
  });
}

}  // namespace
}  // namespace naru::simulation
