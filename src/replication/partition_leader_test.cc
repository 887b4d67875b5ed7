#include "replication/partition_leader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace naru {
namespace {

constexpr BrokerId kSelf{1};
constexpr LeaderRules kStrict{.sync_before_ack = true, .min_insync_replicas = 1};
constexpr LeaderRules kLoose{.sync_before_ack = false, .min_insync_replicas = 1};
constexpr MonotonicTime kStart{};

class Recorder final : public AckWaiter {
 public:
  void acknowledged(const Status& status) override {
    ++times_told;
    code = status.code();
  }
  int times_told = 0;
  ErrorCode code = ErrorCode::none;
};

void tell_due(PartitionLeader& leader) {
  for (auto& due : leader.take_due()) due.waiter->acknowledged(due.status);
}

PartitionAssignment assigned(std::vector<BrokerId> replicas, std::vector<BrokerId> isr, int32_t partition_epoch = 0) {
  return {.leader = kSelf,
          .leader_epoch = LeaderEpoch(5),
          .partition_epoch = partition_epoch,
          .replicas = std::move(replicas),
          .isr = std::move(isr)};
}

PartitionLeader leader_of(const LeaderRules& rules, std::vector<BrokerId> isr, ReplicaProgress own = {}) {
  return {kSelf, rules, assigned({kSelf, BrokerId(2), BrokerId(3)}, std::move(isr)), own, Offset(0), kStart};
}

PartitionLeader alone(const LeaderRules& rules) {
  return {kSelf, rules, assigned({kSelf}, {kSelf}), {}, Offset(0), kStart};
}

std::vector<BrokerId> ids_of(const std::optional<IsrProposal>& proposal) {
  std::vector<BrokerId> ids;
  if (proposal) {
    for (const auto& member : proposal->isr) ids.push_back(member.id);
  }
  return ids;
}

// A follower whose log is synced.
bool fetched(PartitionLeader& leader, int32_t follower, int64_t end, MonotonicTime now = kStart, int64_t epoch = 7) {
  return leader.follower_fetched(BrokerId(follower), {epoch}, {.log_end = Offset(end), .synced_end = Offset(end)}, now);
}

void append(PartitionLeader& leader, int64_t records, MonotonicTime now = kStart) {
  const Offset base = leader.own_progress().log_end;
  leader.appended(base, base + records, now);
  leader.synced(base + records);
}

bool has_to_wait(PartitionLeader& leader, Offset end, Acks acks, std::shared_ptr<Recorder> waiter) {
  if (leader.verdict(end, acks)) return false;
  leader.wait_for(end, acks, std::move(waiter));
  return true;
}

TEST(PartitionLeader, StrictAcknowledgesAndShowsOnlyWhatIsSynced) {
  auto leader = alone(kStrict);
  for (const Acks acks : {Acks::leader, Acks::all_in_sync}) {
    const auto waiter = std::make_shared<Recorder>();
    const Offset end = leader.own_progress().log_end + 10;
    leader.appended(leader.own_progress().log_end, end, kStart);
    EXPECT_TRUE(has_to_wait(leader, end, acks, waiter));
    EXPECT_LT(leader.high_watermark(), end);
    tell_due(leader);
    EXPECT_EQ(waiter->times_told, 0);
    leader.synced(end);
    tell_due(leader);
    EXPECT_EQ(waiter->times_told, 1);
    EXPECT_EQ(leader.high_watermark(), end);
  }
}

TEST(PartitionLeader, LooseAcknowledgesAtOnceAndNeverWaitsForASync) {
  auto leader = alone(kLoose);
  leader.appended(Offset(0), Offset(10), kStart);
  EXPECT_EQ(leader.high_watermark(), Offset(10));
  EXPECT_TRUE(leader.verdict(Offset(10), Acks::leader)->ok());
  EXPECT_TRUE(leader.verdict(Offset(10), Acks::all_in_sync)->ok());
}

TEST(PartitionLeader, AWaiterForAnEarlierOffsetIsToldBeforeThoseThatCameBeforeIt) {
  auto leader = alone(kStrict);
  leader.appended(Offset(0), Offset(5), kStart);
  leader.appended(Offset(5), Offset(9), kStart);
  const auto later = std::make_shared<Recorder>();
  const auto earlier = std::make_shared<Recorder>();
  EXPECT_TRUE(has_to_wait(leader, Offset(9), Acks::all_in_sync, later));
  EXPECT_TRUE(has_to_wait(leader, Offset(5), Acks::all_in_sync, earlier));
  leader.synced(Offset(5));
  tell_due(leader);
  EXPECT_EQ(earlier->times_told, 1);
  EXPECT_EQ(later->times_told, 0);
  leader.synced(Offset(9));
  tell_due(leader);
  EXPECT_EQ(later->times_told, 1);
}

TEST(PartitionLeader, AcksOneWaitsForTheLeadersSyncOnlyAndAcksAllForEveryInSyncReplicas) {
  auto leader = leader_of(kStrict, {kSelf, BrokerId(2)});
  leader.appended(Offset(0), Offset(5), kStart);
  const auto one = std::make_shared<Recorder>();
  const auto all = std::make_shared<Recorder>();
  EXPECT_TRUE(has_to_wait(leader, Offset(5), Acks::leader, one));
  EXPECT_TRUE(has_to_wait(leader, Offset(5), Acks::all_in_sync, all));
  leader.synced(Offset(5));
  tell_due(leader);
  EXPECT_EQ(one->times_told, 1);
  EXPECT_EQ(all->times_told, 0);
  leader.follower_fetched(BrokerId(2), {7}, {.log_end = Offset(5), .synced_end = Offset(4)}, kStart);
  tell_due(leader);
  EXPECT_EQ(leader.high_watermark(), Offset(4)) << "the follower has fetched 5 but synced 4";
  EXPECT_EQ(all->times_told, 0);
  fetched(leader, 2, 5);
  tell_due(leader);
  EXPECT_EQ(all->times_told, 1);
}

TEST(PartitionLeader, TooFewInSyncReplicasTurnTheAckOfWhatWasWrittenIntoAnError) {
  auto leader = leader_of({.sync_before_ack = true, .min_insync_replicas = 2}, {kSelf, BrokerId(2)});
  leader.appended(Offset(0), Offset(1), kStart);
  leader.synced(Offset(1));
  const auto all = std::make_shared<Recorder>();
  EXPECT_TRUE(has_to_wait(leader, Offset(1), Acks::all_in_sync, all));
  leader.set_assignment(assigned({kSelf, BrokerId(2)}, {kSelf}, 1), kStart);
  EXPECT_FALSE(leader.enough_replicas());
  tell_due(leader);
  EXPECT_EQ(all->code, ErrorCode::not_enough_replicas_after_append);
}

TEST(PartitionLeader, AnInSyncReplicaThatNeverReportedHoldsTheHighWatermark) {
  auto leader = leader_of(kLoose, {kSelf, BrokerId(2)}, {.log_end = Offset(7), .synced_end = Offset(7)});
  EXPECT_EQ(leader.high_watermark(), Offset(0));
}

TEST(PartitionLeader, TakeAllEmptiesBothQueues) {
  auto leader = alone(kStrict);
  leader.appended(Offset(0), Offset(1), kStart);
  const auto one = std::make_shared<Recorder>();
  const auto all = std::make_shared<Recorder>();
  EXPECT_TRUE(has_to_wait(leader, Offset(1), Acks::leader, one));
  EXPECT_TRUE(has_to_wait(leader, Offset(1), Acks::all_in_sync, all));
  EXPECT_EQ(leader.take_all().size(), 2u);
  EXPECT_EQ(leader.waiting(), 0u);
}

TEST(PartitionLeader, ANewLeaderKnowsItsHighWatermarkWhenItHasReachedTheStartOfItsEpoch) {
  PartitionLeader leader(kSelf, kStrict, assigned({kSelf, BrokerId(2)}, {kSelf, BrokerId(2)}),
                         {.log_end = Offset(10), .synced_end = Offset(10)}, Offset(6), kStart);
  EXPECT_EQ(leader.high_watermark(), Offset(6)) << "what it knew as a follower";
  EXPECT_EQ(leader.epoch_start(), Offset(10));
  append(leader, 2);
  fetched(leader, 2, 9);
  EXPECT_FALSE(leader.high_watermark_known()) << "10 may have been promised by the leader before";
  fetched(leader, 2, 10);
  EXPECT_TRUE(leader.high_watermark_known());
  EXPECT_EQ(leader.high_watermark(), Offset(10));
}

bool begins(PartitionLeader& leader, int32_t follower, int64_t start, int64_t end, MonotonicTime now = kStart) {
  const ReplicaProgress progress{.log_end = Offset(end), .synced_end = Offset(end), .log_start = Offset(start)};
  return leader.follower_fetched(BrokerId(follower), {7}, progress, now);
}

TEST(PartitionLeader, TheStartOfTheLogIsToldWhenEveryInSyncReplicaBeginsThere) {
  const ReplicaProgress own{.log_end = Offset(10), .synced_end = Offset(10)};
  auto leader = leader_of(kStrict, {kSelf, BrokerId(2), BrokerId(3)}, own);
  EXPECT_EQ(leader.common_start(), Offset(0)) << "no log begins earlier";
  leader.begins_at(Offset(6), kStart);
  EXPECT_EQ(leader.common_start(), Offset(0));
  begins(leader, 2, 6, 10);
  EXPECT_EQ(leader.common_start(), Offset(0)) << "3 may be elected, and still has what is below 6";
  begins(leader, 3, 4, 10);
  EXPECT_EQ(leader.common_start(), Offset(4));
  begins(leader, 3, 8, 10);
  EXPECT_EQ(leader.common_start(), Offset(6));
  begins(leader, 3, 2, 10);
  EXPECT_EQ(leader.common_start(), Offset(6)) << "never backwards";
}

// It lacks no record, yet clients cannot be told where the log begins while it may be elected.
TEST(PartitionLeader, AMemberThatDoesNotMoveItsStartLeavesTheSet) {
  const ReplicaProgress own{.log_end = Offset(100), .synced_end = Offset(100)};
  auto leader = leader_of(kStrict, {kSelf, BrokerId(2), BrokerId(3)}, own);
  for (const int32_t id : {2, 3}) ASSERT_TRUE(fetched(leader, id, 100));
  EXPECT_FALSE(leader.check_followers(kStart + 1h)) << "nothing has happened that they should know of";
  leader.begins_at(Offset(50), kStart + 1h);
  EXPECT_FALSE(leader.check_followers(kStart + 1h + 30s));
  ASSERT_TRUE(begins(leader, 2, 50, 100, kStart + 1h + 30s));
  const auto proposal = leader.check_followers(kStart + 1h + 31s);
  EXPECT_EQ(ids_of(proposal), (std::vector{kSelf, BrokerId(2)}));
  EXPECT_EQ(leader.common_start(), Offset(0)) << "the controller may elect 3 until it has agreed";
  leader.set_assignment(assigned({kSelf, BrokerId(2), BrokerId(3)}, {kSelf, BrokerId(2)}, 1), kStart + 1h + 32s);
  EXPECT_EQ(leader.common_start(), Offset(50));
}

TEST(PartitionLeader, AMemberThatFollowsAStartThatKeepsMovingStays) {
  const ReplicaProgress own{.log_end = Offset(100), .synced_end = Offset(100)};
  auto leader = leader_of(kStrict, {kSelf, BrokerId(2)}, own);
  ASSERT_TRUE(fetched(leader, 2, 100));
  for (int64_t step = 1; step <= 20; ++step) {
    const MonotonicTime now = kStart + step * 10s;
    leader.begins_at(Offset(step), now);
    ASSERT_TRUE(begins(leader, 2, step - 1, 100, now)) << "always one behind";
    EXPECT_FALSE(leader.check_followers(now));
  }
}

TEST(PartitionLeader, ANewLeaderTellsNoStartUntilTheInSyncReplicasHaveSaidTheirs) {
  const ReplicaProgress own{.log_end = Offset(10), .synced_end = Offset(10), .log_start = Offset(6)};
  auto leader = leader_of(kStrict, {kSelf, BrokerId(2)}, own);
  EXPECT_EQ(leader.common_start(), kNoOffset) << "the leader before may have told less than 6, and 2 may begin there";
  begins(leader, 2, 3, 10);
  EXPECT_EQ(leader.common_start(), Offset(3));
}

TEST(PartitionLeader, AFollowerThatBeginsEarlierThanTheLeaderDoesNotJoin) {
  const ReplicaProgress own{.log_end = Offset(10), .synced_end = Offset(10), .log_start = Offset(6)};
  auto leader = leader_of(kStrict, {kSelf}, own);
  EXPECT_EQ(leader.common_start(), Offset(6));
  begins(leader, 2, 5, 10);
  EXPECT_FALSE(leader.maybe_expand(kStart));
  begins(leader, 2, 6, 10);
  EXPECT_TRUE(leader.maybe_expand(kStart));
  leader.begins_at(Offset(8), kStart);
  EXPECT_EQ(leader.common_start(), Offset(6)) << "the controller may have agreed already";
}

// Its high watermark may be an old one then, and what an earlier leader has promised is above it.
TEST(PartitionLeader, AFollowerOfANewLeaderHasToHaveSyncedUpToTheStartOfTheEpoch) {
  auto leader = leader_of(kStrict, {kSelf, BrokerId(2)}, {.log_end = Offset(10), .synced_end = Offset(10)});
  ASSERT_EQ(leader.high_watermark(), Offset(0));
  ASSERT_TRUE(leader.follower_fetched(BrokerId(3), {7}, {.log_end = Offset(10), .synced_end = Offset(9)}, kStart));
  EXPECT_FALSE(leader.maybe_expand(kStart));
  ASSERT_TRUE(fetched(leader, 3, 10));
  EXPECT_TRUE(leader.maybe_expand(kStart));
}

// All registrations end when the coordination service was away for long; the brokers have lost nothing.
TEST(PartitionLeader, AMemberThatIsNotRegisteredCountsAndOneThatIsNoMemberDoesNotJoin) {
  auto leader = leader_of(kStrict, {kSelf, BrokerId(2)});
  append(leader, 10);
  const ReplicaProgress all{.log_end = Offset(10), .synced_end = Offset(10)};
  ASSERT_TRUE(leader.follower_fetched(BrokerId(2), {.broker_epoch = 7, .registered = false}, all, kStart));
  EXPECT_EQ(leader.high_watermark(), Offset(10));
  EXPECT_FALSE(leader.follower_fetched(BrokerId(2), {.broker_epoch = 6, .registered = false}, all, kStart))
      << "an earlier life";
  EXPECT_FALSE(leader.follower_fetched(BrokerId(3), {.broker_epoch = 7, .registered = false}, all, kStart));
  EXPECT_FALSE(leader.maybe_expand(kStart));
  ASSERT_TRUE(leader.follower_fetched(BrokerId(3), {.broker_epoch = 8}, all, kStart));
  EXPECT_TRUE(leader.maybe_expand(kStart));
}

TEST(PartitionLeader, AFollowerJoinsWhenItHasSyncedUpToTheHighWatermarkAndTheStartOfTheEpoch) {
  auto leader = leader_of(kStrict, {kSelf}, {.log_end = Offset(10), .synced_end = Offset(10)});
  leader.follower_fetched(BrokerId(2), {7}, {.log_end = Offset(10), .synced_end = Offset(9)}, kStart);
  EXPECT_FALSE(leader.maybe_expand(kStart)) << "9 is not synced there";
  fetched(leader, 2, 10);
  const auto proposal = leader.maybe_expand(kStart);
  ASSERT_TRUE(proposal);
  EXPECT_EQ(ids_of(proposal), (std::vector{kSelf, BrokerId(2)}));
  EXPECT_EQ(proposal->isr[1].broker_epoch, 7);
  EXPECT_FALSE(leader.maybe_expand(kStart)) << "one at a time";

  // From now on the high watermark waits for it, and acknowledgements still count the committed set.
  append(leader, 5);
  EXPECT_EQ(leader.high_watermark(), Offset(10));
  leader.proposal_answered(
      *proposal, {.verdict = IsrAnswer::Verdict::committed, .partition_epoch = 1, .isr = {kSelf, BrokerId(2)}}, kStart);
  EXPECT_EQ(leader.in_sync().size(), 2u);
  EXPECT_EQ(leader.high_watermark(), Offset(10));
}

TEST(PartitionLeader, WhoeverWasTakenOutByTheControllerIsProposedOnlyWhenItHasFetchedAgain) {
  auto leader = leader_of(kLoose, {kSelf, BrokerId(2)});
  fetched(leader, 2, 0);
  leader.set_assignment({.leader = kSelf,
                         .leader_epoch = LeaderEpoch(5),
                         .partition_epoch = 1,
                         .replicas = {kSelf, BrokerId(2)},
                         .isr = {kSelf}},
                        kStart);
  EXPECT_FALSE(leader.check_followers(kStart + 2s)) << "it is gone, for all we know";
  fetched(leader, 2, 0);
  EXPECT_TRUE(leader.maybe_expand(kStart + 2s));
}

// The controller may have made the change and elected the new member, although the leader never heard of it.
TEST(PartitionLeader, AProposalWithoutAnAnswerHoldsTheHighWatermarkAndIsAskedAgain) {
  auto leader = leader_of(kLoose, {kSelf});
  fetched(leader, 2, 0);
  const auto proposal = leader.maybe_expand(kStart);
  ASSERT_TRUE(proposal);
  leader.proposal_answered(*proposal, {.verdict = IsrAnswer::Verdict::unknown}, kStart);
  append(leader, 3);
  EXPECT_EQ(leader.high_watermark(), Offset(0));
  EXPECT_FALSE(leader.check_followers(kStart)) << "not at once";
  EXPECT_EQ(leader.check_followers(kStart + 2s), proposal);
  leader.proposal_answered(*proposal, {.verdict = IsrAnswer::Verdict::refused}, kStart + 2s);
  EXPECT_EQ(leader.high_watermark(), Offset(3));
}

TEST(PartitionLeader, ANewerAssignmentEndsAProposalAndItsLateAnswerSaysNothing) {
  auto leader = leader_of(kLoose, {kSelf});
  fetched(leader, 2, 0);
  const auto proposal = leader.maybe_expand(kStart);
  leader.set_assignment(assigned({kSelf, BrokerId(2)}, {kSelf}, 4), kStart);
  append(leader, 3);
  EXPECT_EQ(leader.high_watermark(), Offset(3));
  leader.proposal_answered(
      *proposal, {.verdict = IsrAnswer::Verdict::committed, .partition_epoch = 1, .isr = {kSelf, BrokerId(2)}}, kStart);
  EXPECT_EQ(leader.in_sync(), std::vector{kSelf});
}

TEST(PartitionLeader, AnEarlierLifeOfABrokerCountsForNothing) {
  auto leader = leader_of(kLoose, {kSelf, BrokerId(2)});
  append(leader, 5);
  EXPECT_TRUE(fetched(leader, 2, 3, kStart, 8));
  EXPECT_FALSE(fetched(leader, 2, 5, kStart, 7));
  EXPECT_EQ(leader.high_watermark(), Offset(3));
  EXPECT_FALSE(fetched(leader, 9, 5)) << "not a replica";
}

TEST(PartitionLeader, WhoDoesNotCatchUpForTooLongLeaves) {
  auto leader = leader_of(kStrict, {kSelf, BrokerId(2), BrokerId(3)});
  append(leader, 1);
  fetched(leader, 2, 1);
  EXPECT_FALSE(leader.check_followers(kStart + 29s)) << "3 was not heard of, and has its time";
  append(leader, 1, kStart + 29s);
  const auto proposal = leader.check_followers(kStart + 31s);
  EXPECT_EQ(ids_of(proposal), (std::vector{kSelf, BrokerId(2)})) << "2 was caught up until the last append";
  EXPECT_EQ(leader.high_watermark(), Offset(0)) << "3 still counts";
}

TEST(PartitionLeader, AFollowerAlwaysALittleBehindABusyLeaderStays) {
  auto leader = leader_of(kStrict, {kSelf, BrokerId(2)});
  append(leader, 1);
  for (int second = 1; second < 200; ++second) {
    const MonotonicTime now = kStart + std::chrono::seconds(second);
    append(leader, 10, now);
    // It has what was there three seconds ago.
    fetched(leader, 2, std::max(0, 10 * (second - 3)), now);
    ASSERT_FALSE(leader.check_followers(now)) << second;
  }
}

// replica.lag.max.messages as users know it from the first versions of Kafka, without their trap.
TEST(PartitionLeader, WhereTheTopicSaysSoWhoIsTooManyRecordsBehindLeaves) {
  auto leader = leader_of({.sync_before_ack = false, .lag_max_messages = 4}, {kSelf, BrokerId(2)});
  append(leader, 2);
  fetched(leader, 2, 2);
  append(leader, 1);
  append(leader, 2);
  EXPECT_FALSE(leader.check_followers(kStart)) << "3 behind, 4 allowed";
  append(leader, 2);
  EXPECT_EQ(ids_of(leader.check_followers(kStart)), std::vector{kSelf}) << "5 behind";
}

TEST(PartitionLeader, ASingleBatchLargerThanTheLimitExpelsNobody) {
  auto leader = leader_of({.sync_before_ack = false, .lag_max_messages = 4}, {kSelf, BrokerId(2)});
  fetched(leader, 2, 0);
  append(leader, 100);
  EXPECT_FALSE(leader.check_followers(kStart));
  append(leader, 1);
  EXPECT_EQ(ids_of(leader.check_followers(kStart)), std::vector{kSelf}) << "now it lacks two batches";
}

// The same rules, computed from scratch each time, and a controller that may do what it was asked at any later moment.
struct LeaderModel {
  bool strict = true;
  int32_t min_insync = 1;
  std::vector<BrokerId> in_sync{kSelf};
  std::vector<BrokerId> proposed;  // without an end that is known here
  std::map<BrokerId, ReplicaProgress> progress{{kSelf, {}}};
  Offset high_watermark{0};

