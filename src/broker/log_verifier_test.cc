#include "broker/log_verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "broker/one_partition_testing.h"
#include "cluster_control/create_topics.h"
#include "cluster_control/metadata_bench.h"
#include "log_storage/partition_folder.h"
#include "record_format/batch_builder.h"
#include "record_format/batch_validator.h"

namespace naru {
namespace {

// A partition on brokers 0, 1 and 2.
class MayHandOver : public testing::Test {
 protected:
  MayHandOver() {
    const BrokerConfig config = *make_broker_config({{"node.id", "0"}});
    CreateTopicsPlanner planner(
        {{{.name = "orders", .partition_count = 1, .replication_factor = 3, .id = Uuid{5, 6}}}, false}, config, 0);
    bench_.run(planner);
    log_ = {bench_.image().find_topic(std::string_view("orders"))->id, PartitionIndex(0)};
  }
  void gone(int32_t id) {
    bench_.lose_broker(BrokerId(id));
    bench_.settle();
  }
  bool may(int32_t id) { return may_hand_over(bench_.image(), log_, BrokerId(id)); }

  MetadataBench bench_{4};
  LogId log_;
};

TEST_F(MayHandOver, AReplicaThatIsInSyncWithAnotherOne) {
  const auto& replicas = bench_.image().find_topic(log_.topic_id)->partition(PartitionIndex(0))->replicas;
  for (const BrokerId id : replicas) EXPECT_TRUE(may(id.value()));
  for (int32_t id = 0; id < 4; ++id) {
    const bool is_replica = std::ranges::find(replicas, BrokerId(id)) != replicas.end();
    EXPECT_EQ(may(id), is_replica);
  }
}

TEST_F(MayHandOver, NotTheLastOneWhoseBrokerIsThere) {
  const auto replicas = bench_.image().find_topic(log_.topic_id)->partition(PartitionIndex(0))->replicas;
  bench_.lose_broker(replicas[1]);
  EXPECT_TRUE(may(replicas[0].value()));
  bench_.lose_broker(replicas[2]);
  EXPECT_FALSE(may(replicas[0].value()));
}

TEST_F(MayHandOver, NotTheLastOneWhoseLogCanBeUsed) {
  const auto replicas = bench_.image().find_topic(log_.topic_id)->partition(PartitionIndex(0))->replicas;
  bench_.tell_offline(replicas[1], {{log_.topic_id, log_.partition}});
  EXPECT_TRUE(may(replicas[0].value()));
  bench_.tell_offline(replicas[2], {{log_.topic_id, log_.partition}});
  EXPECT_FALSE(may(replicas[0].value()));
}

TEST_F(MayHandOver, NotOneThatIsNotInSync) {
  const auto replicas = bench_.image().find_topic(log_.topic_id)->partition(PartitionIndex(0))->replicas;
  bench_.tell_offline(replicas[0], {{log_.topic_id, log_.partition}});
  bench_.settle();
  EXPECT_FALSE(may(replicas[0].value()));
  EXPECT_TRUE(may(replicas[1].value()));
}

// A partition without other replicas.
class LogVerifierTest : public BrokerWithOnePartition {
 protected:
  LogVerifierTest() {
    host("orders", {{"segment.bytes", "150"}});
    for (int i = 0; i < 5; ++i) {
      BatchBuilder builder;
      builder.add(1000, std::nullopt, std::string(100, 'v'));
      SharedBytes batch(builder.build().value());
      auto validated = validate_produced_batch(batch.view(), {}, 1000);
      partition_->append({std::move(batch), *validated, Acks::leader}, std::make_shared<AppendGroup>(1), 0);
    }
    durability_.sync();
    verifier_.start();
  }
  ~LogVerifierTest() override { world_.run_task(verifier_.stop()); }

  int64_t counted(std::string_view metric) {
    const std::string page = metrics_.render_prometheus();
    const std::string line = fmt::format("\n{} ", metric);
    return std::stoll(page.substr(page.find(line) + line.size()));
  }
  void flip_in_segment(int64_t base) {
    const std::string folder = partition_->log().folder();
    node_.disk().flip_bit(folder + "/" + segment_file_name(Offset(base), ".log"), 80, 1);
  }
  PartitionView read(int64_t from) {
    PartitionView view;
    const auto read_into_view = [&]() -> Task<void> {
      view = co_await partition_->read({.from = Offset(from), .max_bytes = 1000, .at_least_one_batch = true});
    };
    world_.run_task(read_into_view());
    return view;
  }

  ClusterContact contact_{24h, process_->seams().clock.now()};
  LogVerifier verifier_{{.seams = process_->seams(),
                         .self = BrokerId(0),
                         .live_config = live_config_,
                         .hosted = hosted_,
                         .image = [this] { return publisher_.current(); },
                         .contact = contact_,
                         .metrics = metrics_}};
};

TEST_F(LogVerifierTest, EverythingIsReadAnHourAfterTheStartAndThenOnceAWeek) {
  const auto size = static_cast<int64_t>(partition_->log().size_bytes());
  world_.run_for(59min);
  EXPECT_EQ(counted("naru_log_verified_bytes_total"), 0);
  world_.run_for(2min);
  EXPECT_EQ(counted("naru_log_verified_bytes_total"), size);
  world_.run_for(6 * 24h);
  EXPECT_EQ(counted("naru_log_verified_bytes_total"), size);
  world_.run_for(24h);
  EXPECT_EQ(counted("naru_log_verified_bytes_total"), 2 * size);
  EXPECT_EQ(counted("naru_log_damaged_segments_total"), 0);
}

TEST_F(LogVerifierTest, TheOnlyCopyStaysOnlineAndRefusesWhatIsDamaged) {
  flip_in_segment(2);
  verifier_.suspect(partition_->id());
  world_.run_for(20s);
  EXPECT_EQ(counted("naru_log_damaged_segments_total"), 1);
  EXPECT_EQ(counted("naru_log_damaged_partitions"), 1);
  EXPECT_FALSE(partition_->offline());
  EXPECT_TRUE(read(1).status.ok());
  EXPECT_EQ(read(2).status.code(), ErrorCode::corrupt_message);
  EXPECT_TRUE(read(3).status.ok());
  flip_in_segment(2);
  world_.run_for(7 * 24h);
  EXPECT_EQ(counted("naru_log_damaged_partitions"), 0) << "it was the memory, not the disk";
}

TEST_F(LogVerifierTest, ALogThatIsSuspectedInVainIsNotReadAgainAtOnce) {
  for (int i = 0; i < 10; ++i) {
    verifier_.suspect(partition_->id());
    world_.run_for(10s);
  }
  EXPECT_EQ(counted("naru_log_verified_bytes_total"), static_cast<int64_t>(partition_->log().size_bytes()));
}

}  // namespace
}  // namespace naru
