// What becomes of the in-sync sets that leaders propose: above all that silence of the controller is no refusal.
#include "broker/isr_sender.h"

#include <gtest/gtest.h>

#include <deque>

#include "foundation/canary_testing.h"
#include "log_storage/file_sync_service.h"
#include "platform/simulated/simulated_world.h"
#include "record_format/batch_builder.h"
#include "replication/partition_testing.h"

namespace naru {
namespace {

constexpr BrokerId kIsrLeader(1), kIsrFollower(2);
constexpr int64_t kIsrFollowerEpoch = 70;

using Answers = Result<std::vector<AlterPartitionResult>>;

PartitionAssignment leads_before(std::vector<BrokerId> isr, int32_t partition_epoch) {
  return {.leader = kIsrLeader,
          .leader_epoch = LeaderEpoch(3),
          .partition_epoch = partition_epoch,
          .replicas = {kIsrLeader, kIsrFollower},
          .isr = std::move(isr)};
}

// A leader that is alone in its in-sync set, and a follower that has all it has.
class IsrSenderTest : public testing::Test {
 protected:
  ~IsrSenderTest() override { world_.run_task(sender_.stop()); }

  // The follower fetches, so it is proposed; the controller says this to it, and nothing to what comes later.
  void propose(Answers answer) {
    answers_.push_back(std::move(answer));
    run([this]() -> Task<void> { co_await fetch(); });
    world_.run_for(kProposalBackoff / 2);
    ASSERT_EQ(asked_.size(), 1u);
  }
  Task<void> fetch() {
    const Offset end = partition_->log().end_offset();
    const PartitionView view = co_await partition_->read_as_follower({.replica = kIsrFollower,
                                                                      .broker_epoch = kIsrFollowerEpoch,
                                                                      .from = end,
                                                                      .flushed_end = end,
                                                                      .log_start = Offset(0),
                                                                      .current_leader_epoch = LeaderEpoch(3)});
    EXPECT_TRUE(view.status.ok()) << view.status.to_string();
  }
  // Whether a record is committed that the follower does not have: that is the end of it if the follower may lead next.
  bool commits_alone() {
    BatchBuilder builder;
    builder.add(1000, "k", "v");
    SharedBytes batch(builder.build().value());
    auto validated = validate_produced_batch(batch.view(), {}, 1000);
    const auto group = std::make_shared<AppendGroup>(1);
    partition_->append({std::move(batch), *validated, Acks::all_in_sync}, group, 0);
    world_.run_for(kProposalBackoff / 4);
    return group->finished() && group->result(0).status.ok();
  }
  template <class Story>
  void run(Story story) {
    world_.run_task(story());
  }

  SimulatedWorld world_{1};
  SimulatedNode& node_ = world_.add_node("broker");
  std::unique_ptr<SimulatedProcess> process_ = node_.start();
  OpenFiles open_files_{node_.disk(), 4};
  MetricsRegistry metrics_;
  UnsyncedLogs unsynced_logs_{{.sync_beyond = 100, .full = 200}, metrics_};
  FileSyncService durability_{process_->seams().scheduler};
  MetadataPublisher metadata_;
  std::deque<Answers> answers_;
  std::vector<IsrChange> asked_;
  IsrSender sender_{process_->seams(),
                    [this](std::vector<IsrChange> changes) -> Task<Answers> {
                      asked_.insert(asked_.end(), changes.begin(), changes.end());
                      if (answers_.empty()) co_return failure(Status(ErrorCode::request_timed_out));
                      Answers answer = std::move(answers_.front());
                      answers_.pop_front();
                      co_return answer;
                    },
                    metadata_};
  std::shared_ptr<Partition> partition_ = open_test_partition(node_.disk(), open_files_,
                                                              {.clock = process_->seams().clock,
                                                               .scheduler = process_->seams().scheduler,
                                                               .durability = durability_,
                                                               .unsynced_logs = unsynced_logs_,
                                                               .isr_proposals = &sender_},
                                                              {}, leads_before({kIsrLeader}, 5));
};

Answers say(ErrorCode code) {
  return std::vector<AlterPartitionResult>{{Status(code), {}}};
}

TEST_F(IsrSenderTest, WhatIsAskedForNamesBothEpochsAndTheIncarnationOfTheFollower) {
  propose(say(ErrorCode::request_timed_out));
  const IsrChange& change = asked_.front();
  EXPECT_EQ(change.leader_epoch, LeaderEpoch(3));
  EXPECT_EQ(change.partition_epoch, 5);
  ASSERT_EQ(change.isr.size(), 2u);
  EXPECT_EQ(change.isr[1].id, kIsrFollower);
  EXPECT_EQ(change.isr[1].broker_epoch, kIsrFollowerEpoch);
}

// The controller may have let the follower in, and may elect it.
TEST_F(IsrSenderTest, WithoutAnAnswerTheFollowerCountsAndTheControllerIsAskedAgain) {
  propose(failure(Status(ErrorCode::request_timed_out)));
  EXPECT_FALSE(commits_alone());
  world_.run_for(2 * kProposalBackoff);
  ASSERT_GE(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].partition_epoch, 5) << "the same again";
}

TEST_F(IsrSenderTest, AnErrorThatDoesNotSayWhatBecameOfItIsNoRefusal) {
  propose(say(ErrorCode::not_controller));
  EXPECT_FALSE(commits_alone());
  world_.run_for(2 * kProposalBackoff);
  EXPECT_GE(asked_.size(), 2u);
}

TEST_F(IsrSenderTest, AnAnswerWithoutThisPartitionIsNoRefusal) {
  propose(std::vector<AlterPartitionResult>{});
  EXPECT_FALSE(commits_alone());
}

TEST_F(IsrSenderTest, WhatWasRefusedDoesNotCountAndIsAskedForAgainLater) {
  propose(say(ErrorCode::ineligible_replica));
  EXPECT_TRUE(commits_alone());
  run([this]() -> Task<void> { co_await fetch(); });
  world_.run_for(2 * kProposalBackoff);
  EXPECT_GE(asked_.size(), 2u);
}

TEST_F(IsrSenderTest, WhatWasOvertakenWaitsForTheAssignmentAndIsNotAskedForAgain) {
  propose(say(ErrorCode::invalid_update_version));
  EXPECT_FALSE(commits_alone());
  world_.run_for(4 * kProposalBackoff);
  EXPECT_EQ(asked_.size(), 1u);
  partition_->assign(leads_before({kIsrLeader}, 6));
  EXPECT_TRUE(commits_alone());
}

TEST_F(IsrSenderTest, WhatWasCommittedIsTheInSyncSet) {
  PartitionState now;
  now.partition_epoch = 6;
  now.isr = {kIsrLeader, kIsrFollower};
  propose(std::vector<AlterPartitionResult>{{Status(), now}});
  EXPECT_EQ(partition_->isr_size(), 2);
  EXPECT_FALSE(commits_alone());
}

TEST_F(IsrSenderTest, SilenceThatIsTakenForARefusalIsNoticed) {
  const PlantedCanary planted(Canary::silence_is_refused);
  propose(failure(Status(ErrorCode::request_timed_out)));
  EXPECT_TRUE(commits_alone());
}

TEST_F(IsrSenderTest, AnUnclearErrorThatIsTakenForARefusalIsNoticed) {
  const PlantedCanary planted(Canary::unclear_is_refused);
  propose(say(ErrorCode::not_controller));
  EXPECT_TRUE(commits_alone());
}

}  // namespace
}  // namespace naru
