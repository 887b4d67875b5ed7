// How long a broker takes to stop, and to give up starting: on virtual time, whatever others do meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>

#include "async/task_group.h"
#include "broker/stop_phases.h"
#include "foundation/log.h"
#include "kafka_protocol/messages/create_topics_request.h"
#include "kafka_protocol/messages/create_topics_response.h"
#include "kafka_protocol/messages/fetch_request.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "record_format/batch_builder.h"
#include "simulation/cluster_scenario.h"
#include "simulation/kafka_client.h"

namespace naru::simulation {
namespace {

const std::string kTopic = "orders";
constexpr int32_t kPartitions = 6;
constexpr int32_t kOneHourMs = 3'600'000;
// Of the disks, for a few small logs.
constexpr Duration kForLogs = 2s;
// Of a session of six seconds, until a call that gets no answer fails.
constexpr Duration kOneCall = 7s;

class Stop : public testing::Test {
 protected:
  BrokerId leader() { return scenario_.stored(kTopic).leader; }

  void cut_off(BrokerId id) {
    const std::string& host = scenario_.broker(id).node().host();
    for (const auto& other : scenario_.cluster().brokers()) {
      if (other->id() == id) continue;
      scenario_.world().network().block(host, other->node().host());
      scenario_.world().network().block(other->node().host(), host);
    }
  }
  void heal() {
    scenario_.world().network().unblock_all();
    scenario_.cluster().coordination().heal();
  }

  // Requests that nobody would answer before the hour is over.
  Task<void> produce_for_an_hour(BrokerId at) {
    const auto client = co_await KafkaClient::connect(scenario_.seams(), scenario_.broker(at).address());
    BatchBuilder builder;
    builder.add(scenario_.seams().clock.wall_now_ms(), std::nullopt, "value");
    const Bytes batch = builder.build().value();
    kafka::ProduceRequest request{.acks = -1, .timeout_ms = kOneHourMs};
    request.topic_data.push_back({.name = kTopic});
    request.topic_data.back().partition_data.push_back({.index = PartitionIndex(0), .records = batch});
    std::ignore = co_await (*client)->call<kafka::ProduceResponse>(request, 9, 1h);
    (*client)->close();
  }
  Task<void> fetch_for_an_hour(BrokerId at) {
    const auto client = co_await KafkaClient::connect(scenario_.seams(), scenario_.broker(at).address());
    kafka::FetchRequest request{.max_wait_ms = kOneHourMs, .min_bytes = 1 << 20};
    request.topics.push_back({.topic = kTopic});
    request.topics.back().partitions.push_back(
        {.partition = PartitionIndex(0), .fetch_offset = Offset(0), .partition_max_bytes = 1 << 20});
    std::ignore = co_await (*client)->call<kafka::FetchResponse>(request, 11, 1h);
    (*client)->close();
  }
  Task<void> create_topic(BrokerId at) {
    const auto client = co_await KafkaClient::connect(scenario_.seams(), scenario_.broker(at).address());
    kafka::CreateTopicsRequest request{.timeout_ms = kOneHourMs};
    request.topics.push_back({.name = "late", .num_partitions = 1, .replication_factor = 3});
    std::ignore = co_await (*client)->call<kafka::CreateTopicsResponse>(request, 7, 1h);
    (*client)->close();
  }
  void ask_in_vain(BrokerId at) {
    clients_.spawn(produce_for_an_hour(at));
    clients_.spawn(fetch_for_an_hour(at));
    clients_.spawn(create_topic(at));
  }

  Task<Duration> time_to_stop(BrokerId id) {
    const MonotonicTime begun = scenario_.seams().clock.now();
    const Status stopped = co_await scenario_.broker(id).stop_cleanly();
    EXPECT_TRUE(stopped.ok()) << stopped.to_string();
    co_return scenario_.seams().clock.now() - begun;
  }
  Task<void> stop_one_of_all(BrokerId id, Duration& longest) { longest = std::max(longest, co_await time_to_stop(id)); }
  Task<Duration> time_to_stop_all() {
    Duration longest{};
    TaskGroup stops;
    for (const auto& broker : scenario_.cluster().brokers()) stops.spawn(stop_one_of_all(broker->id(), longest));
    co_await stops.join();
    co_return longest;
  }

  template <class Story>
  void run(Story story) {
    const auto whole = [&]() -> Task<void> {
      co_await scenario_.create_topic(kTopic, kPartitions);
      co_await story();
      heal();
      co_await clients_.join();
    };
    scenario_.run(whole);
  }

