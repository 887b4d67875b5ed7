// What is set for brokers while they run, in whole brokers.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "kafka_protocol/messages/incremental_alter_configs_request.h"
#include "kafka_protocol/messages/incremental_alter_configs_response.h"
#include "simulation/cluster_scenario.h"
#include "simulation/kafka_client.h"

namespace naru::simulation {
namespace {

constexpr int16_t kVersion = 1;
constexpr int8_t kBrokerResource = 4;

// `broker`: its number, or empty for all.
Task<void> set(ClusterScenario& scenario, std::string broker, std::string key, std::string value) {
  const Endpoint address = scenario.broker(scenario.controller()).address();
  const auto client = (co_await KafkaClient::connect(scenario.seams(), address)).value();
  kafka::IncrementalAlterConfigsRequest request;
  request.resources = {{.resource_type = kBrokerResource,
                        .resource_name = std::move(broker),
                        .configs = {{.name = std::move(key), .value = std::move(value)}}}};
  const auto response =
      co_await client->call<kafka::IncrementalAlterConfigsResponse>(std::move(request), kVersion, 30s);
  EXPECT_EQ(response->responses.front().error_code, ErrorCode::none);
  client->close();
}

TEST(LiveConfig, TheNumberOfWorkersFollowsTheConfiguration) {
  ClusterScenario scenario(1);
  const auto have = [&scenario](size_t first, size_t others) {
    return [&scenario, first, others] {
      const auto workers = [&](int id) { return scenario.broker(BrokerId(id)).process().scheduler().blocking_limit(); };
      return workers(1) == first && workers(2) == others && workers(3) == others;
    };
  };
  scenario.run([&]() -> Task<void> {
    EXPECT_TRUE(have(8, 8)()) << "the default";
    co_await set(scenario, "", "num.io.threads", "5");
    EXPECT_TRUE(co_await scenario.comes_true(have(5, 5), 10s));
    co_await set(scenario, "1", "num.io.threads", "3");
    EXPECT_TRUE(co_await scenario.comes_true(have(3, 5), 10s));
  });
}

}  // namespace
}  // namespace naru::simulation
