#include "fuzzing/fuzz_world.h"

#include <ctime>

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "foundation/assert.h"
#include "foundation/log.h"
#include "fuzzing/fuzz_request.h"
#include "fuzzing/heap_meter.h"
#include "kafka_protocol/messages/create_topics_request.h"
#include "kafka_protocol/messages/create_topics_response.h"
#include "kafka_protocol/messages/find_coordinator_request.h"
#include "kafka_protocol/messages/find_coordinator_response.h"
#include "kafka_protocol/messages/init_producer_id_request.h"
#include "kafka_protocol/messages/init_producer_id_response.h"
#include "kafka_protocol/messages/offset_commit_request.h"
#include "kafka_protocol/messages/offset_commit_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "record_format/batch_builder.h"

namespace naru::fuzzing {
namespace {

using simulation::KafkaClient;
using simulation::SimulatedBroker;

// Of one turn of a loop, in processor time. Sanitizers make everything slower.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr Duration kEventMax = 2s;
#else
constexpr Duration kEventMax = 100ms;
#endif
constexpr uint64_t kHeapSlack = 80 << 20;  // what the network holds is part of it
constexpr uint64_t kCopiesOnDisks = 4;     // the cached and the durable bytes, and what they grow by
constexpr uint64_t kFileLimit = 256, kFilesMax = kFileLimit / 8 * 7;
constexpr Duration kStopMax = 20s;
// Joins wait for other members, for as long as the longest session of one that does not come.
constexpr Duration kLeftoversMax = 60s;
constexpr Duration kLong = 600s;
constexpr uint64_t kStepsBetweenLooks = 256;
constexpr uint64_t kStepsBetweenLooksAtState = 4096;  // these cost more

BrokerConfig broker_config(int number, int brokers, const FuzzPlan& plan) {
  ConfigOverrides values{{"log.dirs", "/data"},
                         {"node.id", fmt::format("{}", number)},
                         {"listeners", fmt::format("PLAINTEXT://broker-{}:{}", number, SimulatedBroker::kPort)},
                         {"naru.admin.listener", ""},
                         {"naru.memory.budget.bytes", fmt::format("{}", plan.memory_budget())},
                         {"socket.request.max.bytes", fmt::format("{}", 16 << 20)},
                         {"naru.max.decompressed.bytes", fmt::format("{}", 4 << 20)},
                         {"default.replication.factor", fmt::format("{}", brokers)},
                         {"offsets.topic.num.partitions", plan.groups() > 0 ? "1" : "3"},
                         {"transaction.state.log.num.partitions", "3"},
                         {"offsets.topic.segment.bytes", "65536"},
                         {"transaction.state.log.segment.bytes", "65536"},
                         {"group.initial.rebalance.delay.ms", "20"},
                         {"group.max.session.timeout.ms", "30000"},
                         {"group.consumer.session.timeout.ms", "15000"},
                         {"transaction.max.timeout.ms", "60000"},
                         {"max.incremental.fetch.session.cache.slots", "50"},
                         {"log.cleaner.backoff.ms", "1000"},
                         {"naru.journal.bytes", "1048576"}};
  if (brokers > 1) {
    values.emplace("naru.coordination.session.timeout.ms", "1500");
    values.emplace("replica.lag.time.max.ms", "1500");
  }
  auto config = make_broker_config(values);
  NARU_ASSERT(config, "the configuration is wrong: {}", config.error().to_string());
  return std::move(*config);
}

Duration processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

FuzzWorld::FuzzWorld(uint64_t seed, int brokers, const FuzzPlan& plan, Problems& problems, FuzzReport& report)
    : plan_(plan),
      problems_(problems),
      report_(report),
      world_(seed),
      harness_(world_.add_node("harness").start()),
      coordination_(world_) {
  for (int number = 1; number <= brokers; ++number) {
    SimulatedNode& node = world_.add_node(fmt::format("broker-{}", number));
    node.disk().set_open_file_limit(kFileLimit);
    brokers_.push_back(std::make_unique<SimulatedBroker>(node, seams(), broker_config(number, brokers, plan),
                                                         brokers == 1 ? nullptr : &coordination_));
  }
}

FuzzWorld::~FuzzWorld() = default;

SimulatedBroker* FuzzWorld::find(BrokerId id) {
  const auto found = std::ranges::find(brokers_, id, [](const auto& broker) { return broker->id(); });
  return found == brokers_.end() ? nullptr : found->get();
}

void FuzzWorld::begin() {
  heap_at_rest_ = heap_bytes();
  forget_heap_peak();
  run_task(start_brokers(), kLong);
  run_task(make_topics(), kLong);
  run_task(write_records(), kLong);
  if (plan_.crowd > 0) run_task(make_crowd(plan_.crowd), kLong);
  if (plan_.groups() > 0) run_task(make_groups(plan_.groups()), kLong);
  heap_at_rest_ = heap_bytes();
}

void FuzzWorld::end() {
  run_until([this] { return !is_restarting(); }, kLong);
  run_task(stop_brokers(), kLong);
  report_.events += world_.events_run();
  report_.virtual_time += world_.now() - MonotonicTime(1000s);
}

Task<void> FuzzWorld::start_brokers() {
  TaskGroup starts;
  for (const auto& broker : brokers_) starts.spawn(broker->start());
  co_await starts.join();
}

Task<void> FuzzWorld::make_topics() {
  const auto client = co_await KafkaClient::connect(seams(), brokers_.front()->address());
  NARU_ASSERT(client, "no connection: {}", client.error().to_string());
  kafka::CreateTopicsRequest request{.timeout_ms = 30'000};
  const auto add = [&](std::string_view name, int32_t partitions) -> auto& {
    auto& topic = request.topics.emplace_back();
    topic.name = name;
    topic.num_partitions = partitions;
    topic.replication_factor = -1;
    return topic.configs;
  };
  add("orders", 4);
  add("empty", 2);
  auto& compacted = add("compacted", 2);
  compacted.push_back({.name = "cleanup.policy", .value = "compact"});
  compacted.push_back({.name = "segment.bytes", .value = "4096"});
  add("segmented", 8).push_back({.name = "segment.bytes", .value = "100"});
  constexpr int16_t kVersion = 7;
  const auto made = co_await (*client)->call<kafka::CreateTopicsResponse>(request, kVersion, 60s);
  NARU_ASSERT(made, "the topics were not made: {}", made.error().to_string());
  (*client)->close();
  ignore(co_await sleep_until(seams().scheduler, seams().clock.now() + 2s));  // until everybody knows them
}

Task<void> FuzzWorld::write_records() {
  co_await write("orders", 2, 20);
  co_await write("compacted", 2, 20);
  co_await write("segmented", 8, 40);  // each record in a file of its own
}

// To all of them: only the leaders take it.
Task<void> FuzzWorld::write(std::string topic, int32_t partitions, int count) {
  for (const auto& broker : brokers_) {
    const auto client = co_await KafkaClient::connect(seams(), broker->address());
    NARU_ASSERT(client, "no connection: {}", client.error().to_string());
    for (int i = 0; i < count; ++i) {
      BatchBuilder builder;
      const std::string key = std::to_string(i % 10);
      builder.add(seams().clock.wall_now_ms(), key, "value");
      const Bytes batch = builder.build().value();
      kafka::ProduceRequest request{.acks = -1, .timeout_ms = 5'000};
      auto& data = request.topic_data.emplace_back();
      data.name = topic;
      for (int32_t partition = 0; partition < partitions; ++partition) {
        data.partition_data.push_back({.index = PartitionIndex(partition), .records = BytesView(batch)});
      }
      constexpr int16_t kVersion = 9;
      const auto written = co_await (*client)->call<kafka::ProduceResponse>(request, kVersion, 30s);
      NARU_ASSERT(written, "no records in {}: {}", topic, written.error().to_string());
      for (const auto& partition : written->responses.front().partition_responses) {
        const bool taken = partition.error_code == ErrorCode::none;
        NARU_ASSERT(taken || brokers_.size() > 1, "no records in {}: error {}", topic,
                    static_cast<int>(partition.error_code));
      }
    }
    (*client)->close();
  }
}

Task<void> FuzzWorld::make_crowd(size_t count) {
  constexpr int kTries = 300;
  std::vector<std::shared_ptr<KafkaClient>> clients;
  for (const auto& broker : brokers_) {
    auto client = co_await KafkaClient::connect(seams(), broker->address());
    NARU_ASSERT(client, "no connection: {}", client.error().to_string());
    clients.push_back(std::move(*client));
  }
  for (size_t i = 0; i < count; ++i) {
    const std::string id = fmt::format("crowd-{}", i);
    bool made = false;
    for (int tries = 0; !made && tries < kTries; ++tries) {
      KafkaClient& client = *clients[static_cast<size_t>(tries) % clients.size()];
      // The first one makes the topic of the coordinators.
      if (i == 0) {
        kafka::FindCoordinatorRequest find{.key_type = 1};
        find.coordinator_keys.push_back(id);
        const auto found = co_await client.call<kafka::FindCoordinatorResponse>(find, 4, 30s);
        NARU_ASSERT(found, "no coordinator: {}", found.error().to_string());
        ignore(co_await sleep_until(seams().scheduler, seams().clock.now() + 100ms));
      }
      const kafka::InitProducerIdRequest request{.transactional_id = id, .transaction_timeout_ms = 60'000};
      const auto answer = co_await client.call<kafka::InitProducerIdResponse>(request, 4, 30s);
      made = answer && answer->error_code == ErrorCode::none;
    }
    NARU_ASSERT(made, "{} was not made", id);
  }
  for (const auto& client : clients) client->close();
}

Task<void> FuzzWorld::make_groups(size_t count) {
  constexpr size_t kClients = 50;
  const auto client = co_await KafkaClient::connect(seams(), brokers_.front()->address());
  NARU_ASSERT(client, "no connection: {}", client.error().to_string());
  kafka::FindCoordinatorRequest find{.key_type = 0};
  find.coordinator_keys.push_back("group");
  const auto found = co_await (*client)->call<kafka::FindCoordinatorResponse>(find, 4, 30s);
  NARU_ASSERT(found, "no coordinator: {}", found.error().to_string());
  (*client)->close();
  TaskGroup clients;
  const size_t each = (count + kClients - 1) / kClients;
  for (size_t first = 0; first < count; first += each) {
    clients.spawn(make_groups_between(first, std::min(first + each, count)));
  }
  co_await clients.join();
}

// Groups that have committed one offset.
Task<void> FuzzWorld::make_groups_between(size_t first, size_t end) {
  constexpr int16_t kVersion = 8;
  const auto client = co_await KafkaClient::connect(seams(), brokers_.front()->address());
  NARU_ASSERT(client, "no connection: {}", client.error().to_string());
  for (size_t i = first; i < end;) {
    const std::string id = fmt::format("group-{}", i);
    kafka::OffsetCommitRequest request{.group_id = id};
    auto& topic = request.topics.emplace_back();
    topic.name = "empty";
    topic.partitions.push_back({.partition_index = PartitionIndex(0), .committed_offset = Offset(0)});
    const auto answer = co_await (*client)->call<kafka::OffsetCommitResponse>(request, kVersion, 60s);
    NARU_ASSERT(answer, "{} was not made: {}", id, answer.error().to_string());
    const bool made = answer->topics.front().partitions.front().error_code == ErrorCode::none;
    // Else the coordinator is loading still.
    if (made) {
      ++i;
    } else {
      ignore(co_await sleep_until(seams().scheduler, seams().clock.now() + 10ms));
    }
  }
  (*client)->close();
}

void FuzzWorld::step() {
  const Duration before = processor_time();
  const uint64_t jobs_before = world_.queue().blocking_jobs_run();
  world_.step();
  // Blocking work has threads of its own in a real broker, and one that has stopped is taken down in one piece.
  if (world_.queue().blocking_jobs_run() == jobs_before && !all_stopped_) {
    const Duration took = processor_time() - before;
    report_.longest_event = std::max(report_.longest_event, took);
    if (took > kEventMax) {
      problems_.report(Demand::events,
                       fmt::format("one turn of a loop took {:.0f} ms of processor time, {} ms are allowed",
                                   static_cast<double>(took.count()) / 1e6, kEventMax / 1ms));
    }
  }
  if (heap_peak() > heap_limit() || ++steps_ % kStepsBetweenLooks == 0) check_use();
  if (steps_ % kStepsBetweenLooksAtState == 0) check_state();
}

uint64_t FuzzWorld::heap_limit() const {
  return heap_at_rest_ + brokers_.size() * plan_.memory_budget() + kCopiesOnDisks * bytes_on_disks_ + kHeapSlack +
         FuzzRequest::all_heap_bytes();
}

uint64_t FuzzWorld::bytes_on_disks() {
  uint64_t bytes = 0;
  for (const auto& broker : brokers_) {
    const auto space = broker->node().disk().space("/");
    if (space) bytes += space->total_bytes - space->free_bytes;
  }
  return bytes;
}

void FuzzWorld::check_use() {
  const uint64_t peak = heap_peak();
  forget_heap_peak();
  report_.heap_peak = std::max(report_.heap_peak, peak);
  if (peak > heap_limit()) bytes_on_disks_ = bytes_on_disks();
  if (peak > heap_limit()) {
    problems_.report(Demand::memory,
                     fmt::format("{:.0f} MB of heap are in use, {:.0f} MB are allowed", static_cast<double>(peak) / 1e6,
                                 static_cast<double>(heap_limit()) / 1e6));
  }
  for (const auto& broker : brokers_) {
    const uint64_t open = broker->node().disk().open_files();
    report_.files_peak = std::max(report_.files_peak, open);
    if (open > kFilesMax) {
      problems_.report(Demand::files,
                       fmt::format("{} has {} files open, {} are allowed", broker->node().host(), open, kFilesMax));
    }
  }
}

void FuzzWorld::run_for(Duration length) {
  const MonotonicTime end = world_.now() + length;
  while (world_.queue().next_event().value_or(MonotonicTime::max()) <= end) step();
  world_.queue().advance_to(end);
}

bool FuzzWorld::run_until(const std::function<bool()>& done, Duration limit) {
  const MonotonicTime end = world_.now() + limit;
  while (!done()) {
    if (world_.queue().next_event().value_or(MonotonicTime::max()) > end) return false;
    step();
  }
  return true;
}

void FuzzWorld::run_task(Task<void> task, Duration limit) {
  TaskGroup group;
  group.spawn(std::move(task));
  NARU_ASSERT(run_until([&group] { return group.running() == 0; }, limit), "a task has not ended in {} s", limit / 1s);
}

void FuzzWorld::restart_one() {
  SimulatedBroker& broker = *brokers_[world_.random().below(brokers_.size())];
  ++report_.restarts;
  background_.spawn(restart(broker, world_.random().one_in(2)));
}

Task<void> FuzzWorld::restart(SimulatedBroker& broker, bool cleanly) {
  if (cleanly) {
    co_await stop(broker);
  } else {
    broker.kill();
  }
  ignore(co_await sleep_until(seams().scheduler, seams().clock.now() + 10ms));
  co_await broker.start();
  // The simulation keeps what is left of a dead broker. Of many, that would be more than what the living one may take.
  co_await broker.wait_for_remains();
}

Task<void> FuzzWorld::stop(SimulatedBroker& broker) {
  const MonotonicTime begun = world_.now();
  const Status stopped = co_await broker.stop_cleanly();
  const Duration took = world_.now() - begun;
  report_.longest_stop = std::max(report_.longest_stop, took);
  if (!stopped.ok()) {
    problems_.report(Demand::stop,
                     fmt::format("{} did not stop cleanly: {}", broker.node().host(), stopped.to_string()));
  }
  if (took > kStopMax) {
    problems_.report(Demand::stop, fmt::format("{} took {:.1f} s to stop, {} s are allowed", broker.node().host(),
                                               static_cast<double>(took.count()) / 1e9, kStopMax / 1s));
  }
}

Task<void> FuzzWorld::stop_brokers() {
  for (const auto& broker : brokers_) co_await stop(*broker);
  all_stopped_ = true;
  for (const auto& broker : brokers_) co_await broker->wait_for_remains();
}

uint64_t FuzzWorld::metric(SimulatedBroker& broker, std::string_view name) {
  const std::string text = broker.metrics().render_prometheus();
  const size_t found = text.find(fmt::format("{} ", name));
  NARU_ASSERT(found != std::string::npos, "there is no metric {}", name);
  uint64_t value = 0;
  std::from_chars(text.data() + found + name.size() + 1, text.data() + text.size(), value);
  return value;
}

uint64_t FuzzWorld::memory_used(SimulatedBroker& broker) {
  uint64_t bytes = 0;
  for (const std::string_view account : {"request_bodies", "decoded_requests", "decompression", "responses"}) {
    bytes += metric(broker, fmt::format("naru_memory_used_bytes{{account=\"{}\"}}", account));
  }
  return bytes;
}

// A connection that is closed because its answer cannot be encoded looks to the client like one of a bad request.
void FuzzWorld::check_answers() {
  for (const auto& broker : brokers_) {
    if (!broker->running()) continue;
    const uint64_t closed = metric(*broker, "naru_connections_closed_total{reason=\"no_answer\"}");
    if (closed == 0) continue;
    problems_.report(Demand::answers, fmt::format("{} closed {} connections because it could not encode its answer",
                                                  broker->node().host(), closed));
  }
}

// Groups and transactions may have a quarter of the budget, and small ones as much again (StateMemory); what is on its
// way into them is not counted yet.
void FuzzWorld::check_state() {
  const uint64_t most = state_max();
  for (const auto& broker : brokers_) {
    if (!broker->running()) continue;
    const uint64_t state = metric(*broker, "naru_memory_used_bytes{account=\"coordinator_state\"}");
    report_.state_peak = std::max(report_.state_peak, state);
    if (state <= most) continue;
    problems_.report(Demand::memory, fmt::format("{} holds {} bytes of groups and transactions, {} are allowed",
                                                 broker->node().host(), state, most));
  }
}

void FuzzWorld::check_leftovers() {
  check_state();
  // Brokers ask each other all the time, in requests that are small.
  const uint64_t allowed = brokers_.size() == 1 ? 0 : 256 << 10;
  const auto too_much = [&](const std::unique_ptr<SimulatedBroker>& broker) {
    return broker->running() && memory_used(*broker) > allowed;
  };
  for (Duration waited{}; waited < kLeftoversMax && std::ranges::any_of(brokers_, too_much); waited += 1s) run_for(1s);
  for (const auto& broker : brokers_) {
    if (!too_much(broker)) continue;
    problems_.report(Demand::memory,
                     fmt::format("{} holds {} bytes of the memory budget for clients that have left, {} are allowed",
                                 broker->node().host(), memory_used(*broker), allowed));
  }
  check_use();
  check_answers();
}

}  // namespace naru::fuzzing