  ClusterScenario scenario_{1};
  TaskGroup clients_;
};

TEST_F(Stop, OneOfSeveralHandsOverAndIsGoneAtOnce) {
  run([this]() -> Task<void> {
    scenario_.start_producing(kTopic);
    co_await scenario_.pause(1s);
    EXPECT_LT(co_await time_to_stop(leader()), 3s);
    co_await scenario_.stop_producing();
    EXPECT_EQ(scenario_.failed(), 0);
  });
}

// Nobody is left to lead instead: that is not waited for.
TEST_F(Stop, AllAtOnceAreGoneAtOnce) {
  run([this]() -> Task<void> {
    co_await scenario_.pause(1s);
    // Less than the controller waits for a successor.
    EXPECT_LT(co_await time_to_stop_all(), 2s);
  });
}

TEST_F(Stop, AllAtOnceWithRequestsInFlightKeepToTheLimit) {
  run([this]() -> Task<void> {
    for (const auto& broker : scenario_.cluster().brokers()) ask_in_vain(broker->id());
    co_await scenario_.pause(1s);
    EXPECT_LT(co_await time_to_stop_all(), stop_limits::kAllButLogs + kForLogs);
  });
}

TEST_F(Stop, ALeaderWithoutTheOthersKeepsToTheLimit) {
  run([this]() -> Task<void> {
    const BrokerId id = leader();
    cut_off(id);
    ask_in_vain(id);
    co_await scenario_.pause(1s);
    EXPECT_LT(co_await time_to_stop(id), stop_limits::kAllButLogs + kForLogs);
  });
}

TEST_F(Stop, ABrokerWithoutTheCoordinationServiceKeepsToTheLimit) {
  run([this]() -> Task<void> {
    const BrokerId id = scenario_.controller();
    ask_in_vain(id);
    co_await scenario_.pause(1s);
    scenario_.cluster().coordination().set_reachable(scenario_.broker(id).node().host(), false);
    EXPECT_LT(co_await time_to_stop(id), stop_limits::kAllButLogs + kForLogs);
  });
}

TEST_F(Stop, ABrokerWithoutAnybodyKeepsToTheLimit) {
  run([this]() -> Task<void> {
    const BrokerId id = leader();
    cut_off(id);
    scenario_.cluster().coordination().set_reachable(scenario_.broker(id).node().host(), false);
    ask_in_vain(id);
    co_await scenario_.pause(10s);  // its session is over
    EXPECT_LT(co_await time_to_stop(id), stop_limits::kAllButLogs + kForLogs);
  });
}

// --- A broker that has not started yet
// --------------------------------------------------------------------------------

class StopOfAStart : public testing::Test {
 protected:
  StopOfAStart() { silence_log(); }

  BrokerConfig config(const std::string& host) {
    return make_broker_config({{"log.dirs", "/data"},
                               {"node.id", "1"},
                               {"listeners", "PLAINTEXT://" + host + ":9092"},
                               {"naru.admin.listener", ""}})
        .value();
  }

  // How long it took from the cancellation to the end of the start.
  Duration cancel_after(Duration time) {
    SimulatedNode& node = world_.add_node("broker");
    const auto process = node.start();
    service_.set_reachable(node.host(), false);
    CancelSource source;
    MonotonicTime cancelled{};
    process->seams().scheduler.start_timer(world_.now() + time, [&] {
      cancelled = world_.now();
      source.cancel();
    });
    world_.run_task([](Seams seams, BrokerConfig settings, SimulatedCoordination& service, std::string host,
                       CancelToken token) -> Task<void> {
      const auto connect = [&]() -> Task<Result<std::unique_ptr<CoordinationStore>>> {
        co_return service.connect(seams, host, 6s);
      };
      const auto started = co_await Broker::start(seams, std::move(settings), {.open_store = connect}, token);
      EXPECT_FALSE(started.has_value());
      if (!started) EXPECT_EQ(started.error(), ErrorCode::cancelled);
    }(process->seams(), config(node.host()), service_, node.host(), source.token()));
    return world_.now() - cancelled;
  }

  SimulatedWorld world_{1};
  SimulatedCoordination service_{world_};
};

TEST_F(StopOfAStart, EndsTheWaitForTheCoordinationService) {
  EXPECT_LT(cancel_after(3s), kOneCall);
}
TEST_F(StopOfAStart, EndsItAfterTheSessionHasExpiredToo) {
  EXPECT_LT(cancel_after(25s), kOneCall);
}

}  // namespace
}  // namespace naru::simulation
