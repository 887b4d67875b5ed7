#include "client/producer.h"

#include <gtest/gtest.h>

#include "client/fake_broker_testing.h"
#include "kafka_protocol/messages/init_producer_id_response.h"
#include "kafka_protocol/messages/metadata_request.h"
#include "kafka_protocol/messages/metadata_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"

namespace naru::client {
namespace {

constexpr uint16_t kBrokerPort = 9092;

// One broker, one topic "t" of four partitions, and a script for Produce: what each request gets, then success.
class ProducerTest : public testing::Test {
 protected:
  ProducerTest() {
    broker_.on(kafka::ApiKey::metadata, [this](const FakeBroker::Request& request) {
      kafka::MetadataResponse response;
      response.brokers = {{.node_id = BrokerId(0), .host = "broker", .port = kBrokerPort}};
      const auto asked = request.body<kafka::MetadataRequest>();
      for (const auto& topic : *asked.topics) {
        auto& answer = response.topics.emplace_back();
        answer.name = *topic.name;
        answer.error_code = topic.name == "t" ? topic_error_ : ErrorCode::unknown_topic_or_partition;
        for (int32_t i = 0; topic.name == "t" && i < 4; ++i)
          answer.partitions.push_back({.partition_index = PartitionIndex(i), .leader_id = BrokerId(0)});
      }
      return request.answer(response);
    });
    broker_.on(kafka::ApiKey::init_producer_id, [this](const FakeBroker::Request& request) {
      kafka::InitProducerIdResponse response;
      response.error_code = identity_error_;
      response.producer_id = ProducerId(++identities_);
      return request.answer(response);
    });
    broker_.on(kafka::ApiKey::produce, [this](const FakeBroker::Request& request) -> std::optional<Bytes> {
      const auto asked = request.body<kafka::ProduceRequest>();
      ErrorCode code = ErrorCode::none;
      if (!script_.empty()) {
        code = script_.front();
        script_.erase(script_.begin());
      }
      if (code == ErrorCode::network_exception) return Bytes();
      kafka::ProduceResponse response;
      for (const auto& topic : asked.topic_data) {
        auto& answer = response.responses.emplace_back();
        answer.name = topic.name;
        for (const auto& partition : topic.partition_data) {
          answer.partition_responses.push_back(
              {.index = partition.index, .error_code = code, .base_offset = Offset(7)});
          const auto header = parse_batch_header(*partition.records).value();
          names_.emplace_back(header.producer_id.value(), header.base_sequence);
          if (code == ErrorCode::none) stored_ += header.records_count;
        }
      }
      return request.answer(response);
    });
  }

