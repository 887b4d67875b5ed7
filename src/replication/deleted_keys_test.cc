// Three replicas of a compacted partition: a key that was deleted stays deleted, whoever was away meanwhile.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "foundation/canary_testing.h"
#include "foundation/log.h"
#include "log_storage/compaction_testing.h"
#include "replication/partition_compaction.h"
#include "replication/replicated_partition_testing.h"

namespace naru {
namespace {

const ConfigOverrides kCompacted{{"cleanup.policy", "compact"},
                                 {"segment.bytes", "200"},
                                 {"min.insync.replicas", "1"},
                                 {"min.cleanable.dirty.ratio", "0.01"},
                                 {"delete.retention.ms", "1000"}};

class CompactedReplicas : public ReplicaSet {
 public:
  CompactedReplicas() {
    silence_log();
    open(kCompacted);
  }
  void put(int32_t leader, const std::string& key, const std::optional<std::string>& value) {
    BatchBuilder builder;
    builder.add(1000, key, value);
    contact.heard(world.now());
    const Offset end = log(leader).end_offset();
    send(leader, builder.build().value(), Acks::all_in_sync);
    EXPECT_GT(log(leader).end_offset(), end);
    sync(leader);
  }
  void sync_if_asked(int32_t id) {
    if (at(id).durability().asked > 0) sync(id);
  }
  // Until there is nothing left to fetch.
  void catch_up(int32_t id, uint32_t max_bytes = 1 << 20) {
    const Offset end = at(assignment.leader.value()).partition->log().end_offset();
    for (int i = 0; i < 1000 && log(id).end_offset() < end; ++i) {
      fetch(id, max_bytes);
      sync_if_asked(id);
    }
    fetch(id);
    fetch(id);
    EXPECT_EQ(log(id).end_offset(), end);
  }
  Status compact(int32_t id) {
    Status outcome;
    const auto task = [&]() -> Task<void> {
      const Seams seams = at(id).process->seams();
      const auto done = co_await compact_partition(at(id).partition, {.clock = seams.clock,
                                                                      .scheduler = seams.scheduler,
                                                                      .hash_key = {1, 2},
                                                                      .map_bytes = 1 << 16,
                                                                      .stopped = {}});
      if (!done) outcome = done.error();
    };
    world.run_task(task());
    return outcome;
  }
  // Twice, so that markers get their delete horizon, and go when it has passed.
  void compact_all_markers_away(int32_t id) {
    EXPECT_TRUE(compact(id).ok());
    world.run_for(2s);
    EXPECT_TRUE(compact(id).ok());
  }
  PartitionLog& log(int32_t id) { return at(id).partition->log(); }
  std::map<std::string, std::string> values(int32_t id) { return replay(read_records(log(id)).value()); }
};

class DeletedKeys : public testing::Test, protected CompactedReplicas {
 protected:
  // 3 has a value of "secret" and is away; the others have deleted it since, and 1, which leads, has forgotten that.
  void delete_while_3_is_away() {
    put(1, "secret", "v");
    for (const int32_t id : {2, 3}) catch_up(id);
    assign(1, {1, 2}, false);
    put(1, "secret", std::nullopt);
    for (int i = 0; i < 10; ++i) put(1, "other", std::to_string(i));
    catch_up(2);
    world.run_for(60s);
    compact_all_markers_away(1);
    ASSERT_GT(log(1).tombstone_horizon().offset, Offset(1));
    ASSERT_EQ(values(1), kAfter);
  }
  const std::map<std::string, std::string> kAfter{{"other", "9"}};
};

TEST_F(DeletedKeys, AFollowerThatMissesADroppedMarkerBeginsAnew) {
  delete_while_3_is_away();
  const FollowerStep step = fetch(3);
  EXPECT_EQ(step.action, FollowerDecision::Action::restart);
  catch_up(3);
  EXPECT_EQ(values(3), kAfter);
  EXPECT_EQ(log(3).tombstone_horizon().offset, log(1).tombstone_horizon().offset)
      << "what it copied lacks the same markers, and it may lead one day";
}

TEST_F(DeletedKeys, AFollowerThatHasSeenTheMarkersContinues) {
  delete_while_3_is_away();
  EXPECT_EQ(fetch(2).action, FollowerDecision::Action::append);
  EXPECT_EQ(log(2).start_offset(), Offset(0));
  EXPECT_EQ(values(2), kAfter);
  EXPECT_EQ(log(2).tombstone_horizon(), TombstoneHorizon{}) << "it has them all";
}

TEST_F(DeletedKeys, ANewLeaderTellsItsOwnHorizon) {
  delete_while_3_is_away();
  compact_all_markers_away(2);
  ASSERT_GT(log(2).tombstone_horizon().offset, Offset(1)) << "a follower compacts for itself";
  lead(2, {1, 2});
  EXPECT_EQ(fetch(3).action, FollowerDecision::Action::restart);
  catch_up(3);
  EXPECT_EQ(values(3), kAfter);
}

TEST_F(DeletedKeys, TheHorizonOutlivesAPowerCut) {
  delete_while_3_is_away();
  cut_power(at(1), Unsynced::lost);
  lead(1, {1, 2});
  EXPECT_EQ(fetch(3).action, FollowerDecision::Action::restart);
  catch_up(3);
  EXPECT_EQ(values(3), kAfter);
}

TEST_F(DeletedKeys, ACopyOfALogThatLacksMarkersIsMadeOnceAndGoesOnWhileNoMoreAreDropped) {
  delete_while_3_is_away();
  int restarts = 0;
  while (log(3).end_offset() < log(1).end_offset()) {
    restarts += fetch(3, 1).action == FollowerDecision::Action::restart ? 1 : 0;
    sync_if_asked(3);
    ASSERT_LE(restarts, 1);
    ASSERT_TRUE(compact(1).ok());
    world.run_for(5s);
  }
  EXPECT_EQ(restarts, 1);
  EXPECT_EQ(values(3), kAfter);
}

// Markers that are dropped in the middle of a copy may belong to what was copied before.
TEST_F(DeletedKeys, ACopyIsMadeAnewWhenMoreMarkersAreDroppedMeanwhile) {
  delete_while_3_is_away();
  put(1, "late", "v");
  for (int i = 10; i < 20; ++i) put(1, "other", std::to_string(i));
  catch_up(2);
  for (int i = 0; i < 100 && log(3).end_offset() < Offset(13); ++i) {
    fetch(3, 1);
  }
  ASSERT_EQ(log(3).end_offset(), Offset(13)) << "\"late\" is the last that it has";
  world.run_for(60s);  // it is silent, so nothing is kept for it
  put(1, "late", std::nullopt);
  for (int i = 20; i < 30; ++i) put(1, "other", std::to_string(i));
  catch_up(2);
  compact_all_markers_away(1);
  EXPECT_EQ(fetch(3).action, FollowerDecision::Action::restart);
  catch_up(3);
  EXPECT_FALSE(values(3).contains("late"));
  EXPECT_EQ(values(3), values(2));
}

TEST_F(DeletedKeys, MarkersStayWhileAFollowerIsCatchingUp) {
  put(1, "secret", "v");
  for (const int32_t id : {2, 3}) catch_up(id);
  assign(1, {1, 2}, false);
  put(1, "secret", std::nullopt);
  for (int i = 0; i < 10; ++i) put(1, "other", std::to_string(i));
  catch_up(2);
  EXPECT_TRUE(compact(1).ok());
  world.run_for(2s);
  fetch(3, 1);
  const auto fetched = log(3).end_offset();
  EXPECT_LT(fetched, log(1).end_offset());
  EXPECT_TRUE(compact(1).ok());
  EXPECT_LE(log(1).tombstone_horizon().offset, fetched);
  EXPECT_EQ(fetch(3).action, FollowerDecision::Action::append);
  catch_up(3);
  EXPECT_EQ(values(3), (std::map<std::string, std::string>{{"other", "9"}}));
}

TEST_F(DeletedKeys, ALeaderWithoutAHorizonIsFollowedAsItIs) {
  put(1, "k", "v");
  fetch(3);
  LeaderAnswer answer{.leader = BrokerId(1), .leader_epoch = LeaderEpoch(1), .fetch_offset = Offset(1)};
  EXPECT_FALSE(answer.lacks_tombstones()) << "a broker of an earlier version says nothing";
}

TEST_F(DeletedKeys, AFollowerThatContinuesAllTheSameIsNoticed) {
  const PlantedCanary planted(Canary::late_follower_continues);
  delete_while_3_is_away();
  catch_up(3);
  EXPECT_NE(values(3), kAfter);
}

// --- At random -------------------------------------------------------------------------------------------------------

// Followers go and come, everybody compacts in its own time, power is cut, and leaders change: whoever is in sync knows
// the same values as one who has read everything.
class RandomStory {
 public:
  explicit RandomStory(uint64_t seed) : random_(seed) {}

