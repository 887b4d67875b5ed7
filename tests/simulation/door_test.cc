// Listeners, doors and callers of whole brokers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "broker/broker.h"
#include "broker/peers.h"
#include "cluster_control/controller_office.h"
#include "coordination_store/simulated/simulated_coordination.h"
#include "foundation/endian.h"
#include "foundation/log.h"
#include "kafka_protocol/messages/api_versions_request.h"
#include "kafka_protocol/messages/api_versions_response.h"
#include "kafka_protocol/messages/create_topics_request.h"
#include "kafka_protocol/messages/create_topics_response.h"
#include "kafka_protocol/messages/fetch_request.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "kafka_protocol/messages/list_offsets_request.h"
#include "kafka_protocol/messages/list_offsets_response.h"
#include "kafka_protocol/messages/metadata_request.h"
#include "kafka_protocol/messages/metadata_response.h"
#include "kafka_protocol/messages/naru_forward_request.h"
#include "kafka_protocol/messages/naru_forward_response.h"
#include "kafka_protocol/messages/naru_metadata_request.h"
#include "kafka_protocol/messages/naru_metadata_response.h"
#include "simulation/kafka_client.h"
#include "simulation/line_door_testing.h"

namespace naru::simulation {
namespace {

constexpr uint16_t kClients = 9092;
constexpr uint16_t kBrokers = 9093;
constexpr uint16_t kLines = 9094;

// Lets alice do everything, and anybody everything but read; remembers who asked to create topics.
class Rules final : public Authorizer {
 public:
  explicit Rules(std::vector<Caller>& creators) : creators_(creators) {}
  bool authorize(const Caller& caller, Operation operation, ResourceType type,
                 std::string_view resource) const override {
    if (operation == Operation::create) creators_.push_back(caller);
    if (operation == Operation::read) return caller.principal.name == "alice";
    return ListenerRights().authorize(caller, operation, type, resource);
  }

 private:
  std::vector<Caller>& creators_;
};

// By listener.
class Delays final : public Quotas {
 public:
  explicit Delays(std::map<std::string, Milliseconds>& delays) : delays_(delays) {}
  Milliseconds charge(const Caller& caller, const QuotaUse&) override { return delays_[caller.listener]; }

 private:
  std::map<std::string, Milliseconds>& delays_;
};

class DoorTest : public testing::Test {
 protected:
  DoorTest() { silence_log(); }

  // Starts brokers with listeners CLIENTS, BROKERS and LINES, runs the story, and stops them.
  template <class Story>
  void run(int brokers, Story story) {
    world_.run_task([](DoorTest& test, int count, Story& told) -> Task<void> {
      for (int id = 1; id <= count; ++id) co_await test.start(id, count);
      co_await told();
      for (auto& [id, broker] : test.brokers_) ignore(co_await broker->stop());
    }(*this, brokers, story));
  }

  Task<void> start(int id, int count) {
    const std::string host = fmt::format("broker-{}", id);
    SimulatedNode& node = world_.add_node(host);
    auto& process = *processes_.emplace_back(node.start());
    const auto config =
        make_broker_config({{"log.dirs", "/data"},
                            {"node.id", std::to_string(id)},
                            {"listeners", fmt::format("CLIENTS://{0}:{1},BROKERS://{0}:{2}", host, kClients, kBrokers)},
                            {"listener.security.protocol.map", "CLIENTS:PLAINTEXT,BROKERS:PLAINTEXT"},
                            {"inter.broker.listener.name", "BROKERS"},
                            {"naru.journal.enable", "false"},
                            {"naru.admin.listener", ""}});
    Broker::Overrides overrides;
    overrides.authorizer = std::make_unique<Rules>(creators_[id]);
    overrides.quotas = std::make_unique<Delays>(delays_);
    overrides.extra_listeners.push_back(
        {.listener = {.name = "LINES", .address = {host, kLines}}, .make_door = [](const BrokerServices& services) {
           return std::make_unique<LineDoor>(services, ConnectionSettings{.max_frame_bytes = 100, .idle_timeout = 1h});
         }});
    if (count > 1) {
      overrides.open_store = [this, host,
                              seams = process.seams()]() -> Task<Result<std::unique_ptr<CoordinationStore>>> {
        co_return coordination_.connect(seams, host, 6s);
      };
    }
    brokers_[id] = (co_await Broker::start(process.seams(), config.value(), std::move(overrides))).value();
  }

