#include "client/transaction_admin.h"

#include <gtest/gtest.h>

#include "client/fake_broker_testing.h"
#include "client/partition_producers.h"
#include "kafka_protocol/messages/describe_producers_request.h"
#include "kafka_protocol/messages/describe_producers_response.h"
#include "kafka_protocol/messages/describe_transactions_request.h"
#include "kafka_protocol/messages/describe_transactions_response.h"
#include "kafka_protocol/messages/find_coordinator_request.h"
#include "kafka_protocol/messages/find_coordinator_response.h"
#include "kafka_protocol/messages/init_producer_id_request.h"
#include "kafka_protocol/messages/init_producer_id_response.h"
#include "kafka_protocol/messages/list_transactions_request.h"
#include "kafka_protocol/messages/list_transactions_response.h"
#include "kafka_protocol/messages/metadata_response.h"
#include "kafka_protocol/messages/write_txn_markers_request.h"
#include "kafka_protocol/messages/write_txn_markers_response.h"

namespace naru::client {
namespace {

using Request = FakeBroker::Request;
using Producers = kafka::DescribeProducersResponse::PartitionResponse;

const TopicPartition kOrders0{"orders", PartitionIndex(0)};
const TopicPartition kOrders1{"orders", PartitionIndex(1)};

// Two brokers. The second coordinates every transactional id; who leads orders-0 is up to the test, orders-1 has no
// leader.
class TransactionAdminTest : public testing::Test {
 protected:
  TransactionAdminTest() {
    for (FakeBroker* broker : {&first_, &second_}) {
      broker->on(kafka::ApiKey::metadata, [this](const Request& request) {
        kafka::MetadataResponse response;
        response.brokers = {{.node_id = BrokerId(1), .host = "first", .port = 1},
                            {.node_id = BrokerId(2), .host = "second", .port = 2}};
        auto& topic = response.topics.emplace_back();
        topic.name = "orders";
        topic.partitions = {{.partition_index = PartitionIndex(0), .leader_id = leader_},
                            {.partition_index = PartitionIndex(1), .leader_id = kNoBroker}};
        return request.answer(response);
      });
      broker->on(kafka::ApiKey::find_coordinator, [](const Request& request) {
        const auto body = request.body<kafka::FindCoordinatorRequest>();
        kafka::FindCoordinatorResponse response;
        auto& found = response.coordinators.emplace_back();
        found.key = body.coordinator_keys.at(0);
        found.node_id = body.key_type == 1 ? BrokerId(2) : BrokerId(1);
        return request.answer(response);
      });
    }
  }

  template <class T>
  T run(Task<T> task) {
    return run_in(world_, std::move(task));
  }

