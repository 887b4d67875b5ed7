#include "configuration/topic_config.h"

#include <gtest/gtest.h>

namespace naru {
namespace {

BrokerConfig broker(const ConfigOverrides& values = {}) {
  auto config = make_broker_config(values);
  EXPECT_TRUE(config) << config.error().to_string();
  return std::move(*config);
}

TEST(TopicConfig, HasOurDefaults) {
  const TopicConfig config = resolve_topic_config(broker(), {});
  EXPECT_EQ(config.max_message_bytes, 1048588);
  EXPECT_EQ(config.segment_bytes, 1 << 30);
  EXPECT_EQ(config.segment_ms, 7LL * 24 * 3600 * 1000);
  EXPECT_EQ(config.index_interval_bytes, 4096);
  EXPECT_EQ(config.timestamp_type, MessageTimestampType::create_time);
  EXPECT_FALSE(config.compacted);
  EXPECT_TRUE(config.acknowledges_after_sync());
  EXPECT_EQ(resolve_topic_values(broker(), {}).string("retention.ms"), "1209600000");
}

TEST(TopicConfig, MinInsyncReplicasFollowsTheReplicationFactorUnlessItIsSet) {
  const TopicConfig config = resolve_topic_config(broker(), {});
  EXPECT_EQ(config.effective_min_insync_replicas(1), 1);
  EXPECT_EQ(config.effective_min_insync_replicas(2), 1);
  EXPECT_EQ(config.effective_min_insync_replicas(3), 2);
  EXPECT_EQ(config.effective_min_insync_replicas(5), 2);
  EXPECT_EQ(resolve_topic_config(broker({{"min.insync.replicas", "3"}}), {}).effective_min_insync_replicas(1), 3);
}

TEST(TopicConfig, TheTopicWinsOverTheBroker) {
  const BrokerConfig with_values = broker({{"log.segment.bytes", "1000"}, {"message.max.bytes", "2000"}});
  const ConfigOverrides overrides{{"segment.bytes", "500"}, {"cleanup.policy", "compact,delete"}};
  const TopicConfig config = resolve_topic_config(with_values, overrides);
  EXPECT_EQ(config.segment_bytes, 500);
  EXPECT_EQ(config.max_message_bytes, 2000);
  EXPECT_TRUE(config.compacted);

  const ConfigValues values = resolve_topic_values(with_values, overrides);
  EXPECT_EQ(values.at("segment.bytes").source, ConfigSource::topic);
  EXPECT_EQ(values.at("max.message.bytes").source, ConfigSource::static_broker);
  EXPECT_EQ(values.at("segment.ms").source, ConfigSource::default_value);
}

TEST(TopicConfig, TheLevelIsThatOfTheCodec) {
  const BrokerConfig levels =
      broker({{"compression.gzip.level", "1"}, {"compression.lz4.level", "12"}, {"compression.zstd.level", "-7"}});
  const auto compression = [&](const char* type) {
    const TopicConfig config = resolve_topic_config(levels, {{"compression.type", type}});
    return std::pair(config.compression, config.compression_level);
  };
  EXPECT_EQ(compression("producer").first, TopicCompression::producer);
  EXPECT_EQ(compression("uncompressed").first, TopicCompression::uncompressed);
  EXPECT_EQ(compression("snappy").first, TopicCompression::snappy);
  EXPECT_EQ(compression("gzip"), std::pair(TopicCompression::gzip, 1));
  EXPECT_EQ(compression("lz4"), std::pair(TopicCompression::lz4, 12));
  EXPECT_EQ(compression("zstd"), std::pair(TopicCompression::zstd, -7));
  EXPECT_EQ(resolve_topic_config(broker(), {{"compression.type", "zstd"}}).compression_level, 3);
}

TEST(TopicConfig, TheFinestUnitThatIsSetWins) {
  const auto retention = [](const ConfigOverrides& values) {
    return resolve_topic_values(broker(values), {}).string("retention.ms");
  };
  EXPECT_EQ(retention({{"log.retention.hours", "2"}}), "7200000");
  EXPECT_EQ(retention({{"log.retention.hours", "2"}, {"log.retention.minutes", "3"}}), "180000");
  EXPECT_EQ(retention({{"log.retention.ms", "5"}, {"log.retention.minutes", "3"}}), "5");
  EXPECT_EQ(retention({{"log.retention.hours", "-1"}}), "-1") << "no limit in every unit";
  EXPECT_EQ(retention({{"log.retention.hours", "2147483647"}}), "7730941129200000");
}

TEST(TopicConfig, TheOldNameOfTheFlushIntervalStillBoundsWhatAPowerCutTakesBack) {
  EXPECT_EQ(resolve_topic_config(broker({{"log.flush.scheduler.interval.ms", "1000"}}), {}).flush_ms, 1000);
  EXPECT_EQ(
      resolve_topic_config(broker({{"log.flush.scheduler.interval.ms", "1000"}, {"log.flush.interval.ms", "500"}}), {})
          .flush_ms,
      500);
}

TEST(TopicConfig, OnlyTimeCountsForFollowersUnlessALagIsSet) {
  EXPECT_EQ(resolve_topic_config(broker(), {}).replica_lag_max_messages, std::nullopt);
  EXPECT_EQ(
      resolve_topic_config(broker(), {{"replica.lag.max.messages", "9223372036854775807"}}).replica_lag_max_messages,
      std::nullopt);
  EXPECT_EQ(resolve_topic_config(broker(), {{"replica.lag.max.messages", "5"}}).replica_lag_max_messages, 5);
}

TEST(TopicConfig, AStoredValueThatIsNoLongerValidIsSkipped) {
  const TopicConfig config =
      resolve_topic_config(broker(), {{"from.a.newer.version", "x"}, {"segment.bytes", "0"}, {"flush.messages", "9"}});
  EXPECT_EQ(config.segment_bytes, 1 << 30);
  EXPECT_FALSE(config.acknowledges_after_sync());
}

}  // namespace
}  // namespace naru
