// For tests: two brokers with transactions in the states that a test wants, also in those that no broker should get
// into.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "client/fake_broker_testing.h"
#include "client/offsets.h"
#include "client/partition_producers.h"
#include "client/transaction_admin.h"
#include "kafka_protocol/messages/describe_producers_request.h"
#include "kafka_protocol/messages/describe_producers_response.h"
#include "kafka_protocol/messages/describe_transactions_request.h"
#include "kafka_protocol/messages/describe_transactions_response.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "kafka_protocol/messages/find_coordinator_request.h"
#include "kafka_protocol/messages/find_coordinator_response.h"
#include "kafka_protocol/messages/init_producer_id_request.h"
#include "kafka_protocol/messages/init_producer_id_response.h"
#include "kafka_protocol/messages/list_offsets_request.h"
#include "kafka_protocol/messages/list_offsets_response.h"
#include "kafka_protocol/messages/list_transactions_request.h"
#include "kafka_protocol/messages/list_transactions_response.h"
#include "kafka_protocol/messages/metadata_response.h"
#include "kafka_protocol/messages/write_txn_markers_request.h"
#include "kafka_protocol/messages/write_txn_markers_response.h"

namespace naru::command_line {

// Brokers "first" (1) and "second" (2). Topic orders: partition 0 is led by 1, partition 1 by 2. All transactional ids
// are coordinated by 2.
class ScriptedTransactions {
 public:
  using Request = client::FakeBroker::Request;

  struct Ends {
    Offset last_stable{0}, high_watermark{0};
    Bytes batches = {};  // what a fetch brings
  };

  explicit ScriptedTransactions(SimulatedWorld& world)
      : first_(world.add_node("first"), 9092), second_(world.add_node("second"), 9092) {
    for (client::FakeBroker* broker : {&first_, &second_}) {
      script(*broker, kafka::ApiKey::metadata, &ScriptedTransactions::answer_metadata);
      script(*broker, kafka::ApiKey::find_coordinator, &ScriptedTransactions::answer_coordinator);
      script(*broker, kafka::ApiKey::describe_transactions, &ScriptedTransactions::answer_describe);
      script(*broker, kafka::ApiKey::init_producer_id, &ScriptedTransactions::answer_init);
      script(*broker, kafka::ApiKey::describe_producers, &ScriptedTransactions::answer_producers);
      script(*broker, kafka::ApiKey::write_txn_markers, &ScriptedTransactions::answer_markers);
      script(*broker, kafka::ApiKey::list_offsets, &ScriptedTransactions::answer_offsets);
      script(*broker, kafka::ApiKey::fetch, &ScriptedTransactions::answer_fetch);
    }
    first_.on(kafka::ApiKey::list_transactions,
              [](const Request& request) { return request.answer(kafka::ListTransactionsResponse()); });
    script(second_, kafka::ApiKey::list_transactions, &ScriptedTransactions::answer_list);
  }

  static client::TopicPartition orders(int32_t partition) { return {"orders", PartitionIndex(partition)}; }
  static client::PartitionProducer open_producer(int64_t id, int64_t start, WallTimeMs last = -1) {
    return {.producer = {ProducerId(id), ProducerEpoch(3)}, .last_timestamp = last, .transaction_start = Offset(start)};
  }

  std::map<std::string, client::TransactionDescription> transactions;
  std::map<client::TopicPartition, std::vector<client::PartitionProducer>> producers;
  std::map<client::TopicPartition, Ends> ends;
  bool state_topic_is_online = true;
  std::deque<ErrorCode> init_errors;               // for the next that ask for a producer id
  std::function<void()> on_list_by_producer;       // before transactions of some producers are listed
  std::vector<std::string> fenced;                 // transactional ids
  std::vector<client::PartitionProducer> aborted;  // by markers

 private:
  using Answer = Bytes (ScriptedTransactions::*)(const Request&);

  void script(client::FakeBroker& broker, kafka::ApiKey key, Answer answer) {
    broker.on(key, [this, answer](const Request& request) { return (this->*answer)(request); });
  }

  Bytes answer_metadata(const Request& request) {
    kafka::MetadataResponse response;
    response.brokers = {{.node_id = BrokerId(1), .host = "first", .port = 9092},
                        {.node_id = BrokerId(2), .host = "second", .port = 9092}};
    auto& state = response.topics.emplace_back();
    state.name = client::kTransactionStateTopic;
    state.partitions = {
        {.partition_index = PartitionIndex(0), .leader_id = state_topic_is_online ? BrokerId(2) : kNoBroker}};
    auto& topic = response.topics.emplace_back();
    topic.name = "orders";
    topic.partitions = {{.partition_index = PartitionIndex(0), .leader_id = BrokerId(1)},
                        {.partition_index = PartitionIndex(1), .leader_id = BrokerId(2)}};
    return request.answer(response);
  }

  Bytes answer_coordinator(const Request& request) {
    kafka::FindCoordinatorResponse response;
    auto& found = response.coordinators.emplace_back();
    found.key = request.body<kafka::FindCoordinatorRequest>().coordinator_keys.at(0);
    found.node_id = BrokerId(2);
    return request.answer(response);
  }

