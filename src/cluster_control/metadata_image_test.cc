#include "cluster_control/metadata_image.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cluster_control/create_topics.h"
#include "cluster_control/metadata_bench.h"
#include "cluster_control/stored_metadata.h"

namespace naru {
namespace {

std::string hex(BytesView bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

PartitionStatePtr partition(Uuid topic, int32_t index) {
  return std::make_shared<const PartitionState>(PartitionState{
      topic, PartitionIndex(index), {BrokerId(1), BrokerId(2)}, {BrokerId(2)}, BrokerId(2), LeaderEpoch(5), 6, 0});
}

// What is stored stays readable for ever: a change of these bytes needs a new version in schemas/internal.
TEST(StoredMetadata, VersionOneHasTheseBytes) {
  const Uuid id{0x0102030405060708, 0x090a0b0c0d0e0f10};
  const std::string id_hex = "0102030405060708090a0b0c0d0e0f10";
  EXPECT_EQ(hex(encode_cluster({.cluster_id = id, .feature_level = 1})), "0001" + id_hex + "000100");
  EXPECT_EQ(hex(encode_controller_epoch({.controller_epoch = 3, .controller_id = BrokerId(4)})),
            "0001"
            "00000003"
            "00000004"
            "00");
  EXPECT_EQ(hex(encode_generation(7)),
            "0001"
            "0000000000000007"
            "00");
  EXPECT_EQ(hex(encode_topic(id, 2, 9)), "0001" + id_hex +
                                             "00000002"
                                             "0000000000000009"
                                             "00");
  EXPECT_EQ(hex(encode_configs({{"a", "b"}})),
            "0001"
            "02"
            "0261"
            "0262"
            "00"
            "00");
  EXPECT_EQ(hex(encode_bucket({partition(id, 1)})),
            "0001"
            "02" +
                id_hex +
                "02"
                "00000001"
                "03"
                "00000001"
                "00000002"
                "02"
                "00000002"
                "00000002"
                "00000005"
                "00000006"
                "00"
                "00"
                "00");
  EXPECT_EQ(hex(encode_broker({BrokerId(1), id, 8, "r", {{"L", "h", 9092, 0}}})), "0001" + id_hex +
                                                                                      "0000000000000008"
                                                                                      "0272"
                                                                                      "02"
                                                                                      "024c"
                                                                                      "0268"
                                                                                      "2384"
                                                                                      "0000"
                                                                                      "00"
                                                                                      "00");
  EXPECT_EQ(hex(encode_deleted_topic({id, "t", 3, {BrokerId(1)}})),
            "0001"
            "0274"
            "00000003"
            "02"
            "00000001"
            "00");
}

class MetadataImageTest : public testing::Test {
 protected:
  MetadataImageTest() {
    CreateTopicsPlanner planner({{{.name = "a", .partition_count = 3, .id = {5, 1}},
                                  {.name = "b.c", .partition_count = 2, .configs = {{"flush.ms", "1"}}, .id = {5, 2}}},
                                 false},
                                config_, 0);
    bench_.run(planner);
  }
  ErrorCode error_after(Transaction transaction) {
    bench_.store().apply(std::move(transaction), 1);
    const auto rebuilt = bench_.rebuild();
    return rebuilt ? ErrorCode::none : rebuilt.error().code();
  }

  BrokerConfig config_ = *make_broker_config({});
  MetadataBench bench_{2};
};

TEST_F(MetadataImageTest, FindsTopicsByNameByIdAndByLikeness) {
  const MetadataImage& image = bench_.image();
  EXPECT_EQ(image.find_topic("a")->id, (Uuid{5, 1}));
  EXPECT_EQ(image.find_topic(Uuid{5, 2})->name, "b.c");
  EXPECT_EQ(image.find_topic("b_c"), nullptr);
  EXPECT_EQ(image.find_topic_like("b_c")->name, "b.c");
  EXPECT_EQ(image.find_topic_like("b"), nullptr);
  EXPECT_EQ(image.find_topic(Uuid{5, 3}), nullptr);
  EXPECT_EQ(image.find_broker(BrokerId(2)), nullptr);
  EXPECT_EQ(image.topics().size(), 2u);
}

TEST_F(MetadataImageTest, AChangeSharesTheTopicsThatItDoesNotTouch) {
  const TopicMetadata* before = bench_.image().find_topic("a");
  CreateTopicsPlanner planner({{{.name = "d", .id = {5, 4}}}, false}, config_, 0);
  bench_.run(planner);
  EXPECT_EQ(bench_.image().find_topic("a"), before);
}

TEST_F(MetadataImageTest, ATopicWithoutPartitionStatesIsCorrupt) {
  EXPECT_EQ(error_after({.puts = {{"topics/x", encode_topic({5, 9}, 1, 0)}}}), ErrorCode::corrupt_data);
}

TEST_F(MetadataImageTest, PartitionStatesWithoutTheirTopicAreCorrupt) {
  EXPECT_EQ(error_after({.deletes = {"topics/a"}}), ErrorCode::corrupt_data);
}

TEST_F(MetadataImageTest, MorePartitionStatesThanTheTopicHasAreCorrupt) {
  EXPECT_EQ(error_after({.puts = {{"topics/a", encode_topic({5, 1}, 2, 0)}}}), ErrorCode::corrupt_data);
}

TEST_F(MetadataImageTest, APartitionInTwoBucketsIsCorrupt) {
  const PartitionBucket again{bench_.image().find_topic("a")->partitions[0]};
  EXPECT_EQ(error_after({.puts = {{"partition_states/1", encode_bucket(again)}}}), ErrorCode::corrupt_data);
}

TEST_F(MetadataImageTest, TwoTopicsWithOneIdAreCorrupt) {
  EXPECT_EQ(error_after({.puts = {{"topics/x", encode_topic({5, 1}, 3, 0)}}}), ErrorCode::corrupt_data);
}

TEST_F(MetadataImageTest, ConfigurationWithoutItsTopicIsCorrupt) {
  EXPECT_EQ(error_after({.puts = {{"topic_configs/x", encode_configs({{"flush.ms", "1"}})}}}), ErrorCode::corrupt_data);
}

TEST_F(MetadataImageTest, ALeaderThatIsNoReplicaIsCorrupt) {
  PartitionState state = *bench_.image().find_topic("a")->partitions[0];
  state.leader = BrokerId(77);
  const PartitionBucket bucket{std::make_shared<const PartitionState>(state)};
  EXPECT_EQ(error_after({.puts = {{"partition_states/0", encode_bucket(bucket)}}}), ErrorCode::corrupt_data);
}

TEST_F(MetadataImageTest, BytesThatDoNotDecodeAreCorruptAndTheKeyIsNamed) {
  for (const char* key : {"cluster", "controller_epoch", "generation", "topics/a", "topic_configs/a", "brokers/1",
                          "broker_configs/1", "partition_states/0", "deleted_topics/AAAAAAAAAAAAAAAAAAAAAQ"}) {
    const MetadataImage nothing;
    MetadataImageBuilder builder(nothing);
    const Bytes bytes{std::byte{0}, std::byte{1}, std::byte{0xff}};
    const Status status = builder.put(key, bytes, 1);
    EXPECT_EQ(status.code(), ErrorCode::corrupt_data) << key;
    EXPECT_NE(status.message().find(key), std::string::npos);
  }
}

TEST_F(MetadataImageTest, NewerVersionsAndFeatureLevelsAreUnsupported) {
  EXPECT_EQ(error_after({.puts = {{"cluster", encode_cluster({.cluster_id = {1, 1}, .feature_level = 2})}}}),
            ErrorCode::unsupported_format);
  Bytes newer = encode_generation(1);
  newer[1] = std::byte{2};
  const MetadataImage nothing;
  EXPECT_EQ(MetadataImageBuilder(nothing).put("generation", newer, 1).code(), ErrorCode::unsupported_format);
}

TEST_F(MetadataImageTest, KeysThatAreNotMetadataAreSkipped) {
  EXPECT_EQ(error_after({.puts = {{"something/else", Bytes(3)}}}), ErrorCode::none);
}

}  // namespace
}  // namespace naru
