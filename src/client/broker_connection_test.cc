#include "client/broker_connection.h"

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "client/cluster_client.h"
#include "client/fake_broker_testing.h"
#include "client/topic_admin.h"
#include "kafka_protocol/messages/create_topics_response.h"
#include "kafka_protocol/messages/metadata_request.h"
#include "kafka_protocol/messages/metadata_response.h"

namespace naru::client {
namespace {

constexpr uint16_t kPort = 9092;

class ConnectionTest : public testing::Test {
 protected:
  template <class T>
  T run(Task<T> task) {
    return run_in(world_, std::move(task));
  }

  Seams seams() { return process_->seams(); }
  Result<Connection> open(uint16_t port = kPort) {
    return run(BrokerConnection::open(seams(), {"broker", port}, {.request_timeout = 5s}));
  }
  Result<kafka::MetadataResponse> ask(const Connection& connection, VersionRange usable = {}) {
    return run(connection->call<kafka::MetadataResponse>(kafka::MetadataRequest(), 3s, usable));
  }
  ClientOptions options() { return {.bootstrap = {{"nobody", 1}, {"broker", kPort}}, .request_timeout = 3s}; }

  // A cluster of one.
  void answer_metadata(Endpoint advertised, BrokerId controller = BrokerId(0)) {
    broker_.on(kafka::ApiKey::metadata, [advertised, controller](const FakeBroker::Request& request) {
      kafka::MetadataResponse response;
      response.brokers = {{.node_id = BrokerId(0), .host = advertised.host, .port = advertised.port}};
      response.controller_id = controller;
      return request.answer(response);
    });
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("client").start();
  FakeBroker broker_{world_.add_node("broker"), kPort};
};

TEST_F(ConnectionTest, CallsAreAnswered) {
  answer_metadata({"broker", kPort});
  const auto connection = open();
  ASSERT_TRUE(connection) << connection.error().to_string();
  const auto response = ask(*connection);
  ASSERT_TRUE(response) << response.error().to_string();
  EXPECT_EQ(response->brokers.at(0).host, "broker");
  EXPECT_TRUE((*connection)->versions().offers(kafka::ApiKey::fetch));
}

TEST_F(ConnectionTest, ABrokerThatKnowsOnlyOldApiVersionsIsAskedAgain) {
  broker_.on(kafka::ApiKey::api_versions, [](const FakeBroker::Request& request) {
    kafka::ApiVersionsResponse response;
    response.api_keys = {{.api_key = 3, .min_version = 0, .max_version = 5},
                         {.api_key = 18, .min_version = 0, .max_version = 2}};
    if (request.version <= 2) return request.answer(response);
    response.error_code = ErrorCode::unsupported_version;
    return kafka::encode_response_frame(response, 0, request.correlation_id).bytes;
  });
  const auto connection = open();
  ASSERT_TRUE(connection) << connection.error().to_string();
  EXPECT_EQ((*connection)->versions().choose(kafka::ApiKey::metadata, {}), 5);
  EXPECT_EQ(broker_.requests(kafka::ApiKey::api_versions), 2u);
}

TEST_F(ConnectionTest, AVersionThatTheBrokerLacksIsNotSent) {
  const auto connection = open();
  const auto response = ask(*connection, {.min = 99});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), ErrorCode::unsupported_version);
  EXPECT_NE(response.error().message().find("broker:9092"), std::string::npos);
  EXPECT_EQ(broker_.requests(kafka::ApiKey::metadata), 0u);
  EXPECT_FALSE((*connection)->broken());
}

TEST_F(ConnectionTest, SilenceBreaksTheConnectionAfterTheTimeout) {
  const auto connection = open();
  const auto response = ask(*connection);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), ErrorCode::network_exception);
  EXPECT_EQ(response.error().message(), "broker broker:9092: it did not answer Metadata within 3000 ms");
  EXPECT_TRUE((*connection)->broken());
  EXPECT_EQ(ask(*connection).error().message(), response.error().message()) << "and stays broken";
}

TEST_F(ConnectionTest, AnswersThatMakeNoSenseBreakTheConnection) {
  const std::vector<std::function<Bytes(const FakeBroker::Request&)>> nonsense = {
      [](const auto&) { return Bytes(4, std::byte{0xff}); },                // a negative size
      [](const auto&) { return Bytes{{}, {}, {}, std::byte{2}, {}, {}}; },  // too short
      [](const auto& request) {
        return kafka::encode_response_frame(kafka::MetadataResponse(), request.version, 77).bytes;
      },
      [](const auto&) { return Bytes(); },  // closes
  };
  for (size_t i = 0; i < nonsense.size(); ++i) {
    broker_.on(kafka::ApiKey::metadata, nonsense[i]);
    const auto connection = open();
    const auto response = ask(*connection);
    ASSERT_FALSE(response) << i;
    EXPECT_EQ(response.error().code(), ErrorCode::network_exception) << i << response.error().to_string();
    EXPECT_TRUE((*connection)->broken()) << i;
  }
}