  // Whoever is wrong, and when.
  std::optional<std::string> run(int steps) {
    for (int step = 0; step < steps; ++step) {
      take_step();
      for (const int32_t id : in_sync_) {
        if (replicas_.log(id).end_offset() == replicas_.log(leader_).end_offset() &&
            replicas_.values(id) != expected_) {
          return fmt::format("replica {} in step {}", id, step);
        }
      }
    }
    return std::nullopt;
  }
  int restarts() const { return restarts_; }

 private:
  int32_t any(int32_t from, int32_t to) { return std::uniform_int_distribution<int32_t>(from, to)(random_); }

  void take_step() {
    const int32_t id = any(1, 3);
    const int32_t what = any(0, 11);
    if (what < 3) return write();
    if (what < 6) return fetch_all();
    if (what < 9) return compact(any(0, 1) == 0 ? id : leader_);
    if (what == 9) return go_or_come(id);
    if (what == 10) return elect(id);
    cut_power(id);
  }
  void compact(int32_t id) {
    replicas_.world.run_for(Milliseconds(any(1, 1500)));
    ignore(replicas_.compact(id));
  }
  // Deleted keys are not used again, so that a value that has come back is not superseded unnoticed.
  void write() {
    if (!expected_.empty() && any(0, 1) == 0) {
      const auto deleted = std::next(expected_.begin(), any(0, static_cast<int32_t>(expected_.size()) - 1));
      replicas_.put(leader_, deleted->first, std::nullopt);
      expected_.erase(deleted);
    } else {
      const std::string key = std::to_string(++written_);
      replicas_.put(leader_, key, expected_[key] = "v");
    }
  }
  // In pieces, or to the end.
  void fetch_all() {
    for (int32_t id = 1; id <= 3; ++id) {
      for (int times = any(1, 6); times > 0; --times) fetch(id);
    }
  }
  void fetch(int32_t id) {
    if (id == leader_ || away_.contains(id)) return;
    const FollowerStep step = replicas_.fetch(id, any(0, 3) == 0 ? 1 << 20 : 1);
    restarts_ += step.action == FollowerDecision::Action::restart ? 1 : 0;
    replicas_.sync_if_asked(id);
    if (replicas_.log(id).durable_end() == replicas_.log(leader_).end_offset() && in_sync_.insert(id).second) tell();
  }
  void go_or_come(int32_t id) {
    if (id == leader_ || away_.erase(id) > 0) return;
    away_.insert(id);
    if (in_sync_.erase(id) > 0) tell();
    replicas_.world.run_for(Milliseconds(any(0, 1) * 40'000));
  }
  void elect(int32_t id) {
    if (!in_sync_.contains(id) || replicas_.log(id).durable_end() != replicas_.log(leader_).end_offset()) return;
    leader_ = id;
    replicas_.lead(id, {in_sync_.begin(), in_sync_.end()});
  }
  // Of one that does not lead.
  void cut_power(int32_t id) {
    if (id == leader_) return;
    replicas_.cut_power(replicas_.at(id), any(0, 1) == 0 ? Unsynced::lost : Unsynced::mixed);
    if (in_sync_.erase(id) > 0) {
      tell();
    } else {
      replicas_.at(id).partition->assign(replicas_.assignment);
    }
  }
  void tell() { replicas_.assign(leader_, {in_sync_.begin(), in_sync_.end()}, false); }

  std::mt19937_64 random_;
  CompactedReplicas replicas_;
  std::map<std::string, std::string> expected_;
  int32_t leader_ = 1;
  std::set<int32_t> in_sync_{1, 2, 3};
  std::set<int32_t> away_;
  int written_ = 0;
  int restarts_ = 0;
};

constexpr int kStories = 30, kSteps = 300;

TEST(DeletedKeysAtRandom, NeverComeBack) {
  int restarts = 0;
  for (uint64_t seed = 1; seed <= kStories; ++seed) {
    RandomStory story(seed);
    const auto problem = story.run(kSteps);
    ASSERT_FALSE(problem.has_value()) << "seed " << seed << ": " << *problem;
    restarts += story.restarts();
  }
  EXPECT_GT(restarts, 20) << "otherwise nothing was at stake";
}

TEST(DeletedKeysAtRandom, ComeBackWhereFollowersContinueAllTheSame) {
  const PlantedCanary planted(Canary::late_follower_continues);
  for (uint64_t seed = 1; seed <= kStories; ++seed) {
    if (RandomStory(seed).run(kSteps)) return;
  }
  FAIL() << "nothing was noticed";
}

}  // namespace
}  // namespace naru
