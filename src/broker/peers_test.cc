#include "broker/peers.h"

#include <gtest/gtest.h>

#include <utility>
#include <variant>

#include "client/fake_broker_testing.h"
#include "kafka_protocol/messages/create_topics_request.h"
#include "kafka_protocol/messages/create_topics_response.h"
#include "kafka_protocol/messages/naru_forward_request.h"
#include "kafka_protocol/messages/naru_forward_response.h"

namespace naru {
namespace {

constexpr int16_t kVersion = 5;
constexpr int32_t kClientsId = 77;

const Caller kCaller{.principal = {.type = "User", .name = "alice"},
                     .listener = "CLIENTS",
                     .address = {"client", 1234},
                     .software = {.name = "kcat", .version = "1.7"}};

Bytes answer_to_client() {
  return kafka::encode_response_frame(kafka::CreateTopicsResponse(), kVersion, kClientsId).bytes;
}

class PeersTest : public testing::Test {
 protected:
  ~PeersTest() override { world_.run_task(peers_.stop()); }

  Result<ForwardedRequests::Answer> forward(uint16_t port) {
    return run_in(world_, peers_.forward({BrokerId(1), {"peer", port}}, request_, kCaller, "CreateTopics", 3s));
  }
  // A version that does not know the request that carries a caller.
  void make_older() {
    broker_.on(kafka::ApiKey::api_versions, [](const client::FakeBroker::Request& request) {
      kafka::ApiVersionsResponse response;
      for (const kafka::ApiRow& row : kafka::kApiTable) {
        if (row.key == kafka::ApiKey::naru_forward) continue;
        response.api_keys.push_back({static_cast<int16_t>(row.key), row.min_advertised_version, row.max_version});
      }
      return request.answer(response);
    });
  }

  const Bytes frame_ = kafka::encode_request_frame(kafka::CreateTopicsRequest(), kVersion, kClientsId, "client").bytes;
  const SharedBytes request_{Bytes(frame_.begin() + sizeof(int32_t), frame_.end())};

  SimulatedWorld world_{1};
  client::FakeBroker broker_{world_.add_node("peer"), 1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("here").start();
  Peers peers_{process_->seams(), BrokerId(2)};
  TaskGroup stops_;
};

TEST_F(PeersTest, WhatCouldNotBeSentIsToldFromWhatGotNoAnswer) {
  EXPECT_EQ(forward(2).error(), ErrorCode::broker_not_available) << "nobody listens there, so it was not sent";
  const auto unanswered = forward(1);
  ASSERT_FALSE(unanswered.has_value());
  EXPECT_NE(unanswered.error(), ErrorCode::broker_not_available) << "it was sent, and may be done";
  EXPECT_EQ(broker_.requests(kafka::ApiKey::naru_forward), 1u);
}

TEST_F(PeersTest, ARequestIsPassedOnWithItsCaller) {
  broker_.on(kafka::ApiKey::naru_forward, [this](const client::FakeBroker::Request& request) {
    const auto forwarded = request.body<kafka::NaruForwardRequest>();
    EXPECT_TRUE(std::ranges::equal(forwarded.frame, request_.view()));
    EXPECT_EQ(forwarded.principal_name, "alice");
    EXPECT_EQ(forwarded.listener, "CLIENTS");
    EXPECT_EQ(forwarded.host, "client");
    EXPECT_EQ(forwarded.port, 1234);
    EXPECT_EQ(forwarded.software_name, "kcat");
    return request.answer(kafka::NaruForwardResponse{.caller_throttle_ms = 40, .frame = answer_to_client()});
  });
  const auto answer = forward(1);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(std::get<Bytes>(answer->response.chunks.front()), answer_to_client());
  EXPECT_EQ(answer->throttle, 40ms);
}

TEST_F(PeersTest, WhatTheControllerDoesNotAnswerClosesTheConnectionOfTheCaller) {
  broker_.on(kafka::ApiKey::naru_forward, [](const client::FakeBroker::Request& request) {
    return request.answer(
        kafka::NaruForwardResponse{.error_code = ErrorCode::invalid_request, .error_message = "malformed"});
  });
  const auto answer = forward(1);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->response.close_reason, "malformed");
}

TEST_F(PeersTest, ABrokerOfAnOlderVersionGetsTheRequestAlone) {
  make_older();
  broker_.on(kafka::ApiKey::create_topics,
             [](const client::FakeBroker::Request& request) { return request.answer(kafka::CreateTopicsResponse()); });
  const auto answer = forward(1);
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(std::get<Bytes>(answer->response.chunks.front()), answer_to_client())
      << "with the id that its client chose";
}

TEST_F(PeersTest, AConnectionThatIsBeingMadeDoesNotHoldUpTheEnd) {
  world_.network().block("here", "peer");
  const MonotonicTime begun = world_.now();
  process_->seams().scheduler.start_timer(begun + 1s, [this] { stops_.spawn(peers_.close(PeerUse::requests)); });
  EXPECT_EQ(forward(1).error(), ErrorCode::broker_not_available);
  EXPECT_LT(world_.now() - begun, 2s);
}

}  // namespace
}  // namespace naru
