// Brokers that are cut off from the others and not from their clients: what they may still say, and what not.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "foundation/canary_testing.h"
#include "simulation/cut_off_testing.h"

namespace naru::simulation {
namespace {

// Its followers fetch all the time, in sessions in which nobody looks at partitions without news.
TEST_F(CutOff, AnIdlePartitionTakesRecordsWithoutTheControllerWhileItsFollowersFetch) {
  run([this]() -> Task<void> {
    const auto found = partition_beside_controller();
    if (!found) co_return;
    cut(found->leader, controller());
    co_await wait(kLongerThanPatience);
    EXPECT_EQ(co_await produce(found->leader, found->index, kAcksLeader), ErrorCode::none);
    EXPECT_EQ(co_await produce(found->leader, found->index, kAcksAll), ErrorCode::none);
    EXPECT_EQ(partitions()[static_cast<size_t>(found->index.value())].leader, found->leader);
  });
}

// The old controller and one that still asks it are alone together: neither may take that for contact to the cluster.
TEST_F(CutOff, LeadersAreNotTakenInByAControllerThatWasLeftBehind) {
  run([this]() -> Task<void> {
    const BrokerId controller = this->controller();
    const BrokerId companion(controller == BrokerId(1) ? 2 : 1);
    const auto before = partitions();
    cut_off({controller, companion});
    co_await wait(kLongerThanPatience);
    EXPECT_NE(this->controller(), controller);
    int replaced = 0;
    for (const PartitionState& state : before) {
      if (state.leader != controller && state.leader != companion) continue;
      const PartitionState now = partitions()[static_cast<size_t>(state.index.value())];
      if (now.leader == state.leader) continue;
      ++replaced;
      EXPECT_EQ(co_await produce(state.leader, state.index, kAcksLeader), ErrorCode::not_leader_or_follower)
          << fmt::format("partition {}, which broker {} leads", state.index, now.leader);
    }
    EXPECT_GT(replaced, 1);
  });
}

TEST_F(CutOffCoordinator, DoesNotTellWhatTheNextOneMayHaveChanged) {
  run([this]() -> Task<void> {
    const Replaced replaced = co_await replace(kLongerThanPatience);
    if (!replaced.next) co_return;
    EXPECT_EQ((co_await fetch(replaced.old)).error, ErrorCode::not_coordinator);
    EXPECT_EQ(co_await fetch(replaced.next), (Fetched{ErrorCode::none, 9}));
    replaced.old->close();
    replaced.next->close();
  });
}

// It cannot have noticed yet. A client that goes on from there would go back, and in transactions copy records twice.
TEST_F(CutOffCoordinator, TellsNoPositionFromTheMomentOnInWhichItIsReplaced) {
  run([this]() -> Task<void> {
    const Replaced replaced = co_await replace(Duration(0));
    if (!replaced.next) co_return;
    for (const bool stable : {false, true}) {
      EXPECT_NE((co_await fetch(replaced.old, stable)).error, ErrorCode::none);
      EXPECT_EQ(co_await fetch(replaced.next, stable), (Fetched{ErrorCode::none, 9}));
    }
    replaced.old->close();
    replaced.next->close();
  });
}

TEST_F(CutOffCoordinator, ThatTellsPositionsWithoutAProofIsNoticed) {
  const PlantedCanary planted(Canary::stale_positions_told);
  run([this]() -> Task<void> {
    const Replaced replaced = co_await replace(Duration(0));
    if (!replaced.next) co_return;
    for (const bool stable : {false, true})
      EXPECT_EQ(co_await fetch(replaced.old, stable), (Fetched{ErrorCode::none, 5}));
    replaced.old->close();
    replaced.next->close();
  });
}

}  // namespace
}  // namespace naru::simulation