  Offset counted(BrokerId replica) const {
    const auto& p = progress.at(replica);
    return strict ? p.synced_end : p.log_end;
  }
  // Of all that may be in sync in the controller's eyes.
  std::optional<Offset> least() const {
    Offset lowest = counted(kSelf);
    for (const auto& set : {in_sync, proposed}) {
      for (const BrokerId replica : set) {
        if (!progress.contains(replica)) return std::nullopt;
        lowest = std::min(lowest, counted(replica));
      }
    }
    return lowest;
  }
  void settle() {
    if (const auto lowest = least()) high_watermark = std::max(high_watermark, *lowest);
  }
};

class LeaderAgainstModel {
 public:
  explicit LeaderAgainstModel(uint64_t seed)
      : random_(seed),
        model_{.strict = below(2) == 0, .min_insync = static_cast<int32_t>(1 + below(2))},
        leader_(leader_of({model_.strict, model_.min_insync}, {kSelf})) {}

  void step() {
    now_ += std::chrono::milliseconds(below(2000));
    switch (below(8)) {
      case 0:
      case 1:
        append_batch();
        break;
      case 2:
        sync();
        break;
      case 3:
      case 4:
        follower_fetches();
        break;
      case 5:
        if (auto proposal = leader_.check_followers(now_)) sent(*proposal);
        break;
      case 6:
        controller_acts();
        break;
      default:
        model_.strict = below(4) != 0;
        leader_.set_rules({model_.strict, model_.min_insync});
        break;
    }
    check();
  }

