#include "broker/marker_writer.h"

#include <gtest/gtest.h>

#include "broker/one_partition_testing.h"
#include "cluster_control/internal_topics.h"
#include "coordination_store/simulated/run_in_world.h"

namespace naru {
namespace {

constexpr ProducerId kProducer(7);

// The partition is of a topic of clients, or of __consumer_offsets.
class MarkerWriterTest : public BrokerWithOnePartition {
 protected:
  ~MarkerWriterTest() override {
    let_appends_end();
    world_.run_task(groups_.stop());
    world_.run_task(writer_.stop());
  }

  void host(std::string_view topic, bool synced_at_once) {
    topic_ = topic;
    BrokerWithOnePartition::host(topic,
                                 synced_at_once ? ConfigOverrides{{"flush.messages", "1000000"}} : ConfigOverrides{});
  }
  void start_groups(bool synced_at_once = true) {
    host(kOffsetsTopic, synced_at_once);
    create({hosted_internal_topic(kOffsetsTopic)});
    publish();
    world_.run_task(groups_.start());
    world_.run_for(1s);
  }

  struct Wanted {
    int16_t epoch = 0;
    int64_t number = 1000;
    int32_t partition = 0;
    int32_t leader_epoch = -1;
  };
  MarkerToWrite marker(const Wanted& wanted) const {
    return {.topic = topic_,
            .partition = PartitionIndex(wanted.partition),
            .request = {.producer = {kProducer, ProducerEpoch(wanted.epoch)},
                        .marker = {TransactionResult::commit, 1},
                        .transaction_version = 1,
                        .number = TransactionNumber(wanted.number),
                        .leader_epoch = LeaderEpoch(wanted.leader_epoch)}};
  }
  std::vector<ErrorCode> write(const std::vector<Wanted>& all, const CancelToken& cancelled = {}) {
    std::vector<MarkerToWrite> markers;
    for (const Wanted& wanted : all) markers.push_back(marker(wanted));
    std::vector<ErrorCode> codes;
    for (const Status& status : run_in(world_, writer_.write(std::move(markers), cancelled))) {
      codes.push_back(status.code());
    }
    return codes;
  }
  Offset end() { return partition_->log().end_offset(); }

  std::string topic_;
  GroupCoordinators groups_{process_->seams(), config_, hosted_, publisher_, metrics_};
  MarkerWriter writer_{process_->seams(), hosted_, groups_, unsynced_logs_};
};

using Written = std::vector<ErrorCode>;

TEST_F(MarkerWriterTest, ResultsComeInTheOrderOfTheMarkers) {
  host("t", true);
  EXPECT_EQ(write({{.partition = 3}, {.epoch = 2}, {.epoch = 1}, {.epoch = 2, .leader_epoch = 9}}),
            (Written{ErrorCode::unknown_topic_or_partition, ErrorCode::none, ErrorCode::invalid_producer_epoch,
                     ErrorCode::not_leader_or_follower}));
}

TEST_F(MarkerWriterTest, WhatIsNotCommittedInAMomentIsAskedForAgain) {
  host("t", false);
  const MonotonicTime begun = world_.now();
  EXPECT_EQ(write({{.partition = 3}, {}}),
            (Written{ErrorCode::unknown_topic_or_partition, ErrorCode::request_timed_out}));
  EXPECT_LT(world_.now() - begun, 2s) << "the others do not wait for longer than that";
  EXPECT_EQ(write({{}}), Written{ErrorCode::request_timed_out}) << "it may be lost yet";
  durability_.sync();
  EXPECT_EQ(write({{}}), Written{ErrorCode::none});
  EXPECT_EQ(end(), Offset(1)) << "one marker";
}

// Each marker begins a segment, whose files are open until they are synced.
TEST_F(MarkerWriterTest, ManyMarkersDoNotOpenMoreFilesThanThereAreDescriptors) {
  topic_ = "t";
  BrokerWithOnePartition::host(topic_, {{"flush.messages", "1000000"}, {"segment.bytes", "100"}});
  std::vector<Wanted> all;
  for (int16_t i = 0; i < 500; ++i) all.push_back({.epoch = i, .number = 1000 + i});
  Written written;
  TaskGroup tasks;
  const auto write_all = [&]() -> Task<void> {
    std::vector<MarkerToWrite> markers;
    for (const Wanted& wanted : all) markers.push_back(marker(wanted));
    for (const Status& status : co_await writer_.write(std::move(markers), {})) written.push_back(status.code());
  };
  tasks.spawn(write_all());
  size_t most = 0;
  for (int i = 0; i < 100 && written.empty(); ++i) {
    most = std::max(most, unsynced_logs_.files());
    if (durability_.asked > 0) durability_.sync();
    world_.run_for(1ms);
  }
  world_.run_task(tasks.join());
  EXPECT_EQ(written, Written(all.size(), ErrorCode::none));
  EXPECT_LE(most, 210u) << "200 are enough, and what one append adds";
}

TEST_F(MarkerWriterTest, WhoStopsIsAnsweredAtOnce) {
  host("t", false);
  CancelSource stopping;
  stopping.cancel();
  const MonotonicTime begun = world_.now();
  EXPECT_EQ(write({{}}, stopping.token()), Written{ErrorCode::request_timed_out});
  EXPECT_EQ(world_.now(), begun);
}

TEST_F(MarkerWriterTest, GroupsWriteTheirsThemselves) {
  start_groups();
  EXPECT_EQ(write({{.leader_epoch = 9}}), Written{ErrorCode::not_leader_or_follower});
  EXPECT_EQ(write({{}}), Written{ErrorCode::none});
  EXPECT_EQ(end(), Offset(1));
  EXPECT_EQ(write({{}}), Written{ErrorCode::none});
  EXPECT_EQ(end(), Offset(1)) << "it is there already";
}

TEST_F(MarkerWriterTest, WhoAsksTheGroupsAgainDoesNotWaitTwice) {
  start_groups(false);
  EXPECT_EQ(write({{}}), Written{ErrorCode::request_timed_out});
  const MonotonicTime begun = world_.now();
  EXPECT_EQ(write({{}}), Written{ErrorCode::request_timed_out});
  EXPECT_LT(world_.now() - begun, 1s);
  durability_.sync();
  world_.run_for(1s);
  EXPECT_EQ(write({{}}), Written{ErrorCode::none});
  EXPECT_EQ(end(), Offset(1)) << "one marker";
}

// The shard forgets producers earlier than its partition. Were the marker applied and then refused, all groups of the
// shard would be read again, and the marker would come again.
TEST_F(MarkerWriterTest, WhatThePartitionRefusesIsNotAskedOfTheGroups) {
  start_groups();
  const auto unseen = std::make_shared<AppendGroup>(1);
  partition_->append_marker(marker({.epoch = 5}).request, unseen, 0);
  ASSERT_TRUE(unseen->result(0).status.ok());
  EXPECT_EQ(write({{.epoch = 4, .number = 1001}}), Written{ErrorCode::invalid_producer_epoch});
  EXPECT_EQ(write({{.epoch = 5, .number = 1001}}), Written{ErrorCode::none}) << "the groups are there as before";
}

}  // namespace
}  // namespace naru
