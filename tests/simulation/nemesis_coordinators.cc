// What coordinators have to withstand, and chance alone would hardly bring about.
#include <algorithm>
#include <utility>

#include "async/task_group.h"
#include "broker/hosted_partitions.h"
#include "kafka_protocol/messages/add_partitions_to_txn_request.h"
#include "kafka_protocol/messages/add_partitions_to_txn_response.h"
#include "kafka_protocol/messages/create_topics_request.h"
#include "kafka_protocol/messages/create_topics_response.h"
#include "kafka_protocol/messages/end_txn_request.h"
#include "kafka_protocol/messages/end_txn_response.h"
#include "kafka_protocol/messages/find_coordinator_request.h"
#include "kafka_protocol/messages/find_coordinator_response.h"
#include "kafka_protocol/messages/init_producer_id_request.h"
#include "kafka_protocol/messages/init_producer_id_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "kafka_protocol/messages/write_txn_markers_request.h"
#include "kafka_protocol/messages/write_txn_markers_response.h"
#include "record_format/batch_builder.h"
#include "simulation/nemesis.h"
#include "simulation/workload.h"

namespace naru::simulation {
namespace {

// Of transactions, those that clients of version 1 speak.
constexpr int16_t kCreateTopicsVersion = 7, kFindCoordinatorVersion = 4, kInitProducerIdVersion = 4,
                  kAddPartitionsVersion = 3, kProduceVersion = 9, kMarkersVersion = 1, kEndVersion = 3;
constexpr int8_t kOfTransactions = 1;
constexpr int kTries = 20;
constexpr Duration kCallTimeout = 10s;
// As old as the batches of other clients.
constexpr int64_t kAgeMs = 24 * 3'600'000;

}  // namespace

// --- A leader that leads again ---------------------------------------------------------------------------------------

// The session of a leader ends while it is alone in the in-sync set: nobody leads until it has another one, and then it
// leads in a later epoch. It hears of both at once, and its coordinators a moment later.
Task<void> Nemesis::led_again_at_once() {
  const PartitionState* found = alone_ ? coordinated_beside_controller() : nullptr;
  if (found == nullptr) co_return;
  const PartitionState before = *found;
  const auto held = hold(before.leader);
  if (!held) co_return;
  SimulatedBroker& leader = **held;
  for (const BrokerId id : before.replicas) {
    if (id != leader.id()) network().block(host_of(id), host_of(leader.id()));
  }
  const auto is_alone = [&] { return now(before) != nullptr && now(before)->isr.size() == 1; };
  for (int tries = 0; tries < 50 && !is_alone(); ++tries) co_await pause(100ms);
  if (is_alone()) {
    network().block(host_of(controller()), host_of(leader.id()));
    parts_.cluster.coordination().expire(host_of(leader.id()));
    const auto leads_again = [&] {
      return now(before)->leader == leader.id() && now(before)->leader_epoch > before.leader_epoch;
    };
    for (int tries = 0; tries < 50 && !leads_again(); ++tries) co_await pause(100ms);
    watched_closely_ = &leader;
    network().unblock(host_of(controller()), host_of(leader.id()));
    co_await pause(1s);
    watched_closely_ = nullptr;
  }
  network().unblock_all();
}

// Of groups or transactions, and no replica of it is the controller.
const PartitionState* Nemesis::coordinated_beside_controller() const {
  std::vector<const PartitionState*> found;
  for (const TopicMetadataPtr& topic : parts_.store.image().topics()) {
    if (!topic->name.starts_with("__")) continue;
    for (const PartitionStatePtr& state : topic->partitions) {
      const bool has_controller = std::ranges::find(state->replicas, controller()) != state->replicas.end();
      if (state->leader != kNoBroker && state->replicas.size() > 1 && !has_controller) found.push_back(state.get());
    }
  }
  return found.empty() ? nullptr : found[parts_.world.random().below(found.size())];
}

// Its name; empty: it may not be there.
Task<std::string> Nemesis::create_passing_topic() {
  SimulatedBroker* at = find(controller());
  if (at == nullptr) co_return "";
  const auto client = co_await KafkaClient::connect(parts_.harness, at->address());
  if (!client) co_return "";
  const std::string name = fmt::format("{}of-nemesis-{}", kPassingTopic, ++passing_topics_);
  kafka::CreateTopicsRequest request{.timeout_ms = 1000};
  request.topics.push_back({.name = name, .num_partitions = 1, .replication_factor = -1});
  const auto created =
      co_await (*client)->call<kafka::CreateTopicsResponse>(request, kCreateTopicsVersion, kCallTimeout);
  (*client)->close();
  const bool is_there = created && created->topics.at(0).error_code == ErrorCode::none;
  co_return is_there ? name : std::string();
}

// --- A batch that comes too late -------------------------------------------------------------------------------------

// A transaction of version 1 in a topic of its own.
struct Nemesis::LoneTransaction {
  std::string id;
  std::string topic;
  PartitionState partition;
  std::shared_ptr<KafkaClient> coordinator;
  BrokerId coordinated_by = kNoBroker;
  ProducerIdentity producer;
};

// A leader asks the coordinator about a batch, and before it hears the answer an administrator ends the transaction in
// this partition. What the coordinator has said is about what is over: the batch opens nothing.
Task<void> Nemesis::ended_while_verified() {
  if (!alone_) co_return;
  LoneTransaction transaction;
  transaction.topic = co_await create_passing_topic();
  if (transaction.topic.empty() || !co_await begin_transaction(transaction)) co_return;
  const BrokerId leader = transaction.partition.leader;
  const auto held = leader == transaction.coordinated_by ? std::nullopt : hold(leader);
  if (held) {
    network().slow_down(host_of(leader), host_of(transaction.coordinated_by), 3s);
    std::optional<Offset> stored_at, ended_behind;
    TaskGroup tasks;
    const auto produce = [&]() -> Task<void> { stored_at = co_await produce_one(transaction); };
    tasks.spawn(produce());
    co_await pause(300ms);  // by now the coordinator is being asked
    ended_behind = co_await end_by_force(transaction);
    co_await tasks.join();
    network().heal_slow_links();
    if (stored_at && ended_behind && *stored_at >= *ended_behind) {
      problem_ =
          fmt::format("{}: a batch that was asked about before its transaction was ended stands behind that, at {}",
                      transaction.topic, *stored_at);
    }
  }
  co_await end_transaction(transaction);
  transaction.coordinator->close();
}

// Asks until the answer is no error, a few times; nothing: it did not become one.
template <class Response, class Request, class ErrorOf>
Task<std::optional<Response>> Nemesis::ask(std::shared_ptr<KafkaClient> client, Request request, int16_t version,
                                           ErrorOf error_of) {
  for (int tries = 0; tries < kTries; ++tries) {
    const auto response = co_await client->call<Response>(request, version, kCallTimeout);
    if (!response) co_return std::nullopt;
    if (error_of(*response) == ErrorCode::none) co_return *response;
    co_await pause(100ms);
  }
  co_return std::nullopt;
}

Task<bool> Nemesis::begin_transaction(LoneTransaction& transaction) {
  transaction.id = transaction.topic;
  SimulatedBroker* at = find(controller());
  if (at == nullptr) co_return false;
  const auto client = co_await KafkaClient::connect(parts_.harness, at->address());
  if (!client) co_return false;
  kafka::FindCoordinatorRequest find_request{.key_type = kOfTransactions};
  find_request.coordinator_keys = {transaction.id};
  const auto found = co_await ask<kafka::FindCoordinatorResponse>(
      *client, find_request, kFindCoordinatorVersion,
      [](const auto& answer) { return answer.coordinators.at(0).error_code; });
  (*client)->close();
  SimulatedBroker* coordinator = found ? find(found->coordinators.at(0).node_id) : nullptr;
  if (coordinator == nullptr) co_return false;
  transaction.coordinated_by = coordinator->id();
  auto connected = co_await KafkaClient::connect(parts_.harness, coordinator->address());
  if (!connected) co_return false;
  transaction.coordinator = std::move(*connected);

  kafka::InitProducerIdRequest init{.transaction_timeout_ms = 60'000};
  init.transactional_id = transaction.id;
  const auto producer = co_await ask<kafka::InitProducerIdResponse>(
      transaction.coordinator, init, kInitProducerIdVersion, [](const auto& answer) { return answer.error_code; });
  if (!producer) co_return false;
  transaction.producer = {.id = producer->producer_id, .epoch = producer->producer_epoch};
  kafka::AddPartitionsToTxnRequest add;
  add.transactional_id = transaction.id;
  add.producer_id = transaction.producer.id;
  add.producer_epoch = transaction.producer.epoch;
  add.topics.push_back({.name = transaction.topic, .partitions = {PartitionIndex(0)}});
  const auto added = co_await ask<kafka::AddPartitionsToTxnResponse>(
      transaction.coordinator, add, kAddPartitionsVersion,
      [](const auto& answer) { return answer.results_by_topic.at(0).results_by_partition.at(0).partition_error_code; });
  const auto topics = parts_.store.image().topics();
  const auto topic = std::ranges::find(topics, transaction.topic, [](const auto& one) { return one->name; });
  if (!added || topic == topics.end() || (*topic)->partition(PartitionIndex(0)) == nullptr) co_return false;
  transaction.partition = *(*topic)->partition(PartitionIndex(0));
  co_return true;
}

// Where it is stored; nothing: it is not, as far as is known.
Task<std::optional<Offset>> Nemesis::produce_one(const LoneTransaction& transaction) {
  const auto client = co_await KafkaClient::connect(parts_.harness, find(transaction.partition.leader)->address());
  if (!client) co_return std::nullopt;
  BatchBuilder builder({.transactional = true,
                        .producer_id = transaction.producer.id,
                        .producer_epoch = transaction.producer.epoch,
                        .base_sequence = 0});
  builder.add(parts_.harness.clock.wall_now_ms() - kAgeMs, "key", "late");
  const Bytes batch = builder.build().value();
  kafka::ProduceRequest request{.acks = -1, .timeout_ms = 8000};
  request.transactional_id = transaction.id;
  request.topic_data.push_back({.name = transaction.topic});
  request.topic_data.back().partition_data.push_back({.index = PartitionIndex(0), .records = batch});
  const auto response = co_await (*client)->call<kafka::ProduceResponse>(request, kProduceVersion, kCallTimeout);
  (*client)->close();
  if (!response) co_return std::nullopt;
  const auto& answer = response->responses.at(0).partition_responses.at(0);
  co_return answer.error_code == ErrorCode::none ? std::optional(answer.base_offset) : std::nullopt;
}

// Without the number of a transaction, as other tools do. Where the log ends with the marker in it.
Task<std::optional<Offset>> Nemesis::end_by_force(const LoneTransaction& transaction) {
  SimulatedBroker& leader = *find(transaction.partition.leader);
  const auto client = co_await KafkaClient::connect(parts_.harness, leader.address());
  if (!client) co_return std::nullopt;
  kafka::WriteTxnMarkersRequest request;
  auto& marker = request.markers.emplace_back();
  marker.producer_id = transaction.producer.id;
  marker.producer_epoch = transaction.producer.epoch;
  marker.topics.push_back({.name = transaction.topic, .partition_indexes = {PartitionIndex(0)}});
  const auto response =
      co_await (*client)->call<kafka::WriteTxnMarkersResponse>(request, kMarkersVersion, kCallTimeout);
  (*client)->close();
  const bool ended = response && response->markers.at(0).topics.at(0).partitions.at(0).error_code == ErrorCode::none;
  if (!ended || !leader.running()) co_return std::nullopt;
  const auto hosted = leader.broker().partitions().find(transaction.partition.topic_id, PartitionIndex(0)).partition;
  if (!hosted) co_return std::nullopt;
  const PartitionView view = co_await hosted->look(kNoLeaderEpoch);
  co_return view.status.ok() ? std::optional(view.log_end_offset) : std::nullopt;
}

Task<void> Nemesis::end_transaction(const LoneTransaction& transaction) {
  kafka::EndTxnRequest request{.committed = false};
  request.transactional_id = transaction.id;
  request.producer_id = transaction.producer.id;
  request.producer_epoch = transaction.producer.epoch;
  static_cast<void>(co_await ask<kafka::EndTxnResponse>(transaction.coordinator, request, kEndVersion,
                                                        [](const auto& answer) { return answer.error_code; }));
}

}  // namespace naru::simulation
