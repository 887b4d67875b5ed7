// What partitions remember of producers, whatever becomes of clocks, leaders, logs and topics.
#include <gtest/gtest.h>

#include "foundation/canary_testing.h"
#include "kafka_protocol/messages/delete_records_request.h"
#include "kafka_protocol/messages/delete_records_response.h"
#include "kafka_protocol/messages/init_producer_id_request.h"
#include "kafka_protocol/messages/init_producer_id_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "record_format/batch_builder.h"
#include "simulation/cluster_scenario.h"
#include "simulation/kafka_client.h"

namespace naru::simulation {
namespace {

const std::string kOrders = "orders";

// A topic with one partition, and producers that send to its leader, one record at a time.
class ProducerMemory : public testing::Test {
 protected:
  template <class Story>
  void run(Story story) {
    scenario_.run([&]() -> Task<void> {
      bool over = false;
      TaskGroup watch;
      watch.spawn(look(over));
      co_await story();
      over = true;
      co_await watch.join();
    });
  }
  // At every change of the coordination service: brokers are stopped while nobody else looks.
  Task<void> look(const bool& over) {
    while (!over) {
      scenario_.stored();
      co_await scenario_.pause(200us);
    }
  }

  BrokerId leader() { return scenario_.stored(kOrders).leader; }
  std::vector<BrokerId> followers() {
    std::vector<BrokerId> others = scenario_.stored(kOrders).replicas;
    std::erase(others, leader());
    return others;
  }

  template <class Response, class Request>
  Task<Result<Response>> ask(BrokerId broker, Request request, int16_t version) {
    NARU_CO_TRY_ASSIGN(const auto client,
                       co_await KafkaClient::connect(scenario_.seams(), scenario_.broker(broker).address()));
    auto response = co_await client->template call<Response>(std::move(request), version, 20s);
    client->close();
    co_return response;
  }

