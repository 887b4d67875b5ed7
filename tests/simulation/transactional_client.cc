#include "simulation/transactional_client.h"

#include <algorithm>
#include <utility>

#include "kafka_protocol/messages/add_offsets_to_txn_request.h"
#include "kafka_protocol/messages/add_offsets_to_txn_response.h"
#include "kafka_protocol/messages/add_partitions_to_txn_request.h"
#include "kafka_protocol/messages/add_partitions_to_txn_response.h"
#include "kafka_protocol/messages/end_txn_request.h"
#include "kafka_protocol/messages/end_txn_response.h"
#include "kafka_protocol/messages/init_producer_id_request.h"
#include "kafka_protocol/messages/init_producer_id_response.h"
#include "kafka_protocol/messages/offset_fetch_request.h"
#include "kafka_protocol/messages/offset_fetch_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "kafka_protocol/messages/txn_offset_commit_request.h"
#include "kafka_protocol/messages/txn_offset_commit_response.h"
#include "log_storage/producer_state.h"
#include "record_format/batch_builder.h"

namespace naru::simulation {
namespace {

constexpr Duration kCallTimeout = 20s;
constexpr int kMaxTries = 100;
constexpr Duration kLongestHold = 1500ms;
constexpr int32_t kProduceTimeoutMs = 10'000;
constexpr int16_t kInitProducerIdVersion = 4, kAddPartitionsVersion = 3, kAddOffsetsVersion = 3,
                  kFetchOffsetsVersion = 7;
// So old that a broker whose clock was set back does not find it in its future.
constexpr int64_t kAgeMs = 24 * 3'600'000;

constexpr int16_t end_version(int16_t transactions) {
  return transactions == 1 ? 3 : 5;
}
constexpr int16_t commit_offsets_version(int16_t transactions) {
  return transactions == 1 ? 3 : 5;
}

}  // namespace

// ---- connections

Task<void> TransactionalClient::pause(Duration longest) {
  const Duration length(static_cast<int64_t>(1 + seams_.random.below(static_cast<uint64_t>(longest.count()))));
  ignore(co_await sleep_until(seams_.scheduler, seams_.clock.now() + length));
}

Task<TransactionalClient::Client> TransactionalClient::connect(Target target) {
  Client client = connections_[target];
  if (client && client->broken()) client = nullptr;
  switch (target.kind) {
    case Target::Kind::transactions:
      if (!client) {
        client = co_await brokers_.coordinator(settings_.transactional_id, BrokerDirectory::Coordinates::transactions);
      }
      break;
    case Target::Kind::group:
      if (!client) client = co_await brokers_.coordinator(target.group);
      break;
    case Target::Kind::leader:
      client = co_await brokers_.leader(target.partition, client);
      break;
  }
  connections_[target] = client;
  co_return client;
}

void TransactionalClient::drop(const Target& target) {
  if (const Client client = std::exchange(connections_[target], nullptr)) client->close();
}

// A hasty one does not wait for the answer, and asks again at once.
Duration TransactionalClient::patience() {
  const bool is_hasty = !settings_.is_calm && seams_.random.one_in(12);
  return is_hasty ? Duration(static_cast<int64_t>(1 + seams_.random.below(20'000'000))) : kCallTimeout;
}

bool TransactionalClient::holds_this_one() {
  return !settings_.is_calm && seams_.random.one_in(12);
}

// The connection was there before the client turned to another one; what was sent over it was on its way for long.
Task<void> TransactionalClient::deliver_late(Client client, Bytes frame) {
  co_await pause(kLongestHold);
  client->write(std::move(frame));
  co_await pause(100ms);
  client->close();
}

template <class Response, class Request, class ErrorOf>
Task<std::optional<Response>> TransactionalClient::ask(Target target, Request request, int16_t version,
                                                       ErrorOf error_of) {
  for (int tries = 0; tries < kMaxTries && !is_over_(); ++tries) {
    const Client client = co_await connect(target);
    if (!client) {
      last_error_ = ErrorCode::network_exception;
      co_await pause(200ms);
      continue;
    }
    if (holds_this_one()) {
      connections_.erase(target);
      late_.spawn(deliver_late(client, kafka::encode_request_frame(request, version, 0, "simulation").bytes));
      continue;
    }
    const auto response = co_await client->template call<Response>(request, version, patience());
    last_error_ = response ? error_of(*response) : ErrorCode::network_exception;
    if (response && (last_error_ == ErrorCode::none || !describe(last_error_).retriable)) co_return *response;
    // What is in the way may be gone in a moment; the same connection is as good as any other then.
    if (!response || last_error_ != ErrorCode::concurrent_transactions) drop(target);
    co_await pause(100ms);
  }
  co_return std::nullopt;
}

Task<void> TransactionalClient::close() {
  for (const auto& [target, client] : connections_) {
    if (client) client->close();
  }
  co_await late_.join();
}

// ---- the producer

void TransactionalClient::become(const ProducerIdentity& producer) {
  if (producer_ != producer) next_sequence_.clear();
  producer_ = producer;
}

bool TransactionalClient::went_well(ErrorCode error) {
  last_error_ = error;
  return error == ErrorCode::none;
}

Task<bool> TransactionalClient::begin() {
  kafka::InitProducerIdRequest request;
  request.transactional_id = settings_.transactional_id;
  request.transaction_timeout_ms = settings_.timeout_ms;
  // One that was there before says who it is, and is not given what somebody else has become since.
  if (producer_.id != kNoProducerId) {
    request.producer_id = producer_.id;
    request.producer_epoch = producer_.epoch;
  }
  const auto response = co_await ask<kafka::InitProducerIdResponse>(
      {.kind = Target::Kind::transactions, .group = {}, .partition = {}}, request, kInitProducerIdVersion,
      [](const auto& answer) { return answer.error_code; });
  if (!response || !went_well(response->error_code)) co_return false;
  become({response->producer_id, response->producer_epoch});
  added_.clear();
  has_given_up_ = false;
  co_return true;
}

Task<bool> TransactionalClient::end(bool commit) {
  kafka::EndTxnRequest request;
  request.transactional_id = settings_.transactional_id;
  request.producer_id = producer_.id;
  request.producer_epoch = producer_.epoch;
  request.committed = commit;
  const auto response = co_await ask<kafka::EndTxnResponse>(
      {.kind = Target::Kind::transactions, .group = {}, .partition = {}}, request, end_version(settings_.version),
      [](const auto& answer) { return answer.error_code; });
  if (!response || !went_well(response->error_code)) co_return false;
  added_.clear();
  if (!is_first_version()) become({response->producer_id, response->producer_epoch});
  // In version 1 the next transaction has the same epoch, and a batch that was given up has a sequence number in it.
  if (is_first_version() && has_given_up_) co_return co_await begin();
  has_given_up_ = false;
  co_return true;
}

// ---- records

int16_t TransactionalClient::produce_version() const {
  return is_first_version() ? 9 : 12;
}

Task<bool> TransactionalClient::add_partition(PartitionName partition) {
  if (!is_first_version() || std::ranges::find(added_, partition) != added_.end()) co_return true;
  kafka::AddPartitionsToTxnRequest request;
  request.transactional_id = settings_.transactional_id;
  request.producer_id = producer_.id;
  request.producer_epoch = producer_.epoch;
  request.topics.push_back({.name = partition.first, .partitions = {partition.second}});
  const auto error_of = [](const kafka::AddPartitionsToTxnResponse& answer) {
    return answer.results_by_topic.at(0).results_by_partition.at(0).partition_error_code;
  };
  const auto response = co_await ask<kafka::AddPartitionsToTxnResponse>(
      {.kind = Target::Kind::transactions, .group = {}, .partition = {}}, request, kAddPartitionsVersion, error_of);
  if (!response || !went_well(error_of(*response))) co_return false;
  added_.push_back(partition);
  co_return true;
}

TransactionalClient::Batch TransactionalClient::next_batch(const PartitionName& partition, const Records& records) {
  int32_t& sequence = next_sequence_[partition];
  BatchBuilder builder({.transactional = true,
                        .producer_id = producer_.id,
                        .producer_epoch = producer_.epoch,
                        .base_sequence = sequence});
  for (const auto& [key, value] : records) builder.add(seams_.clock.wall_now_ms() - kAgeMs, key, value);
  sequence = sequence_after(sequence, static_cast<int32_t>(records.size()));
  return {.bytes = builder.build().value()};
}

Task<bool> TransactionalClient::write(PartitionName partition, std::vector<Records> batches) {
  if (!co_await add_partition(partition)) co_return false;
  std::vector<Batch> window;
  for (const Records& records : batches) window.push_back(next_batch(partition, records));
  for (int tries = 0; tries < kMaxTries && !is_over_(); ++tries) {
    co_await attempt(partition, window);
    const auto first = std::ranges::find(window, false, &Batch::stored);
    if (first == window.end()) co_return true;
    last_error_ = first->error;
    if (first->error != ErrorCode::none && !describe(first->error).retriable) break;
    co_await pause(100ms);
  }
  has_given_up_ = true;
  co_return false;
}

Bytes TransactionalClient::produce_frame(const PartitionName& partition, const Batch& batch) const {
  kafka::ProduceRequest request{.acks = -1, .timeout_ms = kProduceTimeoutMs};
  request.transactional_id = settings_.transactional_id;
  request.topic_data.push_back({.name = partition.first});
  request.topic_data.back().partition_data.push_back({.index = partition.second, .records = batch.bytes});
  return kafka::encode_request_frame(request, produce_version(), 0, "simulation").bytes;
}

Task<void> TransactionalClient::attempt(PartitionName partition, std::vector<Batch>& batches) {
  const Target target{.kind = Target::Kind::leader, .group = {}, .partition = partition};
  const Client client = co_await connect(target);
  if (!client) co_return;
  if (holds_this_one()) {
    connections_.erase(target);
    late_.spawn(deliver_late(client, produce_frame(partition, *std::ranges::find(batches, false, &Batch::stored))));
    co_return;
  }
  TaskGroup answers;
  for (Batch& batch : batches) {
    if (!batch.stored) answers.spawn(send(client, partition, batch));
  }
  co_await answers.join();
  if (!std::ranges::all_of(batches, &Batch::stored)) drop(target);
}

Task<void> TransactionalClient::send(Client client, PartitionName partition, Batch& batch) {
  kafka::ProduceRequest request{.acks = -1, .timeout_ms = kProduceTimeoutMs};
  request.transactional_id = settings_.transactional_id;
  request.topic_data.push_back({.name = partition.first});
  request.topic_data.back().partition_data.push_back({.index = partition.second, .records = batch.bytes});
  const auto response = co_await client->call<kafka::ProduceResponse>(request, produce_version(), patience());
  batch.error =
      response ? response->responses.at(0).partition_responses.at(0).error_code : ErrorCode::network_exception;
  batch.stored = batch.error == ErrorCode::none;
  if (batch.error == ErrorCode::not_leader_or_follower) brokers_.forget(partition);
}

Task<void> TransactionalClient::write_and_give_up(PartitionName partition, Records records) {
  has_given_up_ = true;
  if (!co_await add_partition(partition)) co_return;
  const Target target{.kind = Target::Kind::leader, .group = {}, .partition = partition};
  const Client client = co_await connect(target);
  if (!client) co_return;
  connections_.erase(target);
  late_.spawn(deliver_late(client, produce_frame(partition, next_batch(partition, records))));
}

// ---- positions

Task<bool> TransactionalClient::add_group(std::string group) {
  if (!is_first_version()) co_return true;
  kafka::AddOffsetsToTxnRequest request;
  request.transactional_id = settings_.transactional_id;
  request.producer_id = producer_.id;
  request.producer_epoch = producer_.epoch;
  request.group_id = group;
  const auto response = co_await ask<kafka::AddOffsetsToTxnResponse>(
      {.kind = Target::Kind::transactions, .group = {}, .partition = {}}, request, kAddOffsetsVersion,
      [](const auto& answer) { return answer.error_code; });
  co_return response&& went_well(response->error_code);
}

Task<bool> TransactionalClient::send_offsets(std::string group, std::map<PartitionName, Offset> offsets) {
  if (!co_await add_group(group)) co_return false;
  kafka::TxnOffsetCommitRequest request;
  request.transactional_id = settings_.transactional_id;
  request.group_id = group;
  request.producer_id = producer_.id;
  request.producer_epoch = producer_.epoch;
  for (const auto& [partition, offset] : offsets) {
    auto& topic = request.topics.emplace_back();
    topic.name = partition.first;
    topic.partitions.push_back({.partition_index = partition.second, .committed_offset = offset});
  }
  // All of them, or none: they have one coordinator.
  const auto error_of = [](const kafka::TxnOffsetCommitResponse& answer) {
    return answer.topics.at(0).partitions.at(0).error_code;
  };
  const auto response =
      co_await ask<kafka::TxnOffsetCommitResponse>({.kind = Target::Kind::group, .group = group, .partition = {}},
                                                   request, commit_offsets_version(settings_.version), error_of);
  co_return response&& went_well(error_of(*response));
}

Task<std::optional<Offset>> TransactionalClient::position(std::string group, PartitionName partition) {
  kafka::OffsetFetchRequest request;
  request.group_id = group;
  request.require_stable = true;
  request.topics.emplace();
  request.topics->push_back({.name = partition.first, .partition_indexes = {partition.second.value()}});
  const auto error_of = [](const kafka::OffsetFetchResponse& answer) {
    return answer.error_code != ErrorCode::none ? answer.error_code : answer.topics.at(0).partitions.at(0).error_code;
  };
  const auto response = co_await ask<kafka::OffsetFetchResponse>(
      {.kind = Target::Kind::group, .group = group, .partition = {}}, request, kFetchOffsetsVersion, error_of);
  if (!response || !went_well(error_of(*response))) co_return std::nullopt;
  co_return std::max(response->topics.at(0).partitions.at(0).committed_offset, Offset(0));
}

}  // namespace naru::simulation
