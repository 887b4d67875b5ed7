#include "cluster_control/leader_election.h"

#include <initializer_list>
#include <map>

#include <gtest/gtest.h>

#include "cluster_control/metadata_bench.h"
#include "foundation/canary_testing.h"

namespace naru {
namespace {

std::vector<BrokerId> ids(std::initializer_list<int32_t> numbers) {
  std::vector<BrokerId> all;
  for (const int32_t number : numbers) all.emplace_back(number);
  return all;
}

PartitionState partition(std::initializer_list<int32_t> replicas, std::initializer_list<int32_t> isr, int32_t leader) {
  PartitionState state;
  state.replicas = ids(replicas);
  state.isr = ids(isr);
  state.leader = BrokerId(leader);
  state.leader_epoch = LeaderEpoch(5);
  state.partition_epoch = 9;
  return state;
}

const PartitionIds kThisLog{{Uuid(), PartitionIndex(0)}};
constexpr ElectionRules kSynced{};
constexpr ElectionRules kLoose{.acknowledges_after_sync = false};
constexpr ElectionRules kUncleanAllowed{.unclean_leader_election = true};

// Brokers 0..2 of a cluster, as the controller sees them.
class LeaderElectionTest : public testing::Test {
 protected:
  void gone(int32_t id) { bench_.lose_broker(BrokerId(id)); }
  void returned(int32_t id, bool clean, std::vector<Uuid> directories) {
    bench_.lose_broker(BrokerId(id));
    bench_.register_broker(BrokerId(id), clean, std::move(directories));
  }
  void stopping(int32_t id) { stopping_[BrokerId(id)] = epoch(id); }
  // Its log of the partition of these tests.
  void offline(int32_t id) { bench_.tell_offline(BrokerId(id), kThisLog); }
  int64_t epoch(int32_t id) const { return bench_.image().find_broker(BrokerId(id))->epoch; }

  SettledPartition settled(const PartitionState& before, const ElectionRules& rules = kSynced) {
    return settle(before, rules, BrokerStandings(bench_.image(), stopping_));
  }

