// For tests: five brokers of which some are cut off from the others, and not from their clients.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "foundation/log.h"
#include "kafka_protocol/messages/create_topics_request.h"
#include "kafka_protocol/messages/create_topics_response.h"
#include "kafka_protocol/messages/offset_commit_request.h"
#include "kafka_protocol/messages/offset_commit_response.h"
#include "kafka_protocol/messages/offset_fetch_request.h"
#include "kafka_protocol/messages/offset_fetch_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "record_format/batch_builder.h"
#include "simulation/broker_directory.h"
#include "simulation/simulated_cluster.h"
#include "simulation/store_watch.h"

namespace naru::simulation {

inline constexpr Duration kCallTimeout = 20s;
inline constexpr int16_t kProduceVersion = 9, kCreateTopicsVersion = 7, kCommitVersion = 8, kFetchOffsetsVersion = 7;
inline constexpr int16_t kAcksLeader = 1, kAcksAll = -1;
inline const std::string kTopic = "orders", kGroup = "group";
// Twice the session of simulated clusters and the margin, and then some.
inline constexpr Duration kLongerThanPatience = 40s;

inline RunPlan five_brokers() {
  RunPlan plan;
  plan.brokers = 5;
  plan.replicas = 3;
  plan.partitions = 10;
  plan.journal_batch_max_bytes = 1 << 16;
  return plan;
}

class CutOff : public testing::Test {
 protected:
  CutOff() { silence_log(); }

  // `scenario` runs in a cluster whose topic has all its replicas in sync.
  template <class Scenario>
  void run(Scenario scenario) {
    const auto whole = [&]() -> Task<void> {
      co_await cluster_.start_all();
      co_await create_topic();
      co_await wait(5s);
      co_await scenario();
      world_.network().unblock_all();
      cluster_.coordination().heal();
      for (const auto& broker : cluster_.brokers()) {
        cluster_.coordination().set_reachable(broker->node().host(), true);
      }
      co_await wait(20s);
      const Status stopped = co_await cluster_.stop_all();
      EXPECT_TRUE(stopped.ok()) << stopped.to_string();
      co_await cluster_.wait_for_remains();
    };
    world_.run_task(whole());
  }

  Seams seams() { return harness_->seams(); }
  Task<void> wait(Duration length) { ignore(co_await sleep_until(seams().scheduler, seams().clock.now() + length)); }
  std::string host(BrokerId id) { return cluster_.brokers()[static_cast<size_t>(id.value()) - 1]->node().host(); }
  Endpoint address(BrokerId id) { return cluster_.brokers()[static_cast<size_t>(id.value()) - 1]->address(); }

  const MetadataImage& image() {
    store_.look(cluster_.coordination().state());
    return store_.image();
  }
  BrokerId controller() { return image().cluster().controller_id; }
  std::vector<PartitionState> partitions(const std::string& topic = kTopic) {
    std::vector<PartitionState> all;
    for (const PartitionStatePtr& state : image().find_topic(topic)->partitions) all.push_back(*state);
    return all;
  }
  // One that the controller has no replica of, if there is one.
  std::optional<PartitionState> partition_beside_controller(const std::string& topic = kTopic) {
    const auto all = partitions(topic);
    const auto found = std::ranges::find_if(all, [controller = controller()](const PartitionState& state) {
      return std::ranges::find(state.replicas, controller) == state.replicas.end();
    });
    EXPECT_TRUE(found != all.end());
    return found == all.end() ? std::nullopt : std::optional(*found);
  }

  // Both ways; those inside cannot reach the coordination service, either. Clients reach everybody.
  void cut_off(const std::set<BrokerId>& inside) {
    for (const BrokerId one : inside) {
      cluster_.coordination().set_reachable(host(one), false);
      for (const auto& broker : cluster_.brokers()) {
        if (!inside.contains(broker->id())) cut(one, broker->id());
      }
    }
  }
  void cut(BrokerId one, BrokerId other) {
    world_.network().block(host(one), host(other));
    world_.network().block(host(other), host(one));
  }

