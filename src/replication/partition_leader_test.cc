#include "replication/partition_leader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace naru {
namespace {

constexpr BrokerId kSelf{1};
constexpr LeaderRules kStrict{.sync_before_ack = true, .min_insync_replicas = 1};
constexpr LeaderRules kLoose{.sync_before_ack = false, .min_insync_replicas = 1};

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

PartitionLeader alone(LeaderRules rules) {
  return {kSelf, rules, {kSelf}, {}};
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
    leader.appended(end, 100);
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
  leader.appended(Offset(10), 100);
  EXPECT_EQ(leader.high_watermark(), Offset(10));
  EXPECT_TRUE(leader.verdict(Offset(10), Acks::leader)->ok());
  EXPECT_TRUE(leader.verdict(Offset(10), Acks::all_in_sync)->ok());
}

TEST(PartitionLeader, AWaiterForAnEarlierOffsetIsToldBeforeThoseThatCameBeforeIt) {
  auto leader = alone(kStrict);
  leader.appended(Offset(5), 50);
  leader.appended(Offset(9), 50);
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
  PartitionLeader leader(kSelf, kStrict, {kSelf, BrokerId(2)}, {});
  leader.appended(Offset(5), 50);
  const auto one = std::make_shared<Recorder>();
  const auto all = std::make_shared<Recorder>();
  EXPECT_TRUE(has_to_wait(leader, Offset(5), Acks::leader, one));
  EXPECT_TRUE(has_to_wait(leader, Offset(5), Acks::all_in_sync, all));
  leader.synced(Offset(5));
  tell_due(leader);
  EXPECT_EQ(one->times_told, 1);
  EXPECT_EQ(all->times_told, 0);
  leader.follower_progress(BrokerId(2), {.log_end = Offset(5), .synced_end = Offset(4)});
  tell_due(leader);
  EXPECT_EQ(leader.high_watermark(), Offset(4)) << "the follower has fetched 5 but synced 4";
  EXPECT_EQ(all->times_told, 0);
  leader.follower_progress(BrokerId(2), {.log_end = Offset(5), .synced_end = Offset(5)});
  tell_due(leader);
  EXPECT_EQ(all->times_told, 1);
}

TEST(PartitionLeader, TooFewInSyncReplicasTurnTheAckOfWhatWasWrittenIntoAnError) {
  PartitionLeader leader(kSelf, {.sync_before_ack = true, .min_insync_replicas = 2}, {kSelf, BrokerId(2)}, {});
  leader.appended(Offset(1), 10);
  leader.synced(Offset(1));
  const auto all = std::make_shared<Recorder>();
  EXPECT_TRUE(has_to_wait(leader, Offset(1), Acks::all_in_sync, all));
  leader.set_in_sync({kSelf});
  EXPECT_FALSE(leader.enough_replicas());
  tell_due(leader);
  EXPECT_EQ(all->code, ErrorCode::not_enough_replicas_after_append);
}

TEST(PartitionLeader, AnInSyncReplicaThatNeverReportedHoldsTheHighWatermark) {
  PartitionLeader leader(kSelf, kLoose, {kSelf, BrokerId(2)}, {.log_end = Offset(7), .synced_end = Offset(7)});
  EXPECT_EQ(leader.high_watermark(), Offset(0));
}

TEST(PartitionLeader, TakeAllEmptiesBothQueues) {
  auto leader = alone(kStrict);
  leader.appended(Offset(1), 10);
  const auto one = std::make_shared<Recorder>();
  const auto all = std::make_shared<Recorder>();
  EXPECT_TRUE(has_to_wait(leader, Offset(1), Acks::leader, one));
  EXPECT_TRUE(has_to_wait(leader, Offset(1), Acks::all_in_sync, all));
  EXPECT_EQ(leader.take_all().size(), 2u);
  EXPECT_EQ(leader.waiting(), 0u);
}

// The same rules, computed from scratch each time.
struct Model {
  bool strict = true;
  int32_t min_insync = 1;
  std::vector<BrokerId> in_sync{kSelf};
  std::map<BrokerId, ReplicaProgress> progress{{kSelf, {}}};
  Offset high_watermark{0};

  Offset counted(BrokerId replica) const {
    const auto& p = progress.at(replica);
    return strict ? p.synced_end : p.log_end;
  }
  void settle() {
    Offset lowest = progress.at(kSelf).log_end;
    for (const BrokerId replica : in_sync) {
      if (!progress.contains(replica)) return;
      lowest = std::min(lowest, counted(replica));
    }
    high_watermark = std::max(high_watermark, lowest);
  }
};

TEST(PartitionLeader, AgreesWithTheModelOverRandomHistories) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&random](uint64_t n) { return random() % n; };
    Model model{.strict = below(2) == 0, .min_insync = static_cast<int32_t>(1 + below(2))};
    PartitionLeader leader(kSelf, {model.strict, model.min_insync}, {kSelf}, {});
    struct Waiting {
      Offset end;
      Acks acks;
      std::shared_ptr<Recorder> recorder;
    };
    std::vector<Waiting> waiting;
    uint64_t appended_bytes = 0;

    for (int step = 0; step < 300; ++step) {
      auto& own = model.progress[kSelf];
      switch (below(6)) {
        case 0:
        case 1: {
          own.log_end += static_cast<int64_t>(1 + below(5));
          appended_bytes += 10;
          leader.appended(own.log_end, 10);
          model.settle();
          const Acks acks = below(2) == 0 ? Acks::leader : Acks::all_in_sync;
          Waiting entry{own.log_end, acks, std::make_shared<Recorder>()};
          if (!has_to_wait(leader, entry.end, acks, entry.recorder)) {
            entry.recorder->acknowledged(*leader.verdict(entry.end, acks));
          }
          waiting.push_back(std::move(entry));
          break;
        }
        case 2:
          own.synced_end += static_cast<int64_t>(below(static_cast<uint64_t>(own.log_end - own.synced_end) + 1));
          leader.synced(own.synced_end);
          break;
        case 3: {
          const BrokerId follower(static_cast<int32_t>(2 + below(2)));
          auto& theirs = model.progress[follower];
          theirs.log_end += static_cast<int64_t>(below(static_cast<uint64_t>(own.log_end - theirs.log_end) + 1));
          theirs.synced_end +=
              static_cast<int64_t>(below(static_cast<uint64_t>(theirs.log_end - theirs.synced_end) + 1));
          leader.follower_progress(follower, theirs);
          break;
        }
        case 4:
          model.in_sync = {kSelf};
          for (const int32_t id : {2, 3}) {
            if (below(2) == 0) model.in_sync.emplace_back(id);
          }
          leader.set_in_sync(model.in_sync);
          break;
        default:
          model.strict = below(4) != 0;
          leader.set_rules({model.strict, model.min_insync});
          break;
      }
      model.settle();
      tell_due(leader);
      ASSERT_EQ(leader.high_watermark(), model.high_watermark);
      ASSERT_LE(leader.committed_bytes(), appended_bytes);
      for (const Waiting& entry : waiting) {
        const bool own_reached = model.counted(kSelf) >= entry.end;
        const bool due = entry.acks == Acks::leader ? own_reached : model.high_watermark >= entry.end;
        if (due) ASSERT_EQ(entry.recorder->times_told, 1);
        ASSERT_LE(entry.recorder->times_told, 1);
      }
    }
    if (leader.high_watermark() == leader.own_progress().log_end) EXPECT_EQ(leader.committed_bytes(), appended_bytes);
  }
}

}  // namespace
}  // namespace naru
