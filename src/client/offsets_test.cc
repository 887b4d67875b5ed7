#include "client/offsets.h"

#include <gtest/gtest.h>

#include <deque>

#include "client/fake_broker_testing.h"
#include "kafka_protocol/messages/list_offsets_response.h"
#include "kafka_protocol/messages/metadata_response.h"

namespace naru::client {
namespace {

using Request = FakeBroker::Request;

// A broker that leads the one partition there is, and has these errors to tell before it knows.
class ListOffsetsTest : public testing::Test {
 protected:
  ListOffsetsTest() {
    broker_.on(kafka::ApiKey::metadata, [](const Request& request) {
      kafka::MetadataResponse response;
      response.brokers = {{.node_id = BrokerId(1), .host = "broker", .port = 1}};
      auto& topic = response.topics.emplace_back();
      topic.name = "t";
      topic.partitions = {{.partition_index = PartitionIndex(0), .leader_id = BrokerId(1)}};
      return request.answer(response);
    });
    broker_.on(kafka::ApiKey::list_offsets, [this](const Request& request) {
      kafka::ListOffsetsResponse response;
      auto& topic = response.topics.emplace_back();
      topic.name = "t";
      auto& partition = topic.partitions.emplace_back();
      partition.partition_index = PartitionIndex(0);
      if (errors_.empty()) {
        partition.offset = Offset(42);
      } else {
        partition.error_code = errors_.front();
        if (errors_.size() > 1 || !for_ever_) errors_.pop_front();
      }
      return request.answer(response);
    });
  }
  ~ListOffsetsTest() override { client_.close(); }

  Result<std::map<TopicPartition, OffsetAtTime>> ask() {
    const auto whole = [this]() -> Task<Result<std::map<TopicPartition, OffsetAtTime>>> {
      NARU_CO_TRY(co_await client_.refresh({"t"}));
      co_return co_await list_offsets(client_, {{"t", PartitionIndex(0)}}, kLatest);
    };
    return run_in(world_, whole());
  }

  SimulatedWorld world_{1};
  FakeBroker broker_{world_.add_node("broker"), 1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("client").start();
  ClusterClient client_{process_->seams(), {.bootstrap = {{"broker", 1}}}};
  std::deque<ErrorCode> errors_;
  bool for_ever_ = false;
};

TEST_F(ListOffsetsTest, WaitsForALeaderThatIsNewAndDoesNotKnowYet) {
  errors_ = {ErrorCode::not_leader_or_follower, ErrorCode::offset_not_available, ErrorCode::leader_not_available,
             ErrorCode::offset_not_available};
  const auto offsets = ask();
  ASSERT_TRUE(offsets.has_value()) << offsets.error().to_string();
  EXPECT_EQ(offsets->begin()->second.offset, Offset(42));
}

TEST_F(ListOffsetsTest, GivesUpAfterSomeSeconds) {
  errors_ = {ErrorCode::offset_not_available};
  for_ever_ = true;
  const MonotonicTime begun = world_.now();
  EXPECT_EQ(ask().error(), ErrorCode::offset_not_available);
  EXPECT_GE(world_.now() - begun, 5s);
  EXPECT_LE(world_.now() - begun, 6s);
}

TEST_F(ListOffsetsTest, WhatWillNotPassIsToldAtOnce) {
  errors_ = {ErrorCode::topic_authorization_failed};
  EXPECT_EQ(ask().error(), ErrorCode::topic_authorization_failed);
  EXPECT_EQ(broker_.requests(kafka::ApiKey::list_offsets), 1u);
}

}  // namespace
}  // namespace naru::client
