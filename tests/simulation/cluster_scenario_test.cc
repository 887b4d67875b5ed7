// One fault at a time in a cluster of three, and what must come of it.
#include <gtest/gtest.h>

#include "cluster_control/controller_shell.h"
#include "kafka_protocol/messages/create_topics_request.h"
#include "kafka_protocol/messages/create_topics_response.h"
#include "kafka_protocol/messages/fetch_request.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "kafka_protocol/messages/metadata_request.h"
#include "kafka_protocol/messages/metadata_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "record_format/batch_builder.h"
#include "simulation/cluster_scenario.h"
#include "simulation/kafka_client.h"

namespace naru::simulation {
namespace {

constexpr Duration kSession = 1500ms;  // of a broker that has gone

Bytes one_record() {
  BatchBuilder builder;
  builder.add(1000, std::nullopt, "value");
  return builder.build().value();
}

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
    // Replicas that are idle and out of sync are heard of every five seconds.
    EXPECT_TRUE(co_await scenario.comes_true([&] { return scenario.in_sync(broken, "invoices"); }, 10s))
        << "its other logs are not concerned";
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

TEST(ClusterScenario, RequestsToTheControllerAreAnsweredWhenTheirTimeoutIsOver) {
  ClusterScenario scenario(3);
  scenario.run([&]() -> Task<void> {
    const BrokerId controller = scenario.controller();
    auto connected = co_await KafkaClient::connect(scenario.seams(), scenario.broker(controller).address());
    EXPECT_TRUE(connected);
    if (!connected) co_return;
    const std::shared_ptr<KafkaClient> client = *connected;
    const auto set_disk_delay = [&](Duration delay) {
      scenario.broker(controller).process().scheduler().set_disk_timing({.usual_min = delay, .usual_max = delay});
    };
    const auto create = [&](int32_t timeout_ms) {
      kafka::CreateTopicsRequest request;
      request.topics = {{.name = "slow", .num_partitions = 1, .replication_factor = 3}};
      request.timeout_ms = timeout_ms;
      return client->call<kafka::CreateTopicsResponse>(std::move(request), 7, 100s);
    };
    set_disk_delay(20s);
    const MonotonicTime begun = scenario.seams().clock.now();
    const auto late = co_await create(1000);
    const Duration took = scenario.seams().clock.now() - begun;
    EXPECT_TRUE(late && late->topics.at(0).error_code == ErrorCode::request_timed_out);
    EXPECT_TRUE(took >= 1s && took < 3s);
    EXPECT_TRUE(co_await scenario.comes_true(
        [&] { return scenario.leads(controller, "slow") || scenario.stored("slow").leader != controller; }, 2min))
        << "it is made all the same";
    set_disk_delay(1ms);
    const auto again = co_await create(60'000);
    EXPECT_TRUE(again && again->topics.at(0).error_code == ErrorCode::topic_already_exists);
    client->close();
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

// Its followers are gone and nobody can say so: the acknowledgement cannot come, and the client would wait for weeks.
TEST(ClusterScenario, ABrokerStopsAlthoughAcknowledgementsCannotCome) {
  ClusterScenario scenario(5);
  scenario.run([&]() -> Task<void> {
    co_await scenario.create_topic("orders", 3);
    const BrokerId controller = scenario.controller();
    int32_t partition = 0;
    while (scenario.stored("orders", partition).leader == controller) ++partition;
    SimulatedBroker& leader = scenario.broker(scenario.stored("orders", partition).leader);
    const auto client = co_await KafkaClient::connect(scenario.seams(), leader.address());
    scenario.cluster().coordination().set_down(true);
    for (const auto& broker : scenario.cluster().brokers()) {
      if (broker->id() != leader.id()) broker->kill();
    }
    Bytes batch = one_record();
    TaskGroup others;
    const auto produce = [&]() -> Task<void> {
      kafka::ProduceRequest request{.acks = -1, .timeout_ms = INT32_MAX};
      auto& topic = request.topic_data.emplace_back();
      topic.name = "orders";
      topic.partition_data.push_back({.index = PartitionIndex(partition), .records = BytesView(batch)});
      const auto answer = co_await (*client)->call<kafka::ProduceResponse>(request, 9, 24h);
      EXPECT_FALSE(answer) << "nobody has acknowledged it";
    };
    others.spawn(produce());
    co_await scenario.pause(100ms);
    const MonotonicTime begun = scenario.seams().clock.now();
    ignore(co_await leader.stop_cleanly());
    EXPECT_LT(scenario.seams().clock.now() - begun, 15s);
    (*client)->close();
    co_await others.join();
    scenario.cluster().coordination().set_down(false);
  });
}

TEST(ClusterScenario, AControllerThatStopsIsReplacedBeforeItsLogsAreClosed) {
  ClusterScenario scenario(6);
  scenario.run([&]() -> Task<void> {
    co_await scenario.create_topic("orders", 3);
    const BrokerId controller = scenario.controller();
    scenario.broker(controller).process().scheduler().set_disk_timing({.usual_min = 20s, .usual_max = 20s});
    bool stopped = false;
    TaskGroup others;
    const auto stop = [&]() -> Task<void> {
      ignore(co_await scenario.broker(controller).stop_cleanly());
      stopped = true;
    };
    others.spawn(stop());
    const auto replaced = [&] {
      for (const auto& broker : scenario.cluster().brokers()) {
        if (broker->id() != controller && broker->broker().controller().here) return true;
      }
      return false;
    };
    EXPECT_TRUE(co_await scenario.comes_true(replaced, 2s));
    EXPECT_FALSE(stopped);
    // The next controller knows that it stops: it is not in sync, though it fetches until its end.
    co_await scenario.pause(1s);
    for (int32_t i = 0; i < 3; ++i) EXPECT_FALSE(scenario.in_sync(controller, "orders", i));
    EXPECT_FALSE(stopped);
    co_await others.join();
  });
}

// Who hears of it may connect at once, and is answered when it knows what to say.
TEST(ClusterScenario, ABrokerThatIsRegisteredCanBeReached) {
  ClusterScenario scenario(7);
  scenario.run([&]() -> Task<void> {
    co_await scenario.create_topic("orders", 30);
    SimulatedBroker& broker = scenario.broker(BrokerId(2));
    broker.kill();
    EXPECT_TRUE(co_await scenario.comes_true([&] { return scenario.stored().find_broker(broker.id()) == nullptr; },
                                             kSession + 2s));
    TaskGroup others;
    others.spawn(broker.start());
    while (scenario.stored().find_broker(broker.id()) == nullptr) co_await scenario.pause(100us);
    EXPECT_FALSE(broker.running()) << "too late to see what is to be seen";
    const auto client = co_await KafkaClient::connect(scenario.seams(), broker.address());
    EXPECT_TRUE(client) << client.error().to_string();
    if (client) {
      kafka::MetadataRequest request;
      request.topics = std::nullopt;
      const auto answer = co_await (*client)->call<kafka::MetadataResponse>(request, 9, 10s);
      EXPECT_TRUE(answer) << answer.error().to_string();
      if (answer) EXPECT_EQ(answer->topics.size(), 1u);
      (*client)->close();
    }
    co_await others.join();
  });
}

// KIP-951: a client that comes to the wrong broker need not ask anybody for the right one.
TEST(ClusterScenario, WhoeverDoesNotLeadTellsWhoDoesAndWhereThatIs) {
  ClusterScenario scenario(8);
  scenario.run([&]() -> Task<void> {
    co_await scenario.create_topic("orders", 1);
    const BrokerId first = scenario.stored("orders").leader;
    scenario.broker(first).kill();
    EXPECT_TRUE(co_await scenario.comes_true([&] { return scenario.stored("orders").leader != first; }, 10s));
    co_await scenario.pause(500ms);  // until all have heard of it
    const PartitionState state = scenario.stored("orders");
    const BrokerId follower = state.isr[state.isr[0] == state.leader ? 1 : 0];
    const auto client = co_await KafkaClient::connect(scenario.seams(), scenario.broker(follower).address());
    const Endpoint leader = scenario.broker(state.leader).address();

    Bytes batch = one_record();
    kafka::ProduceRequest produce{.acks = -1, .timeout_ms = 1000};
    auto& topic = produce.topic_data.emplace_back();
    topic.name = "orders";
    topic.partition_data.push_back({.index = PartitionIndex(0), .records = BytesView(batch)});
    const auto produced = co_await (*client)->call<kafka::ProduceResponse>(produce, 10, 5s);
    const auto& refused = produced->responses.at(0).partition_responses.at(0);
    EXPECT_EQ(refused.error_code, ErrorCode::not_leader_or_follower);
    EXPECT_EQ(refused.current_leader.leader_id, state.leader);
    EXPECT_EQ(refused.current_leader.leader_epoch, state.leader_epoch);
    EXPECT_EQ(produced->node_endpoints.size(), 1u);
    EXPECT_EQ(produced->node_endpoints.at(0).node_id, state.leader);
    EXPECT_EQ(produced->node_endpoints.at(0).host, leader.host);
    EXPECT_EQ(produced->node_endpoints.at(0).port, leader.port);

    // In the epoch of the former leader; without any it might read from this one.
    kafka::FetchRequest fetch{.max_wait_ms = 0, .min_bytes = 1, .max_bytes = 1000, .session_epoch = -1};
    auto& wanted = fetch.topics.emplace_back();
    wanted.topic_id = state.topic_id;
    wanted.partitions.push_back({.partition = PartitionIndex(0),
                                 .current_leader_epoch = LeaderEpoch(state.leader_epoch.value() - 1),
                                 .fetch_offset = Offset(0),
                                 .partition_max_bytes = 1000});
    const auto fetched = co_await (*client)->call<kafka::FetchResponse>(fetch, 16, 5s);
    const auto& fenced = fetched->responses.at(0).partitions.at(0);
    EXPECT_EQ(fenced.error_code, ErrorCode::fenced_leader_epoch);
    EXPECT_EQ(fenced.current_leader.leader_id, state.leader);
    EXPECT_EQ(fenced.current_leader.leader_epoch, state.leader_epoch);
    EXPECT_EQ(fetched->node_endpoints.size(), 1u);
    EXPECT_EQ(fetched->node_endpoints.at(0).host, leader.host);
    EXPECT_EQ(fetched->node_endpoints.at(0).port, leader.port);
    (*client)->close();

    // The leader itself has nothing to add.
    const auto to_leader = co_await KafkaClient::connect(scenario.seams(), leader);
    const auto stored = co_await (*to_leader)->call<kafka::ProduceResponse>(produce, 10, 5s);
    EXPECT_EQ(stored->responses.at(0).partition_responses.at(0).error_code, ErrorCode::none);
    EXPECT_TRUE(stored->node_endpoints.empty());
    (*to_leader)->close();
  });
}

}  // namespace
}  // namespace naru::simulation
