#include "broker/peers.h"

#include <gtest/gtest.h>

#include "client/fake_broker_testing.h"
#include "kafka_protocol/messages/create_topics_request.h"

namespace naru {
namespace {

class PeersTest : public testing::Test {
 protected:
  ~PeersTest() override { world_.run_task(peers_.stop()); }

  Result<Bytes> forward(uint16_t port) {
    const Bytes frame = kafka::encode_request_frame(kafka::CreateTopicsRequest(), 5, 1, "client").bytes;
    const SharedBytes request(Bytes(frame.begin() + sizeof(int32_t), frame.end()));
    return run_in(world_, peers_.forward({BrokerId(1), {"peer", port}}, request, "CreateTopics", 3s));
  }

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
  EXPECT_EQ(broker_.requests(kafka::ApiKey::create_topics), 1u);
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
