#include "client/cluster_metadata.h"

#include <gtest/gtest.h>

#include "client/api_versions.h"
#include "client/broker_error.h"

namespace naru::client {
namespace {

kafka::MetadataResponse two_topics() {
  kafka::MetadataResponse response;
  response.cluster_id = "cluster";
  response.controller_id = BrokerId(2);
  response.brokers = {{.node_id = BrokerId(2), .host = "b", .port = 9093},
                      {.node_id = BrokerId(1), .host = "a", .port = 70000}};
  auto& orders = response.topics.emplace_back();
  orders.name = "orders";
  orders.partitions = {{.partition_index = PartitionIndex(1), .leader_id = BrokerId(2)},
                       {.partition_index = PartitionIndex(0), .leader_id = kNoBroker},
                       {.partition_index = PartitionIndex(1), .leader_id = BrokerId(1)}};
  response.topics.emplace_back().name = "bills";
  return response;
}

TEST(ClusterMetadata, IsSortedWithoutDoublesAndWithoutImpossiblePorts) {
  const ClusterMetadata metadata = make_metadata(two_topics());
  ASSERT_EQ(metadata.topics.size(), 2u);
  EXPECT_EQ(metadata.topics[0].name, "bills");
  ASSERT_EQ(metadata.find_topic("orders")->partitions.size(), 2u);
  EXPECT_TRUE(metadata.find_partition({"orders", PartitionIndex(0)})->is_offline());
  EXPECT_EQ(metadata.find_partition({"orders", PartitionIndex(2)}), nullptr);
  EXPECT_EQ(metadata.find_topic("nothing"), nullptr);
  EXPECT_EQ(metadata.find_broker(BrokerId(1))->address.port, 0);
  EXPECT_EQ(metadata.find_broker(BrokerId(2))->address, (Endpoint{"b", 9093}));
  EXPECT_EQ(metadata.find_broker(BrokerId(3)), nullptr);
}

TEST(ClusterMetadata, MergingReplacesWhatIsNewAndKeepsTheRest) {
  ClusterMetadata metadata = make_metadata(two_topics());
  kafka::MetadataResponse newer;
  newer.controller_id = BrokerId(1);
  newer.topics.emplace_back().name = "orders";
  newer.topics.emplace_back().name = "zebras";
  metadata.merge(make_metadata(newer));
  EXPECT_EQ(metadata.controller, BrokerId(1));
  EXPECT_TRUE(metadata.brokers.empty());
  ASSERT_EQ(metadata.topics.size(), 3u);
  EXPECT_TRUE(metadata.find_topic("orders")->partitions.empty());
  EXPECT_NE(metadata.find_topic("bills"), nullptr);
}

TEST(BrokerError, NamesNumbersThatWeDoNotKnow) {
  const Status status = broker_error(static_cast<ErrorCode>(999), "topic x", "out of order");
  EXPECT_EQ(status.code(), ErrorCode::unknown_server_error);
  EXPECT_EQ(status.message(), "topic x: error 999 of the protocol, out of order");
  EXPECT_FALSE(is_retriable(static_cast<ErrorCode>(999)));
  EXPECT_TRUE(may_have_happened(static_cast<ErrorCode>(999)));
}

TEST(BrokerError, PrefersTheWordsOfTheBroker) {
  EXPECT_TRUE(broker_error(ErrorCode::none, "topic x", "ignored").ok());
  EXPECT_EQ(broker_error(ErrorCode::invalid_config, "topic x", "retention.ms is odd").message(),
            "topic x: retention.ms is odd (INVALID_CONFIG)");
  EXPECT_EQ(broker_error(ErrorCode::topic_already_exists, "topic x").message(),
            "topic x: a topic of this name exists (TOPIC_ALREADY_EXISTS)");
}

TEST(ApiVersions, ChoosesTheHighestThatAllCan) {
  kafka::ApiVersionsResponse response;
  response.api_keys = {{.api_key = 3, .min_version = 0, .max_version = 9},
                       {.api_key = 19, .min_version = 0, .max_version = 1},
                       {.api_key = 1, .min_version = 5, .max_version = 4}};
  const ApiVersions versions(response);
  EXPECT_EQ(versions.choose(kafka::ApiKey::metadata, {}), 9);
  EXPECT_EQ(versions.choose(kafka::ApiKey::metadata, {.max = 4}), 4);
  const auto too_old = versions.choose(kafka::ApiKey::create_topics, {.min = 4});
  ASSERT_FALSE(too_old);
  EXPECT_EQ(too_old.error().message(), "it offers CreateTopics in versions 0 to 1, and 4 to 7 are needed");
  EXPECT_FALSE(versions.choose(kafka::ApiKey::fetch, {})) << "a range that is upside down is none";
  EXPECT_FALSE(versions.choose(kafka::ApiKey::produce, {}));
}

}  // namespace
}  // namespace naru::client