 private:
  struct Waiting {
    Offset end;
    Acks acks;
    std::shared_ptr<Recorder> recorder;
  };
  uint64_t below(uint64_t n) { return random_() % n; }
  int64_t part_of(int64_t n) { return static_cast<int64_t>(below(static_cast<uint64_t>(n) + 1)); }

  void append_batch() {
    auto& own = model_.progress[kSelf];
    const Offset base = own.log_end;
    own.log_end += static_cast<int64_t>(1 + below(5));
    leader_.appended(base, own.log_end, now_);
    model_.settle();
    const Acks acks = below(2) == 0 ? Acks::leader : Acks::all_in_sync;
    Waiting entry{own.log_end, acks, std::make_shared<Recorder>()};
    if (!has_to_wait(leader_, entry.end, acks, entry.recorder)) {
      entry.recorder->acknowledged(*leader_.verdict(entry.end, acks));
    }
    waiting_.push_back(std::move(entry));
  }
  void sync() {
    auto& own = model_.progress[kSelf];
    own.synced_end += part_of(own.log_end - own.synced_end);
    leader_.synced(own.synced_end);
  }
  void follower_fetches() {
    const BrokerId follower(static_cast<int32_t>(2 + below(2)));
    auto& theirs = model_.progress[follower];
    if (below(20) == 0) {  // another life, which has lost what was not synced
      ++broker_epochs_[follower];
      theirs.log_end = theirs.synced_end;
    }
    theirs.log_end += part_of(model_.progress[kSelf].log_end - theirs.log_end);
    theirs.synced_end += part_of(theirs.log_end - theirs.synced_end);
    ASSERT_TRUE(leader_.follower_fetched(follower, {broker_epochs_[follower]}, theirs, now_));
    model_.settle();
    if (auto proposal = leader_.maybe_expand(now_)) sent(*proposal);
  }
  void sent(const IsrProposal& proposal) {
    ASSERT_EQ(proposal.partition_epoch, partition_epoch_);
    ASSERT_EQ(proposal.isr.front().id, kSelf);
    model_.proposed.clear();
    for (const auto& member : proposal.isr) {
      model_.proposed.push_back(member.id);
      const bool joins = std::ranges::find(model_.in_sync, member.id) == model_.in_sync.end();
      if (joins) ASSERT_LE(member.broker_epoch, broker_epochs_[member.id]) << "older, if it is asked again";
    }
    outstanding_ = proposal;
  }
  // Answers, does not answer, or decides something else.
  void controller_acts() {
    if (outstanding_ && below(3) != 0) {
      const IsrProposal asked = *std::exchange(outstanding_, std::nullopt);
      switch (below(3)) {
        case 0:
          model_.in_sync = std::exchange(model_.proposed, {});
          leader_.proposal_answered(
              asked,
              {.verdict = IsrAnswer::Verdict::committed, .partition_epoch = ++partition_epoch_, .isr = model_.in_sync},
              now_);
          break;
        case 1:
          model_.proposed.clear();
          leader_.proposal_answered(asked, {.verdict = IsrAnswer::Verdict::refused}, now_);
          break;
        default:
          leader_.proposal_answered(asked, {.verdict = IsrAnswer::Verdict::unknown}, now_);
          break;
      }
    } else if (below(3) == 0) {
      outstanding_.reset();
      model_.proposed.clear();
      model_.in_sync = {kSelf};
      for (const int32_t id : {2, 3}) {
        if (below(2) == 0) model_.in_sync.emplace_back(id);
      }
      leader_.set_assignment(assigned({kSelf, BrokerId(2), BrokerId(3)}, model_.in_sync, ++partition_epoch_), now_);
    }
  }
  void check() {
    const Offset before = model_.high_watermark;
    model_.settle();
    tell_due(leader_);
    ASSERT_EQ(leader_.high_watermark(), model_.high_watermark);
    ASSERT_GE(leader_.high_watermark(), before);
    for (const Waiting& entry : waiting_) {
      const bool own_reached = model_.counted(kSelf) >= entry.end;
      const bool due = entry.acks == Acks::leader ? own_reached : model_.high_watermark >= entry.end;
      if (due) ASSERT_EQ(entry.recorder->times_told, 1);
      ASSERT_LE(entry.recorder->times_told, 1);
      if (!due && entry.acks == Acks::all_in_sync) ASSERT_EQ(entry.recorder->times_told, 0);
    }
  }

  std::mt19937_64 random_;
  LeaderModel model_;
  PartitionLeader leader_;
  MonotonicTime now_ = kStart;
  std::map<BrokerId, int64_t> broker_epochs_;
  std::optional<IsrProposal> outstanding_;
  int32_t partition_epoch_ = 0;
  std::vector<Waiting> waiting_;
};

TEST(PartitionLeader, AgreesWithTheModelOverRandomHistories) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    LeaderAgainstModel run(seed);
    for (int step = 0; step < 300; ++step) {
      run.step();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace naru
