#include "replication/partition_follower.h"

#include <gtest/gtest.h>

#include <vector>

namespace naru {
namespace {

constexpr BrokerId kLeader{1};
constexpr LeaderEpoch kEpoch{9};
using Action = FollowerDecision::Action;

// A log as the epochs of its records, from offset 0 on.
EpochHistory history_of(const std::vector<int>& epochs) {
  EpochHistory history;
  for (size_t i = 0; i < epochs.size(); ++i) history.assign(LeaderEpoch(epochs[i]), Offset(static_cast<int64_t>(i)));
  return history;
}

struct Truncations {
  std::vector<int> points;  // where the follower's log was cut, one after the other
  std::vector<int> common;  // what is left
};

// Asks until the logs agree.
Truncations reconcile(const std::vector<int>& leader, std::vector<int> follower) {
  Truncations result;
  const EpochHistory leaders = history_of(leader);
  for (int rounds = 0; rounds < 20; ++rounds) {
    const EpochHistory own = history_of(follower);
    const Offset end(static_cast<int64_t>(follower.size()));
    const auto told = divergence({leaders, Offset(static_cast<int64_t>(leader.size()))}, end, own.latest());
    if (!told) break;
    const Offset point = truncation_point({own, end}, *told);
    EXPECT_LT(point, end) << "no progress";
    if (point >= end) break;
    follower.resize(static_cast<size_t>(point.value()));
    result.points.push_back(static_cast<int>(point.value()));
  }
  result.common = follower;
  return result;
}

struct DivergenceCase {
  const char* story;
  std::vector<int> leader;
  std::vector<int> follower;
  std::vector<int> points;
};

TEST(PartitionFollower, CutsBackToWhereTheLogsPart) {
  const DivergenceCase cases[] = {
      {"the follower is behind", {0, 0, 0}, {0, 0}, {}},
      {"the logs are the same", {0, 1, 1}, {0, 1, 1}, {}},
      {"the follower has nothing", {0, 1}, {}, {}},
      {"the leader has nothing", {}, {0, 0}, {0}},
      {"an old leader has a tail that nobody fetched (KIP-101)", {0, 0, 2, 2}, {0, 0, 0, 0}, {2}},
      {"the same, and nothing was written since", {0, 0}, {0, 0, 1, 1}, {2}},
      {"the follower has a whole epoch that the leader never saw", {0, 0, 3}, {0, 0, 1, 1}, {2}},
      {"the leader has epochs in between that the follower never saw", {0, 1, 2, 3}, {0, 0, 0}, {1}},
      {"two quick elections: each has an epoch of its own (KIP-279)", {0, 0, 2, 2, 4}, {0, 0, 1, 1, 3, 3}, {4, 2}},
      {"the same epoch, longer at the follower", {0, 0, 1}, {0, 0, 1, 1, 1}, {3}},
      {"nothing in common", {5, 5}, {1, 2, 3}, {0}},
      {"epochs alternate", {0, 2, 4, 6}, {0, 1, 3, 5}, {3, 2, 1}},
  };
  for (const DivergenceCase& each : cases) {
    SCOPED_TRACE(each.story);
    const Truncations found = reconcile(each.leader, each.follower);
    EXPECT_EQ(found.points, each.points);
    // What is left is the longest common beginning, of what epochs can tell.
    ASSERT_LE(found.common.size(), each.leader.size());
    EXPECT_TRUE(std::equal(found.common.begin(), found.common.end(), each.leader.begin()));
    EXPECT_EQ(found.common.size(),
              each.points.empty() ? each.follower.size() : static_cast<size_t>(each.points.back()));
  }
}

TEST(PartitionFollower, ALeaderWithoutABatchOfItsEpochStillKnowsWhereTheOnesBeforeEnd) {
  const EpochHistory leader = history_of({0, 0, 3, 3});
  EXPECT_EQ(end_of_epoch_in({leader, Offset(4)}, LeaderEpoch(5)), (EpochEnd{LeaderEpoch(3), Offset(4)}));
  EXPECT_EQ(end_of_epoch_in({leader, Offset(4)}, LeaderEpoch(1)), (EpochEnd{LeaderEpoch(0), Offset(2)}));
}

TEST(PartitionFollower, ALeaderWhoseLogBeginsInALaterEpochHasNothingInCommonWithTheFollower) {
  EpochHistory leader = history_of({0, 0, 2, 2, 3, 3});
  leader.trim_start(Offset(6));
  EXPECT_EQ(divergence({leader, Offset(6)}, Offset(6), LeaderEpoch(3)), std::nullopt);
  const EpochHistory follower = history_of({0, 0, 2, 2, 2, 2});
  const auto told = divergence({leader, Offset(6)}, Offset(6), LeaderEpoch(2));
  ASSERT_TRUE(told.has_value()) << "4 and 5 are of epoch 3, but nothing says so any more";
  EXPECT_EQ(truncation_point({follower, Offset(6)}, *told), Offset(0));
}

class FollowerDecides : public testing::Test {
 protected:
  FollowerDecides() { follower_.follow(kLeader, kEpoch, Offset(2)); }
  // Own log: offsets 2 to 6 in epochs 1 1 1 4.
  FollowerDecision decide(LeaderAnswer answer) { return follower_.decide(answer, Offset(2), {history_, Offset(6)}); }
  static LeaderAnswer answer() {
    return {.leader = kLeader,
            .leader_epoch = kEpoch,
            .fetch_offset = Offset(6),
            .last_fetched_epoch = LeaderEpoch(4),
            .high_watermark = Offset(9),
            .log_start = Offset(0)};
  }
  static EpochHistory own_history() {
    EpochHistory history;
    history.assign(LeaderEpoch(1), Offset(2));
    history.assign(LeaderEpoch(4), Offset(5));
    return history;
  }
  PartitionFollower follower_{Offset(0)};
  const EpochHistory history_ = own_history();
};

TEST_F(FollowerDecides, AnswersOfAnotherTimeAreDropped) {
  LeaderAnswer other_epoch = answer();
  other_epoch.leader_epoch = LeaderEpoch(8);
  LeaderAnswer other_leader = answer();
  other_leader.leader = BrokerId(2);
  LeaderAnswer other_place = answer();
  other_place.fetch_offset = Offset(5);
  LeaderAnswer other_log = answer();  // it was cut back, and has grown to the same length again
  other_log.last_fetched_epoch = LeaderEpoch(3);
  for (const auto& stale : {other_epoch, other_leader, other_place, other_log}) {
    EXPECT_EQ(decide(stale).action, Action::drop);
  }
  EXPECT_EQ(decide(answer()).action, Action::append);
}

TEST_F(FollowerDecides, TheHighWatermarkIsTheLeadersAsFarAsThereAreRecordsHere) {
  follower_.adopt(answer(), Offset(6));
  EXPECT_EQ(follower_.high_watermark(), Offset(6));
  follower_.adopt(answer(), Offset(12));
  EXPECT_EQ(follower_.high_watermark(), Offset(9));
  LeaderAnswer late = answer();
  late.high_watermark = Offset(3);  // a new leader does not know it yet
  follower_.adopt(late, Offset(12));
  EXPECT_EQ(follower_.high_watermark(), Offset(9));
}

TEST_F(FollowerDecides, ALogThatTheLeaderHasDeletedBeginsAnew) {
  LeaderAnswer gone = answer();
  gone.error = ErrorCode::offset_out_of_range;
  gone.log_start = Offset(100);
  const FollowerDecision decision = decide(gone);
  EXPECT_EQ(decision.action, Action::restart);
  EXPECT_EQ(decision.offset, Offset(100));
  gone.log_start = Offset(0);
  EXPECT_EQ(decide(gone).action, Action::wait) << "it holds records: only epochs can say that they are wrong";
}

TEST_F(FollowerDecides, WhatPartsBelowTheStartOfTheLogBeginsAnewAtTheLeadersStart) {
  LeaderAnswer parted = answer();
  parted.diverging = {LeaderEpoch(0), Offset(1)};
  const FollowerDecision decision = decide(parted);
  EXPECT_EQ(decision.action, Action::restart);
  EXPECT_EQ(decision.offset, Offset(0));
  parted.diverging = {LeaderEpoch(1), Offset(4)};
  EXPECT_EQ(decide(parted).action, Action::truncate);
  EXPECT_EQ(decide(parted).offset, Offset(4));
}

TEST_F(FollowerDecides, MarkersThatAreGoneBehindTheEndMeanANewBeginning) {
  LeaderAnswer told = answer();
  told.tombstones = {.offset = Offset(6), .drops = 3};
  EXPECT_EQ(decide(told).action, Action::append) << "those that are gone were seen here";
  told.tombstones = {.offset = Offset(7), .drops = 3};
  EXPECT_EQ(decide(told).action, Action::restart);
  EXPECT_EQ(decide(told).offset, Offset(0));
  EXPECT_EQ(follower_.decide(told, Offset(6), {history_, Offset(6)}).action, Action::append) << "nothing is here";
}

TEST_F(FollowerDecides, ACopyGoesOnWhileTheLeaderDropsNoMoreMarkers) {
  LeaderAnswer told = answer();
  told.tombstones = {.offset = Offset(9), .drops = 3};
  follower_.restarted(Offset(0));
  follower_.adopt(told, Offset(6));
  EXPECT_EQ(decide(told).action, Action::append);
  told.tombstones.drops = 4;
  EXPECT_EQ(decide(told).action, Action::restart) << "also below the horizon";
  told.tombstones.drops = 3;
  follower_.follow(kLeader, kEpoch, Offset(2));
  EXPECT_EQ(decide(told).action, Action::restart) << "other leaders have dropped others";
}

TEST_F(FollowerDecides, NonsenseCutsNothing) {
  LeaderAnswer nonsense = answer();
  nonsense.diverging = {LeaderEpoch(4), Offset(6)};
  EXPECT_EQ(decide(nonsense).action, Action::wait);
  nonsense.diverging = {LeaderEpoch(77), Offset(77)};
  EXPECT_EQ(decide(nonsense).action, Action::wait);
}

TEST_F(FollowerDecides, CuttingBelowTheHighWatermarkIsNoticed) {
  follower_.adopt(answer(), Offset(6));
  EXPECT_FALSE(follower_.truncated(Offset(6)));
  EXPECT_TRUE(follower_.truncated(Offset(4)));
  EXPECT_EQ(follower_.high_watermark(), Offset(4));
}

}  // namespace
}  // namespace naru
