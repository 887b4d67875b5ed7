#include "broker/group_coordinators.h"

#include <gtest/gtest.h>

#include "broker/one_partition_testing.h"
#include "cluster_control/internal_topics.h"
#include "consumer_groups/group_records.h"
#include "record_format/batch_builder.h"

namespace naru {
namespace {

// A broker with the one partition of __consumer_offsets. In its log is an offset of a topic that is gone, so that the
// coordinator appends something, the tombstone, as soon as it has loaded.
class GroupCoordinatorsTest : public BrokerWithOnePartition {
 protected:
  GroupCoordinatorsTest() {
    host(kOffsetsTopic, {{"cleanup.policy", "compact"}});
    append_offset({"gone", PartitionIndex(0)}, Uuid{});
    create({hosted_internal_topic(kOffsetsTopic)});
    publisher_.subscribe([this](MetadataImagePtr image) { return groups_.follow(std::move(image)); });
  }
  ~GroupCoordinatorsTest() override {
    let_appends_end();
    world_.run_task(groups_.stop());
  }

  void append_offset(const GroupPartition& at, const Uuid& topic_id) {
    const CommittedOffset committed{.offset = Offset(5), .committed_at = 1000, .topic_id = topic_id};
    const CoordinatorRecord record = offset_record("g", at, &committed);
    BatchBuilder builder;
    builder.add({.timestamp = 1000, .key = BytesView(record.key), .value = BytesView(*record.value), .headers = {}});
    SharedBytes batch(builder.build().value());
    auto validated = validate_produced_batch(batch.view(), {}, 1000);
    const auto group = std::make_shared<AppendGroup>(1);
    partition_->append({std::move(batch), std::move(*validated), Acks::all_in_sync}, group, 0);
    durability_.sync();
    EXPECT_TRUE(group->finished());
    durability_.asked = 0;
  }

  void publish_and_wait() {
    publish();
    world_.run_for(1s);
  }

  Task<void> fetch(std::vector<FetchedOffset>& offsets) {
    const auto answer = co_await groups_.ask<FetchOffsetsAnswer>(
        "g",
        [](GroupCoordinator& groups, Reply<FetchOffsetsAnswer> reply, const CoordinatorTime& time,
           CoordinatorOutcome& outcome) { groups.fetch_offsets({.group_id = "g"}, std::move(reply), time, outcome); });
    if (answer) offsets = answer->offsets;
  }

  GroupCoordinators groups_{process_->seams(), config_, hosted_, publisher_, metrics_};
};

TEST_F(GroupCoordinatorsTest, NothingIsServedOrAppendedBeforeTheStart) {
  publish_and_wait();
  publish_and_wait();
  EXPECT_TRUE(groups_.shards().empty()) << "the commit journals may not have begun";
  EXPECT_EQ(partition_->log().end_offset(), Offset(1));
}

TEST_F(GroupCoordinatorsTest, TheStartServesWhatThereIsWithoutAnotherChange) {
  publish_and_wait();
  world_.run_task(groups_.start());
  world_.run_for(1s);
  EXPECT_EQ(groups_.shards().size(), 1U);
  EXPECT_EQ(partition_->log().end_offset(), Offset(2)) << "the tombstone";
  EXPECT_EQ(durability_.asked, 1);
}

TEST_F(GroupCoordinatorsTest, TheOffsetOfAFormerTopicOfTheSameNameGoesWhenItsShardIsLoaded) {
  const GroupPartition of_former{std::string(kOffsetsTopic), PartitionIndex(0)};
  const GroupPartition of_todays{std::string(kOffsetsTopic), PartitionIndex(1)};
  append_offset(of_former, Uuid{7, 7});
  append_offset(of_todays, partition_->identity().topic_id);
  publish_and_wait();
  world_.run_task(groups_.start());
  world_.run_for(1s);
  durability_.sync();
  durability_.asked = 0;
  world_.run_for(1s);
  std::vector<FetchedOffset> fetched;
  world_.run_task(fetch(fetched));
  ASSERT_EQ(fetched.size(), 1U);
  EXPECT_EQ(fetched[0].partition, of_todays);
}

}  // namespace
}  // namespace naru
