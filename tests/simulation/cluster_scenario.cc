#include "simulation/cluster_scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "broker/hosted_partitions.h"
#include "client/consumer.h"
#include "client/fetched_records.h"
#include "client/offsets.h"
#include "client/producer.h"
#include "client/topic_admin.h"
#include "foundation/assert.h"
#include "foundation/log.h"

namespace naru::simulation {
namespace {

constexpr Duration kLook = 20ms;
constexpr Duration kBetweenRecords = 10ms;

RunPlan three_brokers(int data_folders) {
  RunPlan plan;
  plan.data_folders = data_folders;
  plan.brokers = 3;
  plan.replicas = 3;
  plan.journal_batch_max_bytes = 1000;
  return plan;
}

}  // namespace

ClusterScenario::ClusterScenario(uint64_t seed, int data_folders)
    : world_(seed),
      harness_(world_.add_node("harness").start()),
      cluster_(world_, harness_->seams(), three_brokers(data_folders)) {
  silence_log();
}

void ClusterScenario::run_and_watch(Task<void> task) {
  TaskGroup group;
  group.spawn(std::move(task));
  uint64_t seen = cluster_.coordination().revision();
  const auto look_and_tell = [&] {
    const uint64_t revision = cluster_.coordination().revision();
    if (std::exchange(seen, revision) != revision) store_.look(cluster_.coordination().state());
    return group.running() == 0;
  };
  const bool ended = world_.run_until(look_and_tell, 24h);
  NARU_ASSERT(ended, "the story has not ended within a day");
}

Task<void> ClusterScenario::begin() {
  co_await cluster_.start_all();
  client_ = std::make_unique<client::ClusterClient>(
      seams(), client::ClientOptions{.bootstrap = cluster_.addresses(), .request_timeout = 5s});
}

Task<void> ClusterScenario::end() {
  client_->close();
  for (const auto& broker : cluster_.brokers()) {
    if (broker->running()) ignore(co_await broker->stop_cleanly());
  }
  co_await cluster_.wait_for_remains();
  EXPECT_FALSE(store_.violation()) << *store_.violation();
}

SimulatedBroker& ClusterScenario::broker(BrokerId id) {
  const auto found = std::ranges::find(cluster_.brokers(), id, [](const auto& broker) { return broker->id(); });
  NARU_ASSERT(found != cluster_.brokers().end(), "there is no broker {}", id);
  return **found;
}

Task<void> ClusterScenario::pause(Duration length) {
  ignore(co_await sleep_until(seams().scheduler, seams().clock.now() + length));
}

Task<bool> ClusterScenario::comes_true(std::function<bool()> condition, Duration within) {
  const MonotonicTime deadline = seams().clock.now() + within;
  while (!condition()) {
    if (seams().clock.now() >= deadline) co_return false;
    co_await pause(kLook);
  }
  co_return true;
}

Task<void> ClusterScenario::create_topic(std::string name, int32_t partitions,
                                         std::vector<std::pair<std::string, std::string>> configs) {
  const auto everybody = static_cast<int16_t>(cluster_.brokers().size());
  const auto created = co_await client::create_topic(
      *client_, {.name = name, .partitions = partitions, .replicas = everybody, .configs = std::move(configs)});
  NARU_ASSERT(created, "{} was not made: {}", name, created.error().to_string());
  const bool led = co_await comes_true(
      [&] {
        for (int32_t i = 0; i < partitions; ++i) {
          if (!leads(stored(name, i).leader, name, i)) return false;
        }
        return true;
      },
      10s);
  NARU_ASSERT(led, "{} is not led", name);
}

Task<void> ClusterScenario::ask_for_topic(std::string name) {
  const auto everybody = static_cast<int16_t>(cluster_.brokers().size());
  [[maybe_unused]] const auto made =
      co_await client::create_topic(*client_, {.name = std::move(name), .partitions = 1, .replicas = everybody});
}

Task<void> ClusterScenario::ask_for_deletion(std::string name) {
  ignore(co_await client::delete_topic(*client_, std::move(name)));
}

const MetadataImage& ClusterScenario::stored() {
  store_.look(cluster_.coordination().state());
  return store_.image();
}

const PartitionState& ClusterScenario::stored(const std::string& topic, int32_t partition) {
  return *stored().find_topic(std::string_view(topic))->partition(PartitionIndex(partition));
}

bool ClusterScenario::leads(BrokerId id, const std::string& topic, int32_t partition) {
  if (id == kNoBroker || !broker(id).running()) return false;
  const HostedPartition hosted = broker(id).broker().partitions().find(topic, PartitionIndex(partition));
  return hosted && hosted.partition->is_leader();
}

bool ClusterScenario::in_sync(BrokerId id, const std::string& topic, int32_t partition) {
  const auto& isr = stored(topic, partition).isr;
  return std::ranges::find(isr, id) != isr.end();
}

void ClusterScenario::start_producing(std::string topic) {
  producing_ = true;
  background_.spawn(produce(std::move(topic)));
}

Task<void> ClusterScenario::stop_producing() {
  producing_ = false;
  return background_.join();
}

Task<void> ClusterScenario::produce(std::string topic) {
  client::Producer producer(*client_, {.batches = {.linger = 0ms}}, [this](const client::Delivery& delivery) {
    (delivery.status.ok() ? delivered_ : failed_) += delivery.records;
  });
  for (int i = 0; producing_; ++i) {
    const std::string value = std::to_string(i);
    const Status sent = co_await producer.send(topic, PartitionIndex(0),
                                               {.timestamp = seams().clock.wall_now_ms(), .value = as_bytes(value)});
    if (!sent.ok()) ++failed_;
    co_await pause(kBetweenRecords);
  }
  co_await producer.flush();
  co_await producer.close();
}

Task<std::vector<std::string>> ClusterScenario::read_all(std::string topic, int32_t partition) {
  std::vector<std::string> values;
  const client::TopicPartition name{topic, PartitionIndex(partition)};
  const auto ends = co_await client::list_offsets(*client_, {name}, client::kLatest);
  if (!ends) ADD_FAILURE() << ends.error().to_string();
  if (!ends) co_return values;
  const Offset end = ends->at(name).offset;
  client::Consumer consumer(*client_, {});
  consumer.seek(name, Offset(0));
  while (!consumer.positions().empty()) {
    const auto fetched = co_await consumer.poll({});
    const Status problem = !fetched ? fetched.error() : fetched->empty() ? Status() : fetched->front().status;
    if (!problem.ok()) {
      ADD_FAILURE() << problem.to_string();
      break;
    }
    if (fetched->empty()) continue;
    const auto next = client::visit_records(fetched->front().records.bytes(), fetched->front().position,
                                            [&](const RecordView& record) {
                                              values.emplace_back(as_text(*record.value));
                                              return true;
                                            });
    if (!next) ADD_FAILURE() << next.error().to_string();
    if (!next || *next >= end) break;
    consumer.seek(name, *next);
  }
  co_await consumer.close();
  co_return values;
}

}  // namespace naru::simulation