  Task<void> produce(int records, Status& sent) {
    for (int i = 0; i < records && sent.ok(); ++i) {
      const std::string value = std::to_string(i);
      sent = co_await producer_->send("t", wanted_, {.timestamp = 1, .value = as_bytes(value)});
    }
    co_await producer_->flush();
    client_.close();
    co_await producer_->close();
  }
  Status run(int records, ProducerOptions options = {}) {
    producer_ = std::make_unique<Producer>(client_, options, [this](const Delivery& delivery) {
      (delivery.status.ok() ? delivered_ : failed_) += delivery.records;
      if (!delivery.status.ok()) last_error_ = delivery.status;
    });
    Status sent;
    world_.run_task(produce(records, sent));
    return sent;
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("client").start();
  FakeBroker broker_{world_.add_node("broker"), kBrokerPort};
  ClusterClient client_{process_->seams(), {.bootstrap = {{"broker", kBrokerPort}}, .request_timeout = 5s}};
  std::unique_ptr<Producer> producer_;
  std::vector<ErrorCode> script_;
  ErrorCode topic_error_ = ErrorCode::none;
  std::optional<PartitionIndex> wanted_;
  int stored_ = 0, delivered_ = 0, failed_ = 0, identities_ = 0;
  ErrorCode identity_error_ = ErrorCode::none;
  std::vector<std::pair<int64_t, int32_t>> names_;  // producer id and first sequence number of each batch that arrived
  Status last_error_;
};

TEST_F(ProducerTest, DeliversInBatches) {
  EXPECT_TRUE(run(1000).ok());
  EXPECT_EQ(delivered_, 1000);
  EXPECT_EQ(stored_, 1000);
  EXPECT_LT(broker_.requests(kafka::ApiKey::produce), 10u);
}

TEST_F(ProducerTest, WaitsWhenTheBufferIsFull) {
  ProducerOptions options;
  options.batches = {.batch_bytes = 200, .buffer_bytes = 1000};
  EXPECT_TRUE(run(1000, options).ok());
  EXPECT_EQ(delivered_, 1000);
}

TEST_F(ProducerTest, SendsAgainWhatMaySucceedLater) {
  script_ = {ErrorCode::network_exception, ErrorCode::not_leader_or_follower, ErrorCode::request_timed_out};
  EXPECT_TRUE(run(10).ok());
  EXPECT_EQ(delivered_, 10);
  EXPECT_EQ(failed_, 0);
  EXPECT_GE(broker_.requests(kafka::ApiKey::produce), 4u);
  EXPECT_GE(broker_.requests(kafka::ApiKey::metadata), 2u) << "a leader that moved is looked for";
}

TEST_F(ProducerTest, AFinalErrorIsReportedOnce) {
  script_ = {ErrorCode::message_too_large};
  EXPECT_TRUE(run(10).ok());
  EXPECT_EQ(delivered_ + failed_, 10);
  EXPECT_GT(failed_, 0);
  EXPECT_EQ(last_error_.code(), ErrorCode::message_too_large);
}

TEST_F(ProducerTest, GivesUpAfterTheDeliveryTimeoutAndSaysWhatHappenedLast) {
  script_.assign(1000, ErrorCode::not_enough_replicas);
  ProducerOptions options;
  options.batches.delivery_timeout = 2s;
  EXPECT_TRUE(run(1, options).ok());
  EXPECT_EQ(failed_, 1);
  EXPECT_EQ(last_error_.code(), ErrorCode::request_timed_out);
  EXPECT_NE(last_error_.message().find("NOT_ENOUGH_REPLICAS"), std::string::npos) << last_error_.message();
}

TEST_F(ProducerTest, ATopicThatDoesNotExistFailsAfterAWhile) {
  topic_error_ = ErrorCode::unknown_topic_or_partition;
  EXPECT_EQ(run(1).code(), ErrorCode::unknown_topic_or_partition);
  topic_error_ = ErrorCode::none;
}

TEST_F(ProducerTest, ANameThatIsNotAllowedFailsAtOnce) {
  topic_error_ = ErrorCode::invalid_topic_exception;
  EXPECT_EQ(run(1).code(), ErrorCode::invalid_topic_exception);
  EXPECT_EQ(broker_.requests(kafka::ApiKey::metadata), 1u);
}

TEST_F(ProducerTest, APartitionThatDoesNotExistIsRefused) {
  wanted_ = PartitionIndex(4);
  EXPECT_EQ(run(1).message(), "topic t has no partition 4: it has 0 to 3");
}

TEST_F(ProducerTest, WithoutAcknowledgementsNothingIsWaitedFor) {
  broker_.on(kafka::ApiKey::produce, [](const FakeBroker::Request&) { return std::nullopt; });
  EXPECT_TRUE(run(10, {.acks = 0}).ok());
  EXPECT_EQ(delivered_, 10);
}

TEST_F(ProducerTest, BatchesCarryNumbersThatARetryKeeps) {
  wanted_ = PartitionIndex(0);
  script_ = {ErrorCode::request_timed_out};
  ProducerOptions options;
  options.batches.batch_bytes = 1;
  EXPECT_TRUE(run(3, options).ok());
  EXPECT_EQ(names_, (std::vector<std::pair<int64_t, int32_t>>{{1, 0}, {1, 0}, {1, 1}, {1, 2}}));
}

TEST_F(ProducerTest, ABrokerThatForgotUsGetsANewIdentity) {
  wanted_ = PartitionIndex(0);
  script_ = {ErrorCode::out_of_order_sequence_number, ErrorCode::unknown_producer_id};
  EXPECT_TRUE(run(1).ok());
  EXPECT_EQ(delivered_, 1);
  EXPECT_EQ(names_, (std::vector<std::pair<int64_t, int32_t>>{{1, 0}, {2, 0}, {3, 0}}));
}

TEST_F(ProducerTest, NumbersThatMayBeTakenAreNeverUsedForOtherRecords) {
  wanted_ = PartitionIndex(0);
  script_.assign(3, ErrorCode::network_exception);
  script_.push_back(ErrorCode::out_of_order_sequence_number);  // and so nobody knows
  ProducerOptions options;
  options.batches.batch_bytes = 1;
  EXPECT_TRUE(run(2, options).ok());
  EXPECT_EQ(failed_, 1);
  EXPECT_EQ(delivered_, 1);
  EXPECT_EQ(names_.back(), (std::pair<int64_t, int32_t>{2, 0}));
}

TEST_F(ProducerTest, WithoutAnIdentityEverythingFails) {
  identity_error_ = ErrorCode::cluster_authorization_failed;
  EXPECT_TRUE(run(10).ok());
  EXPECT_EQ(failed_, 10);
  EXPECT_EQ(last_error_.code(), ErrorCode::cluster_authorization_failed);
}

TEST_F(ProducerTest, WithoutIdempotenceBatchesCarryNoNumbers) {
  EXPECT_TRUE(run(1, {.idempotent = false}).ok());
  EXPECT_EQ(names_, (std::vector<std::pair<int64_t, int32_t>>{{-1, -1}}));
  EXPECT_EQ(identities_, 0);
}

}  // namespace
}  // namespace naru::client