  Seams seams() { return harness_->seams(); }
  Task<std::shared_ptr<KafkaClient>> connect(int id, uint16_t port) {
    co_return (co_await KafkaClient::connect(seams(), {fmt::format("broker-{}", id), port})).value();
  }
  static Task<ErrorCode> create_topic(KafkaClient& client, std::string name) {
    kafka::CreateTopicsRequest request;
    request.topics.push_back({.name = name, .num_partitions = 1, .replication_factor = 1});
    request.timeout_ms = 10'000;
    const auto response = co_await client.call<kafka::CreateTopicsResponse>(request, 5, 20s);
    co_return response ? response->topics.front().error_code : response.error().code();
  }

  SimulatedWorld world_{1};
  SimulatedCoordination coordination_{world_};
  std::unique_ptr<SimulatedProcess> harness_ = world_.add_node("harness").start();
  std::map<int, std::vector<Caller>> creators_;
  std::map<std::string, Milliseconds> delays_;
  std::vector<std::unique_ptr<SimulatedProcess>> processes_;
  std::map<int, std::unique_ptr<Broker>> brokers_;
};

TEST_F(DoorTest, AnotherProtocolHasItsOwnListenerCallerRightsAndLimits) {
  run(1, [this]() -> Task<void> {
    const auto kafka = co_await connect(1, kClients);
    EXPECT_EQ(co_await create_topic(*kafka, "orders"), ErrorCode::none);
    const auto lines = co_await LineClient::connect(seams(), {"broker-1", kLines});
    EXPECT_EQ(co_await lines->ask("WHO"), "+ANONYMOUS LINES harness");
    EXPECT_EQ(co_await lines->ask("END orders 0"), "-denied");
    EXPECT_EQ(co_await lines->ask("USER alice"), "+hello");
    EXPECT_EQ(co_await lines->ask("END orders 0"), "+0");
    EXPECT_EQ(co_await lines->ask("WHO"), "+alice LINES harness");
    EXPECT_EQ(co_await lines->ask(std::string(200, 'x')), "") << "a line over the limit of this door";
    EXPECT_EQ(co_await create_topic(*kafka, std::string(200, 'y')), ErrorCode::none) << "which is not Kafka's";
    kafka->close();
  });
}

TEST_F(DoorTest, QuotasAreAskedWithTheCallerAndTheResponseTellsTheDelay) {
  run(1, [this]() -> Task<void> {
    const auto kafka = co_await connect(1, kClients);
    const auto lines = co_await LineClient::connect(seams(), {"broker-1", kLines});
    const kafka::MetadataRequest request;
    const auto unthrottled = co_await kafka->call<kafka::MetadataResponse>(request, 9, 5s);
    EXPECT_EQ(unthrottled->throttle_time_ms, 0);
    delays_["CLIENTS"] = 700ms;
    const auto throttled = co_await kafka->call<kafka::MetadataResponse>(request, 9, 5s);
    EXPECT_EQ(throttled->throttle_time_ms, 700);
    EXPECT_EQ(co_await lines->ask("WHO"), "+ANONYMOUS LINES harness") << "another caller is not over its quota";
    const MonotonicTime muted = world_.now();
    delays_["CLIENTS"] = 0ms;
    EXPECT_TRUE((co_await kafka->call<kafka::MetadataResponse>(request, 9, 5s)).has_value());
    EXPECT_GE(world_.now() - muted, 600ms) << "the next request stays in the socket for as long";
    delays_["LINES"] = 50ms;
    EXPECT_EQ(co_await lines->ask("WHO"), "-slow down for 50 ms");
    kafka->close();
  });
}

TEST_F(DoorTest, ARequestThatIsPassedOnToTheControllerCarriesItsCaller) {
  run(3, [this]() -> Task<void> {
    const auto controller = static_cast<int>(brokers_[1]->controller().id.value());
    const int other = controller % 3 + 1;
    const auto client = co_await connect(other, kClients);
    kafka::ApiVersionsRequest hello{.client_software_name = "librdkafka", .client_software_version = "2.0"};
    EXPECT_TRUE((co_await client->call<kafka::ApiVersionsResponse>(hello, 3, 5s)).has_value());
    delays_["CLIENTS"] = 300ms;
    EXPECT_EQ(co_await create_topic(*client, "orders"), ErrorCode::none);
    EXPECT_TRUE(creators_[other].empty()) << "the controller decides";
    EXPECT_FALSE(creators_[controller].empty());
    if (!creators_[controller].empty()) {
      const Caller& caller = creators_[controller].front();
      EXPECT_EQ(caller.listener, "CLIENTS");
      EXPECT_EQ(caller.address.host, "harness");
      EXPECT_EQ(caller.software, (ClientSoftware{"librdkafka", "2.0"}));
    }
    const MonotonicTime muted = world_.now();
    delays_.clear();
    EXPECT_TRUE((co_await client->call<kafka::MetadataResponse>(kafka::MetadataRequest(), 9, 5s)).has_value());
    EXPECT_GE(world_.now() - muted, 200ms) << "the controller asks the quotas, and the client's broker obeys";
    client->close();
  });
}

// What a client says that it is, is not what it is.
TEST_F(DoorTest, NobodyActsAsABrokerOnAListenerForClients) {
  run(1, [this]() -> Task<void> {
    const auto ask = [this](uint16_t port, bool& told) -> Task<Result<kafka::NaruMetadataResponse>> {
      const auto client = co_await connect(1, port);
      kafka::ApiVersionsRequest hello{.client_software_name = kPeerSoftware, .client_software_version = "1.0"};
      const auto versions = co_await client->call<kafka::ApiVersionsResponse>(hello, 3, 5s);
      told = std::ranges::any_of(versions->api_keys, [](const auto& api) {
        return api.api_key == std::to_underlying(kafka::ApiKey::naru_metadata);
      });
      auto answer = co_await client->call<kafka::NaruMetadataResponse>(kafka::NaruMetadataRequest(), 0, 5s);
      client->close();
      co_return answer;
    };
    bool told = false;
    EXPECT_FALSE((co_await ask(kClients, told)).has_value()) << "the connection is closed";
    EXPECT_FALSE(told);
    EXPECT_TRUE((co_await ask(kBrokers, told)).has_value());
    EXPECT_TRUE(told);
  });
}

TEST_F(DoorTest, OnlyWhatBrokersPassOnIsAnsweredForAnotherCaller) {
  run(1, [this]() -> Task<void> {
    const auto client = co_await connect(1, kBrokers);
    const auto frame = kafka::encode_request_frame(
        kafka::ApiVersionsRequest{.client_software_name = "x", .client_software_version = "1"}, 3, 7, "inner");
    const kafka::NaruForwardRequest request{.frame = BytesView(frame.bytes).subspan(sizeof(int32_t)),
                                            .principal_name = "admin"};
    const auto answer = co_await client->call<kafka::NaruForwardResponse>(request, 0, 5s);
    EXPECT_EQ(answer->error_code, ErrorCode::invalid_request);
    EXPECT_TRUE(answer->frame.empty());
    client->close();
  });
}

TEST_F(DoorTest, ARequestThatCannotBeDecodedEndsTheConnectionOfItsCallerAlone) {
  run(3, [this]() -> Task<void> {
    const auto controller = static_cast<int>(brokers_[1]->controller().id.value());
    const int other = controller % 3 + 1;
    const auto malformed = co_await connect(other, kClients);
    kafka::CreateTopicsRequest request;
    request.topics.push_back({.name = "orders", .num_partitions = 1, .replication_factor = 1});
    Bytes frame = kafka::encode_request_frame(request, 5, 1, "client").bytes;
    frame.resize(frame.size() - 8);
    store_big_endian(frame.data(), static_cast<int32_t>(frame.size() - sizeof(int32_t)));
    malformed->write(frame);
    const auto closed = co_await malformed->call<kafka::MetadataResponse>(kafka::MetadataRequest(), 9, 10s);
    EXPECT_FALSE(closed.has_value());
    const auto next = co_await connect(other, kClients);
    EXPECT_EQ(co_await create_topic(*next, "orders"), ErrorCode::none)
        << "over the same connection between the brokers";
    next->close();
  });
}

}  // namespace
}  // namespace naru::simulation