  // The offset, or minus the error.
  Task<int64_t> send(int64_t producer, int32_t sequence) {
    BatchOptions options;
    options.producer_id = ProducerId(producer);
    options.producer_epoch = ProducerEpoch(producer < 0 ? -1 : 0);
    options.base_sequence = sequence;
    BatchBuilder builder(options);
    builder.add(1000, std::nullopt, "value");
    const Bytes batch = builder.build().value();
    kafka::ProduceRequest request{.acks = -1, .timeout_ms = 5'000};
    request.topic_data.push_back({.name = kOrders});
    request.topic_data.back().partition_data.push_back({.index = PartitionIndex(0), .records = batch});
    const auto response = co_await ask<kafka::ProduceResponse>(leader(), std::move(request), 9);
    if (!response) co_return -100'000;
    const auto& answer = response->responses.at(0).partition_responses.at(0);
    co_return answer.error_code == ErrorCode::none ? answer.base_offset.value() : refused(answer.error_code);
  }
  static int64_t refused(ErrorCode code) { return -static_cast<int64_t>(code); }

  Task<int64_t> new_producer() {
    kafka::InitProducerIdRequest request;
    request.transactional_id.reset();
    const auto response = co_await ask<kafka::InitProducerIdResponse>(leader(), std::move(request), 4);
    co_return response ? response->producer_id.value() : -1;
  }

  Task<void> delete_all_records() {
    kafka::DeleteRecordsRequest request;
    request.timeout_ms = 10'000;
    request.topics.push_back({.name = kOrders});
    request.topics.back().partitions.push_back({.partition_index = PartitionIndex(0), .offset = Offset(-1)});
    const auto response = co_await ask<kafka::DeleteRecordsResponse>(leader(), std::move(request), 2);
    EXPECT_TRUE(response.has_value() && response->topics.at(0).partitions.at(0).error_code == ErrorCode::none);
  }

  Task<void> all_in_sync() {
    EXPECT_TRUE(co_await scenario_.comes_true([&] { return scenario_.stored(kOrders).isr.size() == 3; }, 30s));
  }

  Task<void> make_leader(BrokerId id) {
    const std::vector<BrokerId> replicas = scenario_.stored(kOrders).replicas;  // the image is replaced meanwhile
    for (const BrokerId other : replicas) {
      if (other != id) ignore(co_await scenario_.broker(other).stop_cleanly());
    }
    EXPECT_TRUE(co_await scenario_.comes_true([&] { return scenario_.leads(id, kOrders); }, 20s));
  }

  // The answer to a resent batch after the wall clocks of all brokers were set.
  int64_t resent_after_step(int64_t hours) {
    int64_t again = -1;
    run([&]() -> Task<void> {
      co_await scenario_.create_topic(kOrders, 1, {{"min.insync.replicas", "1"}});
      EXPECT_EQ(co_await send(1, 0), 0);
      for (const auto& broker : scenario_.cluster().brokers()) {
        broker->node().clock().step_wall(Milliseconds(hours * 3'600'000));
      }
      EXPECT_EQ(co_await send(2, 0), 1);
      const BrokerId follower = followers().front();
      co_await make_leader(follower);
      again = co_await send(1, 0);
    });
    return again;
  }

  // The answers to the second batch of a new producer, whose first was refused, and to the first when it comes again.
  std::pair<int64_t, int64_t> second_before_first() {
    std::pair<int64_t, int64_t> answers;
    run([&]() -> Task<void> {
      co_await scenario_.create_topic(kOrders, 1, {{"min.insync.replicas", "2"}});
      const auto others = followers();
      for (const BrokerId id : others) ignore(co_await scenario_.broker(id).stop_cleanly());
      EXPECT_TRUE(co_await scenario_.comes_true([&] { return scenario_.stored(kOrders).isr.size() == 1; }, 10s));
      EXPECT_EQ(co_await send(7, 0), refused(ErrorCode::not_enough_replicas));
      for (const BrokerId id : others) co_await scenario_.broker(id).start();
      co_await all_in_sync();
      co_await scenario_.pause(1s);
      answers.first = co_await send(7, 1);
      answers.second = co_await send(7, 0);
    });
    return answers;
  }

  // The answer to a resent batch, by a leader that was away when the batch was stored and its records were deleted.
  int64_t resent_to_one_that_began_anew() {
    int64_t again = -1;
    run([&]() -> Task<void> {
      co_await scenario_.create_topic(kOrders, 1, {{"min.insync.replicas", "1"}});
      const BrokerId away = followers().front();
      ignore(co_await scenario_.broker(away).stop_cleanly());
      EXPECT_EQ(co_await send(1, 0), 0);
      EXPECT_EQ(co_await send(-1, -1), 1);
      co_await delete_all_records();
      co_await scenario_.broker(away).start();
      co_await all_in_sync();
      // Whatever it was told has to survive.
      scenario_.broker(away).cut_power();
      co_await scenario_.broker(away).start();
      co_await all_in_sync();
      co_await make_leader(away);
      again = co_await send(1, 0);
      EXPECT_EQ(co_await send(1, 1), again == 0 ? 2 : 3);
    });
    return again;
  }

  ClusterScenario scenario_{1};
};

TEST_F(ProducerMemory, AResentBatchIsRecognisedWhenTheClockIsSetForward) {
  EXPECT_EQ(resent_after_step(25), 0);
}

TEST_F(ProducerMemory, AResentBatchIsRecognisedWhenTheClockIsSetBack) {
  EXPECT_EQ(resent_after_step(-25), 0);
}

TEST_F(ProducerMemory, WithTheCanaryAResentBatchIsStoredAgainWhenTheClockIsSetForward) {
  const PlantedCanary planted(Canary::producers_by_wall_clock);
  EXPECT_EQ(resent_after_step(25), 2);
}

TEST_F(ProducerMemory, TheSecondBatchOfANewProducerIsNotTakenForTheFirst) {
  EXPECT_EQ(second_before_first(), std::pair(refused(ErrorCode::out_of_order_sequence_number), int64_t{0}));
}

TEST_F(ProducerMemory, WithTheCanaryTheSecondBatchOfANewProducerIsTakenForTheFirst) {
  const PlantedCanary planted(Canary::new_producer_may_skip);
  EXPECT_EQ(second_before_first(), std::pair(int64_t{0}, refused(ErrorCode::out_of_order_sequence_number)));
}

// librdkafka gives up when it is refused.
TEST_F(ProducerMemory, AProducerGoesOnWithItsSequencesWhenATopicIsDeletedAndMadeAgain) {
  run([&]() -> Task<void> {
    co_await scenario_.create_topic(kOrders, 1, {{"min.insync.replicas", "1"}});
    const int64_t before = co_await new_producer();
    EXPECT_EQ(co_await send(before, 0), 0);
    EXPECT_EQ(co_await send(before + 1, 1), refused(ErrorCode::out_of_order_sequence_number));
    co_await scenario_.ask_for_deletion(kOrders);
    EXPECT_TRUE(co_await scenario_.comes_true(
        [&] {
          return scenario_.stored().find_topic(kOrders) == nullptr && scenario_.stored().deleted_topics().empty();
        },
        10s));
    co_await scenario_.create_topic(kOrders, 1, {{"min.insync.replicas", "1"}});
    EXPECT_EQ(co_await send(before, 1), 0);
    EXPECT_EQ(co_await send(before, 2), 1);
    co_await scenario_.pause(2s);
    const int64_t later = co_await new_producer();
    EXPECT_GE(later, before + 1000) << "of a block that was not there yet";
    EXPECT_EQ(co_await send(later, 1), refused(ErrorCode::out_of_order_sequence_number));
    EXPECT_EQ(co_await send(later, 0), 2);
  });
}

TEST_F(ProducerMemory, AFollowerThatBeginsAnewKnowsTheProducersOfItsLeader) {
  EXPECT_EQ(resent_to_one_that_began_anew(), 0);
}

TEST_F(ProducerMemory, WithTheCanaryAFollowerThatBeginsAnewStoresAResentBatchAgain) {
  const PlantedCanary planted(Canary::restart_forgets_producers);
  EXPECT_EQ(resent_to_one_that_began_anew(), 2);
}

}  // namespace
}  // namespace naru::simulation