  Task<void> create_topic() {
    const auto client = co_await KafkaClient::connect(seams(), address(BrokerId(1)));
    kafka::CreateTopicsRequest request;
    request.topics.push_back({.name = kTopic,
                              .num_partitions = plan_.partitions,
                              .replication_factor = static_cast<int16_t>(plan_.replicas)});
    const auto response =
        co_await (*client)->call<kafka::CreateTopicsResponse>(request, kCreateTopicsVersion, kCallTimeout);
    EXPECT_TRUE(response && response->topics.at(0).error_code == ErrorCode::none);
    (*client)->close();
  }
  Task<ErrorCode> produce(BrokerId at, PartitionIndex index, int16_t acks) {
    const auto client = co_await KafkaClient::connect(seams(), address(at));
    BatchBuilder builder;
    builder.add(seams().clock.wall_now_ms(), std::nullopt, "value");
    const Bytes batch = builder.build().value();
    kafka::ProduceRequest request{.acks = acks, .timeout_ms = 5'000};
    request.topic_data.push_back({.name = kTopic});
    request.topic_data.back().partition_data.push_back({.index = index, .records = batch});
    const auto response = co_await (*client)->call<kafka::ProduceResponse>(request, kProduceVersion, kCallTimeout);
    (*client)->close();
    co_return response ? response->responses.at(0).partition_responses.at(0).error_code : ErrorCode::network_exception;
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> harness_ = world_.add_node("harness").start();
  const RunPlan plan_ = five_brokers();
  SimulatedCluster cluster_{world_, harness_->seams(), plan_};
  StoreWatch store_;
};

class CutOffCoordinator : public CutOff {
 protected:
  Task<std::shared_ptr<KafkaClient>> coordinator() {
    BrokerDirectory directory(seams(), cluster_.addresses());
    for (int tries = 0; tries < 100; ++tries) {
      if (auto client = co_await directory.coordinator(kGroup)) co_return client;
      co_await wait(300ms);
    }
    co_return nullptr;
  }
  static Task<ErrorCode> commit(std::shared_ptr<KafkaClient> client, int64_t offset) {
    kafka::OffsetCommitRequest request;
    request.group_id = kGroup;
    request.generation_id_or_member_epoch = -1;
    request.topics.push_back({.name = kTopic});
    request.topics.back().partitions.push_back(
        {.partition_index = PartitionIndex(0), .committed_offset = Offset(offset)});
    const auto response = co_await client->call<kafka::OffsetCommitResponse>(request, kCommitVersion, kCallTimeout);
    co_return response ? response->topics.at(0).partitions.at(0).error_code : ErrorCode::network_exception;
  }
  struct Fetched {
    ErrorCode error = ErrorCode::network_exception;
    int64_t offset = -1;
    bool operator==(const Fetched&) const = default;
  };
  // 5 is committed at the first coordinator, which is cut off then, and 9 at the next.
  struct Replaced {
    std::shared_ptr<KafkaClient> old, next;
  };
  Task<Replaced> replace(Duration patience) {
    const auto old = co_await coordinator();
    EXPECT_NE(old, nullptr);
    if (!old) co_return Replaced{};
    ErrorCode committed = ErrorCode::coordinator_load_in_progress;
    for (int tries = 0; tries < 100 && committed != ErrorCode::none; ++tries) {
      co_await wait(300ms);
      committed = co_await commit(old, 5);
    }
    for (const bool stable : {false, true}) EXPECT_EQ(co_await fetch(old, stable), (Fetched{ErrorCode::none, 5}));
    for (const auto& broker : cluster_.brokers()) {
      if (broker->address() == old->address()) cut_off({broker->id()});
    }
    co_await wait(patience);
    std::shared_ptr<KafkaClient> next = co_await coordinator();
    while (next && next->address() == old->address()) {  // who is cut off still believes to be it
      next->close();
      co_await wait(100ms);
      next = co_await coordinator();
    }
    EXPECT_NE(next, nullptr);
    if (!next) co_return Replaced{};
    committed = ErrorCode::coordinator_load_in_progress;
    for (int tries = 0; tries < 100 && committed != ErrorCode::none; ++tries) {
      co_await wait(10ms);
      committed = co_await commit(next, 9);
    }
    EXPECT_EQ(committed, ErrorCode::none);
    co_return Replaced{old, next};
  }
  static Task<Fetched> fetch(std::shared_ptr<KafkaClient> client, bool stable = false) {
    kafka::OffsetFetchRequest request;
    request.group_id = kGroup;
    request.require_stable = stable;
    request.topics.emplace();
    request.topics->push_back({.name = kTopic, .partition_indexes = {0}});
    const auto response =
        co_await client->call<kafka::OffsetFetchResponse>(request, kFetchOffsetsVersion, kCallTimeout);
    if (!response) co_return Fetched{};
    if (response->error_code != ErrorCode::none) co_return Fetched{response->error_code};
    const auto& partition = response->topics.at(0).partitions.at(0);
    co_return Fetched{partition.error_code, partition.committed_offset.value()};
  }
};

}  // namespace naru::simulation