TEST_F(ConnectionTest, TheErrorNamesEveryAddressThatWasTried) {
  ClusterClient client(seams(), {.bootstrap = {{"nobody", 1}, {"broker", 2}}, .request_timeout = 1s});
  const auto connection = run(client.any_broker());
  ASSERT_FALSE(connection);
  EXPECT_NE(connection.error().message().find("nobody:1"), std::string::npos) << connection.error().message();
  EXPECT_NE(connection.error().message().find("broker:2"), std::string::npos) << connection.error().message();
}

TEST_F(ConnectionTest, OneConnectionServesBootstrapAndBroker) {
  answer_metadata({"broker", kPort});
  ClusterClient client(seams(), options());
  EXPECT_TRUE(run(client.broker(BrokerId(0))));
  EXPECT_TRUE(run(client.controller()));
  EXPECT_EQ(broker_.connections(), 1u);
  EXPECT_TRUE(run(client.broker(BrokerId(0), ConnectionUse::fetches)));
  EXPECT_EQ(broker_.connections(), 2u);
  EXPECT_EQ(run(client.broker(BrokerId(5))).error().code(), ErrorCode::broker_not_available);
}

Task<void> connect_and_count(ClusterClient& client, int& connected) {
  if (co_await client.connect({"broker", kPort})) ++connected;
}

Task<void> connect_all(ClusterClient& client, int& connected) {
  TaskGroup group;
  for (int i = 0; i < 5; ++i) group.spawn(connect_and_count(client, connected));
  co_await group.join();
}

TEST_F(ConnectionTest, WhoeverWantsTheSameConnectionWaitsForOneAttempt) {
  ClusterClient client(seams(), options());
  int connected = 0;
  world_.run_task(connect_all(client, connected));
  EXPECT_EQ(connected, 5);
  EXPECT_EQ(broker_.connections(), 1u);
}

TEST_F(ConnectionTest, AnAdvertisedAddressThatCannotBeReachedIsNamed) {
  answer_metadata({"elsewhere", 4});
  ClusterClient client(seams(), options());
  const auto connection = run(client.broker(BrokerId(0)));
  ASSERT_FALSE(connection);
  EXPECT_TRUE(connection.error().message().starts_with("broker 0 advertises elsewhere:4, which cannot be reached"))
      << connection.error().message();
}

TEST_F(ConnectionTest, AMovedControllerIsAskedAgain) {
  answer_metadata({"broker", kPort});
  int asked = 0;
  broker_.on(kafka::ApiKey::create_topics, [&asked](const FakeBroker::Request& request) {
    kafka::CreateTopicsResponse response;
    auto& topic = response.topics.emplace_back();
    topic.name = "t";
    topic.error_code = asked++ == 0 ? ErrorCode::not_controller : ErrorCode::none;
    topic.num_partitions = 4;
    return request.answer(response);
  });
  ClusterClient client(seams(), options());
  const auto created = run(create_topic(client, {.name = "t"}));
  ASSERT_TRUE(created) << created.error().to_string();
  EXPECT_EQ(created->partitions, 4);
  EXPECT_EQ(asked, 2);
}

Task<void> connect_in_vain(ClusterClient& client, int& refused) {
  const auto connection = co_await client.any_broker();
  if (!connection && connection.error() == ErrorCode::cancelled) ++refused;
}

TEST_F(ConnectionTest, ClosingWaitsForNoBrokerThatCannotBeReached) {
  world_.network().block("client", "broker");
  world_.network().options.connect_timeout = 1h;
  ClusterClient client(seams(), {.bootstrap = {{"broker", kPort}}});
  int refused = 0;
  TaskGroup group;
  for (int i = 0; i < 3; ++i) group.spawn(connect_in_vain(client, refused));
  world_.run_for(5s);
  EXPECT_EQ(refused, 0);
  const MonotonicTime closed = world_.now();
  client.close();
  world_.run_task(group.join());
  EXPECT_EQ(refused, 3);
  EXPECT_LT(world_.now() - closed, 1s);
}

TEST_F(ConnectionTest, ClosingWaitsForNoBrokerThatDoesNotAnswer) {
  broker_.on(kafka::ApiKey::api_versions, [](const auto&) { return std::nullopt; });
  ClusterClient client(seams(), {.bootstrap = {{"broker", kPort}}, .request_timeout = 1h});
  int refused = 0;
  TaskGroup group;
  group.spawn(connect_in_vain(client, refused));
  world_.run_for(5s);
  const MonotonicTime closed = world_.now();
  client.close();
  world_.run_task(group.join());
  EXPECT_EQ(refused, 1);
  EXPECT_LT(world_.now() - closed, 1s);
}

TEST_F(ConnectionTest, AClosedClientRefuses) {
  ClusterClient client(seams(), options());
  const auto connection = run(client.any_broker());
  client.close();
  EXPECT_TRUE((*connection)->broken());
  EXPECT_EQ(run(client.any_broker()).error().code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace naru::client