  MetadataBench bench_{3};
  StoppingBrokers stopping_;
};

// The rule of today says nothing of what was acknowledged in the broker's last life.
TEST_F(LeaderElectionTest, AnUncleanReturnIsJudgedByTheLoosestRuleOfItsLastLife) {
  const int64_t known_since = bench_.image().known_brokers().at(BrokerId(2)).settled_epoch;
  returned(2, false, bench_.directories(BrokerId(2)));
  const PartitionState before = partition({0, 1, 2}, {0, 1, 2}, 0);
  EXPECT_EQ(settled(before).state.isr, ids({0, 1, 2}));
  EXPECT_EQ(settled(before, {.synced_since = known_since}).state.isr, ids({0, 1, 2})) << "all of its life";
  EXPECT_EQ(settled(before, {.synced_since = known_since + 1}).state.isr, ids({0, 1})) << "a part of it";
}

// Broker 2 has confirmed its epoch, and comes back with an older one in its data folder.
class OlderCopyTest : public LeaderElectionTest {
 protected:
  void come_back_with(int64_t found_epoch) {
    bench_.lose_broker(BrokerId(2));
    bench_.register_with(BrokerId(2), true, {{bench_.directory_of(BrokerId(2)), found_epoch}});
  }
  void confirm() { bench_.confirm(BrokerId(2), {bench_.directory_of(BrokerId(2))}); }
};

TEST_F(OlderCopyTest, OfADataFolderIsOutOfEveryInSyncSetThatHasAnotherMember) {
  confirm();
  come_back_with(epoch(2) - 1);
  EXPECT_EQ(settled(partition({0, 1, 2}, {0, 1, 2}, 2)).state.isr, ids({0, 1}));
  gone(0);
  gone(1);
  const PartitionState waits = settled(partition({0, 1, 2}, {0, 1, 2}, 0)).state;
  EXPECT_EQ(waits.isr, ids({0, 1})) << "those that are gone have lost nothing";
  EXPECT_EQ(waits.leader, kNoBroker);
  const PartitionState last = settled(partition({0, 1, 2}, {2}, 2)).state;
  EXPECT_TRUE(last.isr_lost_data) << "an operator decides";
  EXPECT_EQ(last.leader, kNoBroker);
  const SettledPartition only = settled(partition({2}, {2}, 2));
  EXPECT_EQ(only.state.leader, BrokerId(2));
  EXPECT_TRUE(only.possible_loss);
  const PlantedCanary planted(Canary::older_copy_counts);
  EXPECT_EQ(settled(partition({0, 1, 2}, {0, 1, 2}, 0)).state.leader, BrokerId(2));
}

TEST_F(OlderCopyTest, IsNotSuspectedWhenABrokerCrashedBeforeItsEpochWasDurableOrConfirmed) {
  confirm();
  const int64_t confirmed = epoch(2);
  come_back_with(confirmed);
  EXPECT_EQ(settled(partition({0, 1, 2}, {0, 1, 2}, 0)).state.isr, ids({0, 1, 2}));
  come_back_with(confirmed);  // crashed before it was written
  EXPECT_EQ(settled(partition({0, 1, 2}, {0, 1, 2}, 0)).state.isr, ids({0, 1, 2}));
  come_back_with(epoch(2));  // crashed before it was confirmed
  EXPECT_EQ(settled(partition({0, 1, 2}, {0, 1, 2}, 0)).state.isr, ids({0, 1, 2}));
}

TEST_F(OlderCopyTest, IsRememberedUntilTheControllerHasActed) {
  confirm();
  come_back_with(epoch(2) - 1);
  confirm();  // the new epoch, and then it crashes
  come_back_with(epoch(2));
  EXPECT_EQ(settled(partition({0, 1, 2}, {0, 1, 2}, 0)).state.isr, ids({0, 1}));
  bench_.settle();
  confirm();
  come_back_with(epoch(2));
  EXPECT_EQ(settled(partition({0, 1, 2}, {0, 1, 2}, 0)).state.isr, ids({0, 1, 2}));
}

TEST_F(OlderCopyTest, OfOneOfSeveralFoldersIsJudgedByItsOwnEpoch) {
  const Uuid first{7, 1};
  const Uuid second{7, 2};
  const auto come_back = [&](int64_t found_first, int64_t found_second) {
    bench_.lose_broker(BrokerId(2));
    bench_.register_with(BrokerId(2), true, {{first, found_first}, {second, found_second}});
  };
  come_back(-1, -1);
  bench_.settle();
  bench_.confirm(BrokerId(2), {first, second});
  const int64_t both = epoch(2);
  come_back(both, both);
  bench_.confirm(BrokerId(2), {first});  // it could not be written into the second one
  bench_.settle();
  come_back(epoch(2), both);
  EXPECT_EQ(settled(partition({0, 1, 2}, {0, 1, 2}, 0)).state.isr, ids({0, 1, 2}));
  bench_.settle();
  come_back(both, both);
  EXPECT_EQ(settled(partition({0, 1, 2}, {0, 1, 2}, 0)).state.isr, ids({0, 1})) << "the first one is older";
}

// It registers with what it cannot use: nobody elects it, and narrows the in-sync set to it, before it can say so.
TEST_F(LeaderElectionTest, ALogThatIsOfflineFromTheStartIsNeverElected) {
  for (const int32_t id : {0, 1, 2}) gone(id);
  bench_.register_with(BrokerId(2), false, {{bench_.directory_of(BrokerId(2)), 1}}, {}, kThisLog);
  const PartitionState waits = settled(partition({0, 1, 2}, {0, 1, 2}, 0)).state;
  EXPECT_EQ(waits.leader, kNoBroker);
  EXPECT_EQ(waits.isr, ids({0, 1, 2}));
  const PartitionState only = settled(partition({2}, {2}, 2)).state;
  EXPECT_EQ(only.leader, BrokerId(2)) << "its error says more than that there is no leader";
}

// What it has lost is forgotten when the controller has acted, so it must not count as merely gone.
TEST_F(LeaderElectionTest, ALogThatIsOfflineAfterALossIsNotInSyncAnyMore) {
  gone(0);
  gone(2);
  bench_.register_with(BrokerId(2), false, {{.id = {8, 8}}}, {}, kThisLog);
  const PartitionState state = settled(partition({0, 2, 1}, {0, 2}, 0)).state;
  EXPECT_EQ(state.isr, ids({0}));
}

TEST_F(LeaderElectionTest, NothingChangesWhileEverybodyIsThere) {
  const PartitionState before = partition({0, 1, 2}, {0, 1, 2}, 0);
  EXPECT_EQ(settled(before).state, before);
}

TEST_F(LeaderElectionTest, TheFirstReplicaOfTheIsrThatIsThereSucceedsALeaderThatIsGone) {
  gone(0);
  const PartitionState after = settled(partition({0, 1, 2}, {2, 1, 0}, 0)).state;
  EXPECT_EQ(after.leader, BrokerId(1));
  EXPECT_EQ(after.isr, ids({2, 1}));
  EXPECT_EQ(after.leader_epoch, LeaderEpoch(6));
  EXPECT_EQ(after.partition_epoch, 10);
}

TEST_F(LeaderElectionTest, AFollowerThatIsGoneLeavesTheIsrAndTheLeaderEpochStays) {
  gone(2);
  const PartitionState after = settled(partition({0, 1, 2}, {0, 1, 2}, 0)).state;
  EXPECT_EQ(after.leader, BrokerId(0));
  EXPECT_EQ(after.isr, ids({0, 1}));
  EXPECT_EQ(after.leader_epoch, LeaderEpoch(5));
  EXPECT_EQ(after.partition_epoch, 10);
}

TEST_F(LeaderElectionTest, AReplicaWhoseLogIsOfflineNeitherLeadsNorIsInSync) {
  offline(0);
  const PartitionState led_elsewhere = settled(partition({0, 1, 2}, {0, 1, 2}, 0)).state;
  EXPECT_EQ(led_elsewhere.leader, BrokerId(1));
  EXPECT_EQ(led_elsewhere.isr, ids({1, 2}));
  EXPECT_EQ(led_elsewhere.leader_epoch, LeaderEpoch(6));
  const PartitionState followed = settled(partition({1, 0, 2}, {1, 0, 2}, 1)).state;
  EXPECT_EQ(followed.leader, BrokerId(1));
  EXPECT_EQ(followed.isr, ids({1, 2}));
  EXPECT_EQ(followed.leader_epoch, LeaderEpoch(6)) << "what it has fetched before may be gone when it is back";
  PartitionState another = partition({0, 1, 2}, {0, 1, 2}, 0);
  another.index = PartitionIndex(1);
  EXPECT_EQ(settled(another).state, another) << "its other logs are not concerned";
}

TEST_F(LeaderElectionTest, WhereOnlyAnOfflineLogIsInSyncNobodyLeadsUntilItsBrokerIsBack) {
  offline(0);
  const PartitionState state = settled(partition({0, 1, 2}, {0}, 0)).state;
  EXPECT_EQ(state.leader, kNoBroker);
  EXPECT_EQ(state.isr, ids({0}));
  EXPECT_EQ(unclean_leader(state, BrokerStandings(bench_.image(), stopping_)), BrokerId(1));
  EXPECT_EQ(electable_leader(state, BrokerStandings(bench_.image(), stopping_)), kNoBroker);
  returned(0, true, bench_.directories(BrokerId(0)));  // what it said was of an earlier life
  EXPECT_EQ(settled(state).state.leader, BrokerId(0));
}

// Its registration would be noted as dealt with, and it could lead without its data when the log is there again.
TEST_F(LeaderElectionTest, ThatABrokerHasLostItsDataIsNotForgottenForAnOfflineLog) {
  returned(0, true, {{9, 9}});
  offline(0);
  const PartitionState state = settled(partition({0, 1}, {0}, 0)).state;
  EXPECT_EQ(state.leader, kNoBroker);
  EXPECT_TRUE(state.isr_lost_data);
}

TEST_F(LeaderElectionTest, AReplicaThatIsNotInSyncDoesNotSucceed) {
  gone(0);
  const PartitionState after = settled(partition({0, 1, 2}, {0}, 0)).state;
  EXPECT_EQ(after.leader, kNoBroker);
  EXPECT_EQ(after.isr, ids({0}));
  EXPECT_EQ(after.leader_epoch, LeaderEpoch(6));
}

TEST_F(LeaderElectionTest, AReplicaThatIsNotInSyncSucceedsIfTheTopicAllowsUncleanElections) {
  gone(0);
  const SettledPartition after = settled(partition({0, 1, 2}, {0}, 0), kUncleanAllowed);
  EXPECT_EQ(after.state.leader, BrokerId(1));
  EXPECT_EQ(after.state.isr, ids({1}));
  EXPECT_TRUE(after.unclean);
}

TEST_F(LeaderElectionTest, TheLastMemberLeadsAgainWhenItIsBack) {
  PartitionState state = partition({0, 1}, {0}, 0);
  gone(0);
  state = settled(state).state;
  returned(0, true, bench_.directories(BrokerId(0)));
  state = settled(state).state;
  EXPECT_EQ(state.leader, BrokerId(0));
  EXPECT_EQ(state.leader_epoch, LeaderEpoch(7));
}

TEST_F(LeaderElectionTest, MembersThatGoAtOnceAllStayBecauseEachOfThemHasEverything) {
  gone(0);
  gone(1);
  const PartitionState state = settled(partition({0, 1}, {0, 1}, 0)).state;
  EXPECT_EQ(state.leader, kNoBroker);
  EXPECT_EQ(state.isr, ids({0, 1}));
}

TEST_F(LeaderElectionTest, ACleanRestartOfALeaderChangesNothing) {
  returned(0, true, bench_.directories(BrokerId(0)));
  const PartitionState before = partition({0, 1}, {0, 1}, 0);
  EXPECT_EQ(settled(before).state, before);
}

// What it had not synced others may have seen; so what comes next must not look like a continuation of it.
TEST_F(LeaderElectionTest, AfterAnUncleanRestartALeaderThatSyncsLeadsInANewEpoch) {
  returned(0, false, bench_.directories(BrokerId(0)));
  const SettledPartition after = settled(partition({0, 1}, {0, 1}, 0));
  EXPECT_EQ(after.state.leader, BrokerId(0));
  EXPECT_EQ(after.state.isr, ids({0, 1}));
  EXPECT_EQ(after.state.leader_epoch, LeaderEpoch(6));
  EXPECT_FALSE(after.possible_loss);
}

TEST_F(LeaderElectionTest, AfterAnUncleanRestartAReplicaOfALooseTopicLeavesTheIsr) {
  returned(0, false, bench_.directories(BrokerId(0)));
  const SettledPartition after = settled(partition({0, 1}, {0, 1}, 0), kLoose);
  EXPECT_EQ(after.state.leader, BrokerId(1));
  EXPECT_EQ(after.state.isr, ids({1}));
  EXPECT_FALSE(after.possible_loss);
}

TEST_F(LeaderElectionTest, TheLastMemberOfALooseTopicLeadsAfterAnUncleanRestartWithPossibleLoss) {
  returned(0, false, bench_.directories(BrokerId(0)));
  const SettledPartition after = settled(partition({0, 1}, {0}, 0), kLoose);
  EXPECT_EQ(after.state.leader, BrokerId(0));
  EXPECT_EQ(after.state.leader_epoch, LeaderEpoch(6));
  EXPECT_TRUE(after.possible_loss);
}

// Each of them may have lost other records than the other.
TEST_F(LeaderElectionTest, OfSeveralMembersThatMayHaveLostRecordsOneStays) {
  returned(0, false, bench_.directories(BrokerId(0)));
  returned(1, false, bench_.directories(BrokerId(1)));
  const SettledPartition after = settled(partition({0, 1}, {0, 1}, 1), kLoose);
  EXPECT_EQ(after.state.leader, BrokerId(1));
  EXPECT_EQ(after.state.isr, ids({1}));
  EXPECT_TRUE(after.possible_loss);
}

TEST_F(LeaderElectionTest, AMemberThatIsGoneIsWaitedForRatherThanTrustingOneThatMayHaveLostRecords) {
  gone(1);
  returned(0, false, bench_.directories(BrokerId(0)));
  const PartitionState after = settled(partition({0, 1}, {0, 1}, 0), kLoose).state;
  EXPECT_EQ(after.leader, kNoBroker);
  EXPECT_EQ(after.isr, ids({1}));
}

TEST_F(LeaderElectionTest, ABrokerWithOtherDataFoldersLeavesEveryIsr) {
  returned(0, true, {{77, 77}});
  const PartitionState after = settled(partition({0, 1}, {0, 1}, 0)).state;
  EXPECT_EQ(after.leader, BrokerId(1));
  EXPECT_EQ(after.isr, ids({1}));
}

TEST_F(LeaderElectionTest, ALastMemberWithOtherDataFoldersNeverLeadsByItself) {
  returned(0, true, {{77, 77}});
  PartitionState state = settled(partition({0, 1}, {0}, 0)).state;
  EXPECT_EQ(state.leader, kNoBroker);
  EXPECT_EQ(state.isr, ids({0}));
  EXPECT_TRUE(state.isr_lost_data);
  bench_.settle();  // this registration is known from now on
  EXPECT_EQ(settled(state).state, state);
  returned(0, true, {{77, 77}});
  EXPECT_EQ(settled(state).state, state);
}

TEST_F(LeaderElectionTest, AnUncleanElectionPrefersAReplicaWithDataToAWipedMemberOfTheIsr) {
  returned(0, true, {{77, 77}});
  PartitionState state = settled(partition({0, 1}, {0}, 0)).state;
  bench_.settle();
  state = settled(state, kUncleanAllowed).state;
  EXPECT_EQ(state.leader, BrokerId(1));
  EXPECT_EQ(state.isr, ids({1}));
  EXPECT_FALSE(state.isr_lost_data);
}

TEST_F(LeaderElectionTest, ABrokerThatMissesOneOfItsDataFoldersLeadsOnlyWhatItAloneHas) {
  returned(0, true, {{78, 78}, {79, 79}});
  bench_.settle();
  returned(0, true, {{78, 78}});
  EXPECT_EQ(settled(partition({0, 1}, {0, 1}, 0)).state.isr, ids({1}));
  const SettledPartition alone = settled(partition({0, 1}, {0}, 0));
  EXPECT_EQ(alone.state.leader, kNoBroker) << "the replica may have been in that folder";
  EXPECT_TRUE(alone.state.isr_lost_data);
  const SettledPartition only = settled(partition({0}, {0}, 0));
  EXPECT_EQ(only.state.leader, BrokerId(0)) << "nobody else could lose anything by it";
  EXPECT_TRUE(only.possible_loss);
}

TEST_F(LeaderElectionTest, AStoppingBrokerGivesWayToOthersAndStaysWhereThereAreNone) {
  stopping(0);
  const PartitionState moved = settled(partition({0, 1}, {0, 1}, 0)).state;
  EXPECT_EQ(moved.leader, BrokerId(1));
  EXPECT_EQ(moved.isr, ids({1}));
  const PartitionState alone = partition({0, 1}, {0}, 0);
  EXPECT_EQ(settled(alone).state, alone);
}

TEST_F(LeaderElectionTest, ABrokerThatRegisteredAgainIsNotStoppingAnyMore) {
  stopping(0);
  returned(0, true, bench_.directories(BrokerId(0)));
  const PartitionState before = partition({0, 1}, {0, 1}, 0);
  EXPECT_EQ(settled(before).state, before);
}

}  // namespace
}  // namespace naru