  Bytes answer_list(const Request& request) {
    const auto body = request.body<kafka::ListTransactionsRequest>();
    if (on_list_by_producer && !body.producer_id_filters.empty()) on_list_by_producer();
    const auto wanted = [](const auto& filter, const auto& value) {
      return filter.empty() || std::ranges::find(filter, value) != filter.end();
    };
    kafka::ListTransactionsResponse response;
    for (const auto& [id, transaction] : transactions) {
      if (!wanted(body.state_filters, transaction.state)) continue;
      if (!wanted(body.producer_id_filters, transaction.producer.id)) continue;
      response.transaction_states.push_back(
          {.transactional_id = id, .producer_id = transaction.producer.id, .transaction_state = transaction.state});
    }
    return request.answer(response);
  }

  Bytes answer_describe(const Request& request) {
    kafka::DescribeTransactionsResponse response;
    for (const std::string_view id : request.body<kafka::DescribeTransactionsRequest>().transactional_ids) {
      auto& described = response.transaction_states.emplace_back();
      described.transactional_id = id;
      const auto found = transactions.find(std::string(id));
      if (found == transactions.end()) {
        described.error_code = ErrorCode::transactional_id_not_found;
        continue;
      }
      const client::TransactionDescription& transaction = found->second;
      described.transaction_state = transaction.state;
      described.transaction_timeout_ms =
          static_cast<int32_t>(std::chrono::duration_cast<Milliseconds>(transaction.timeout).count());
      described.transaction_start_time_ms = transaction.start;
      described.naru_last_update_ms = transaction.last_update;
      described.producer_id = transaction.producer.id;
      described.producer_epoch = transaction.producer.epoch;
      for (const client::TopicPartition& partition : transaction.partitions)
        described.topics.push_back({.topic = partition.topic, .partitions = {partition.partition}});
    }
    return request.answer(response);
  }

  Bytes answer_init(const Request& request) {
    kafka::InitProducerIdResponse response;
    if (!init_errors.empty()) {
      response.error_code = init_errors.front();
      init_errors.pop_front();
      return request.answer(response);
    }
    const std::string id(*request.body<kafka::InitProducerIdRequest>().transactional_id);
    fenced.push_back(id);
    client::TransactionDescription& transaction = transactions[id];
    transaction.state = "Empty";
    transaction.partitions.clear();
    transaction.producer.epoch = transaction.producer.epoch + 1;
    response.producer_id = transaction.producer.id;
    response.producer_epoch = transaction.producer.epoch;
    return request.answer(response);
  }

  Bytes answer_producers(const Request& request) {
    kafka::DescribeProducersResponse response;
    for (const auto& asked : request.body<kafka::DescribeProducersRequest>().topics) {
      auto& topic = response.topics.emplace_back();
      topic.name = asked.name;
      for (const PartitionIndex index : asked.partition_indexes) {
        auto& partition = topic.partitions.emplace_back();
        partition.partition_index = index;
        for (const client::PartitionProducer& producer : producers[{topic.name, index}]) {
          partition.active_producers.push_back({.producer_id = producer.producer.id,
                                                .producer_epoch = producer.producer.epoch.value(),
                                                .last_timestamp = producer.last_timestamp,
                                                .coordinator_epoch = producer.coordinator_epoch,
                                                .current_txn_start_offset = producer.transaction_start});
        }
      }
    }
    return request.answer(response);
  }

  Bytes answer_markers(const Request& request) {
    const auto body = request.body<kafka::WriteTxnMarkersRequest>();
    const auto& marker = body.markers.at(0);
    const auto& asked = marker.topics.at(0);
    kafka::WriteTxnMarkersResponse response;
    auto& topic = response.markers.emplace_back().topics.emplace_back();
    topic.name = asked.name;
    topic.partitions = {{.partition_index = asked.partition_indexes.at(0), .error_code = ErrorCode::none}};
    for (client::PartitionProducer& producer : producers[{topic.name, asked.partition_indexes.at(0)}]) {
      if (producer.producer.id != marker.producer_id || marker.transaction_result) continue;
      aborted.push_back(producer);
      producer.transaction_start = kNoOffset;
    }
    return request.answer(response);
  }

  Bytes answer_offsets(const Request& request) {
    const auto body = request.body<kafka::ListOffsetsRequest>();
    const bool committed = body.isolation_level == static_cast<int8_t>(client::Isolation::read_committed);
    kafka::ListOffsetsResponse response;
    for (const auto& asked : body.topics) {
      auto& topic = response.topics.emplace_back();
      topic.name = asked.name;
      for (const auto& wanted : asked.partitions) {
        const Ends& found = ends[{topic.name, wanted.partition_index}];
        auto& partition = topic.partitions.emplace_back();
        partition.partition_index = wanted.partition_index;
        partition.offset = committed ? found.last_stable : found.high_watermark;
      }
    }
    return request.answer(response);
  }

  Bytes answer_fetch(const Request& request) {
    kafka::FetchResponse response;
    auto& topic = response.responses.emplace_back();
    topic.topic = "orders";
    auto& partition = topic.partitions.emplace_back();
    partition.records = ends[orders(0)].batches;
    return request.answer(response);
  }

  client::FakeBroker first_;
  client::FakeBroker second_;
};

}  // namespace naru::command_line