  // As the leader of orders-0, with one producer.
  static void leads(FakeBroker& broker, Producers orders) {
    broker.on(kafka::ApiKey::describe_producers, [orders = std::move(orders)](const Request& request) {
      kafka::DescribeProducersResponse response;
      auto& topic = response.topics.emplace_back();
      topic.name = "orders";
      topic.partitions = {orders};
      return request.answer(response);
    });
  }
  static Producers one_producer() {
    Producers orders{.partition_index = PartitionIndex(0)};
    orders.active_producers = {{.producer_id = ProducerId(4000),
                                .producer_epoch = 3,
                                .last_timestamp = 1000,
                                .coordinator_epoch = -1,
                                .current_txn_start_offset = Offset(17)}};
    return orders;
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("client").start();
  FakeBroker first_{world_.add_node("first"), 1};
  FakeBroker second_{world_.add_node("second"), 2};
  BrokerId leader_{1};
  ClusterClient client_{process_->seams(), {.bootstrap = {{"first", 1}}, .request_timeout = 3s}};
};

TEST_F(TransactionAdminTest, TransactionsOfAllBrokersAreListed) {
  int asked = 0;
  const auto list = [&asked](std::string id) {
    return [id, &asked](const Request& request) {
      const auto body = request.body<kafka::ListTransactionsRequest>();
      EXPECT_EQ(body.state_filters, (std::vector<std::string_view>{"Ongoing"}));
      EXPECT_EQ(body.producer_id_filters, std::vector{ProducerId(7)});
      kafka::ListTransactionsResponse response;
      response.error_code = ++asked == 1 ? ErrorCode::coordinator_load_in_progress : ErrorCode::none;
      if (response.error_code == ErrorCode::none) {
        response.transaction_states = {
            {.transactional_id = id, .producer_id = ProducerId(7), .transaction_state = "Ongoing"}};
      }
      return request.answer(response);
    };
  };
  first_.on(kafka::ApiKey::list_transactions, list("z"));
  second_.on(kafka::ApiKey::list_transactions, list("a"));
  const auto listed = run(list_transactions(client_, {.states = {"Ongoing"}, .producer_ids = {ProducerId(7)}}));
  ASSERT_TRUE(listed) << listed.error().to_string();
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ((*listed)[0].id, "a");
  EXPECT_EQ((*listed)[0].coordinator, BrokerId(2));
  EXPECT_EQ((*listed)[1].state, "Ongoing");
  EXPECT_EQ((*listed)[1].producer_id, ProducerId(7));
}

TEST_F(TransactionAdminTest, AStateThatThereIsNotIsAnError) {
  first_.on(kafka::ApiKey::list_transactions, [](const Request& request) {
    kafka::ListTransactionsResponse response;
    response.unknown_state_filters = {"Onging"};
    return request.answer(response);
  });
  const auto listed = run(list_transactions(client_, {.states = {"Onging"}, .producer_ids = {}}));
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code(), ErrorCode::invalid_argument);
  EXPECT_TRUE(listed.error().message().starts_with("transactions have no state 'Onging'; there are Empty, Ongoing, "))
      << listed.error().message();
}

TEST_F(TransactionAdminTest, ATransactionIsDescribedByItsCoordinator) {
  int asked = 0;
  second_.on(kafka::ApiKey::describe_transactions, [&asked](const Request& request) {
    const auto body = request.body<kafka::DescribeTransactionsRequest>();
    EXPECT_TRUE(body.naru_include_times);
    kafka::DescribeTransactionsResponse response;
    auto& transaction = response.transaction_states.emplace_back();
    transaction.transactional_id = body.transactional_ids.at(0);
    if (++asked == 1) {
      transaction.error_code = ErrorCode::not_coordinator;
      return request.answer(response);
    }
    transaction.transaction_state = "PrepareCommit";
    transaction.transaction_timeout_ms = 60'000;
    transaction.transaction_start_time_ms = 5000;
    transaction.naru_last_update_ms = 6000;
    transaction.producer_id = ProducerId(7);
    transaction.producer_epoch = ProducerEpoch(2);
    transaction.topics = {{.topic = "z", .partitions = {PartitionIndex(1), PartitionIndex(0)}},
                          {.topic = "a", .partitions = {PartitionIndex(3)}}};
    return request.answer(response);
  });
  const auto described = run(describe_transaction(client_, "copier"));
  ASSERT_TRUE(described) << described.error().to_string();
  EXPECT_EQ(asked, 2) << "one that is not the coordinator any more is borne";
  EXPECT_EQ(described->id, "copier");
  EXPECT_TRUE(described->is_unfinished());
  EXPECT_EQ(described->timeout, Duration(60s));
  EXPECT_EQ(described->start, 5000);
  EXPECT_EQ(described->last_update, 6000);
  EXPECT_EQ(described->producer, (ProducerIdentity{ProducerId(7), ProducerEpoch(2)}));
  EXPECT_EQ(described->coordinator, BrokerId(2));
  EXPECT_EQ(described->partitions, (std::vector<TopicPartition>{
                                       {"a", PartitionIndex(3)}, {"z", PartitionIndex(0)}, {"z", PartitionIndex(1)}}));
}

TEST_F(TransactionAdminTest, AnUnknownTransactionalIdIsAnErrorAloneAndAHoleAmongOthers) {
  second_.on(kafka::ApiKey::describe_transactions, [](const Request& request) {
    kafka::DescribeTransactionsResponse response;
    for (const std::string_view id : request.body<kafka::DescribeTransactionsRequest>().transactional_ids) {
      auto& transaction = response.transaction_states.emplace_back();
      transaction.transactional_id = id;
      transaction.transaction_state = "Empty";
      transaction.error_code = id == "gone" ? ErrorCode::transactional_id_not_found : ErrorCode::none;
    }
    return request.answer(response);
  });
  EXPECT_EQ(run(describe_transaction(client_, "gone")).error().code(), ErrorCode::transactional_id_not_found);
  const auto described = run(describe_transactions(client_, BrokerId(2), {"a", "gone", "z"}));
  ASSERT_TRUE(described) << described.error().to_string();
  ASSERT_EQ(described->size(), 2u);
  EXPECT_EQ((*described)[1].id, "z");
  EXPECT_FALSE((*described)[1].is_unfinished());
}

TEST_F(TransactionAdminTest, FencingWaitsForTheEndOfWhatIsOpen) {
  std::vector<ErrorCode> answers{ErrorCode::concurrent_transactions, ErrorCode::coordinator_load_in_progress,
                                 ErrorCode::concurrent_transactions, ErrorCode::none};
  size_t asked = 0;
  second_.on(kafka::ApiKey::init_producer_id, [&](const Request& request) {
    const auto body = request.body<kafka::InitProducerIdRequest>();
    EXPECT_EQ(body.transactional_id, "copier");
    EXPECT_EQ(body.transaction_timeout_ms, 60'000);
    EXPECT_EQ(body.producer_id, kNoProducerId) << "whoever asks with the present identity does not fence it";
    kafka::InitProducerIdResponse response;
    response.error_code = answers.at(asked++);
    response.producer_id = ProducerId(7);
    response.producer_epoch = ProducerEpoch(3);
    return request.answer(response);
  });
  const auto fenced = run(fence_producer(client_, "copier", 60s));
  ASSERT_TRUE(fenced) << fenced.error().to_string();
  EXPECT_EQ(*fenced, (ProducerIdentity{ProducerId(7), ProducerEpoch(3)}));
  EXPECT_EQ(asked, answers.size());

  answers.assign(1000, ErrorCode::concurrent_transactions);
  asked = 0;
  const MonotonicTime begin = world_.now();
  EXPECT_EQ(run(fence_producer(client_, "copier", 60s)).error().code(), ErrorCode::concurrent_transactions);
  EXPECT_GE(world_.now() - begin, 3s);
  EXPECT_LT(world_.now() - begin, 4s);
}

TEST_F(TransactionAdminTest, FencingEndsAtAnErrorThatStays) {
  second_.on(kafka::ApiKey::init_producer_id, [](const Request& request) {
    kafka::InitProducerIdResponse response;
    response.error_code = ErrorCode::transactional_id_authorization_failed;
    return request.answer(response);
  });
  EXPECT_EQ(run(fence_producer(client_, "copier", 60s)).error().code(),
            ErrorCode::transactional_id_authorization_failed);
  EXPECT_EQ(second_.requests(kafka::ApiKey::init_producer_id), 1u);
}

TEST_F(TransactionAdminTest, ProducersAreDescribedByLeadersAndALeaderThatHasMovedIsLookedUp) {
  leads(first_, {.partition_index = PartitionIndex(0), .error_code = ErrorCode::not_leader_or_follower});
  leads(second_, one_producer());
  EXPECT_TRUE(run(client_.refresh({"orders"})).ok());
  leader_ = BrokerId(2);
  const auto found = run(describe_producers(client_, {kOrders0, kOrders1}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at(kOrders1).status.code(), ErrorCode::leader_not_available);
  ASSERT_TRUE(found.at(kOrders0).status.ok()) << found.at(kOrders0).status.to_string();
  const PartitionProducer* producer = found.at(kOrders0).find(ProducerId(4000));
  ASSERT_NE(producer, nullptr);
  EXPECT_TRUE(producer->has_open_transaction());
  EXPECT_EQ(producer->transaction_start, Offset(17));
  EXPECT_EQ(producer->producer.epoch, ProducerEpoch(3));
  EXPECT_EQ(found.at(kOrders0).find(ProducerId(4001)), nullptr);
}

TEST_F(TransactionAdminTest, AnEpochThatNoProducerCanHaveIsNotCutToOneThatItCan) {
  Producers orders = one_producer();
  orders.active_producers[0].producer_epoch = 65'539;
  leads(first_, std::move(orders));
  const auto found = run(describe_producers(client_, {kOrders0}));
  EXPECT_EQ(found.at(kOrders0).status.code(), ErrorCode::corrupt_message);
}

TEST_F(TransactionAdminTest, AnAbortInAPartitionIsAMarkerFromACoordinatorThatIsNotOlderThanTheLast) {
  ErrorCode answer = ErrorCode::none;
  int32_t epoch = -1;
  first_.on(kafka::ApiKey::write_txn_markers, [&](const Request& request) {
    const auto body = request.body<kafka::WriteTxnMarkersRequest>();
    const auto& marker = body.markers.at(0);
    EXPECT_EQ(marker.producer_id, ProducerId(4000));
    EXPECT_EQ(marker.producer_epoch, ProducerEpoch(3));
    EXPECT_FALSE(marker.transaction_result);
    epoch = marker.coordinator_epoch;
    kafka::WriteTxnMarkersResponse response;
    auto& topic = response.markers.emplace_back().topics.emplace_back();
    topic.name = marker.topics.at(0).name;
    topic.partitions = {{.partition_index = marker.topics.at(0).partition_indexes.at(0), .error_code = answer}};
    return request.answer(response);
  });
  EXPECT_TRUE(run(client_.refresh({"orders"})).ok());
  PartitionProducer producer{.producer = {ProducerId(4000), ProducerEpoch(3)}, .transaction_start = Offset(17)};
  EXPECT_TRUE(run(abort_in_partition(client_, kOrders0, producer)).ok());
  EXPECT_EQ(epoch, 0);
  producer.coordinator_epoch = 9;
  answer = ErrorCode::invalid_producer_epoch;
  EXPECT_EQ(run(abort_in_partition(client_, kOrders0, producer)).code(), ErrorCode::invalid_producer_epoch);
  EXPECT_EQ(epoch, 9);
  EXPECT_EQ(run(abort_in_partition(client_, kOrders1, producer)).code(), ErrorCode::leader_not_available);
}

}  // namespace
}  // namespace naru::client
