// Brokers that are cut off from the others and not from their clients: what they may still say, and what not.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

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
    const auto old = co_await coordinator();
    EXPECT_NE(old, nullptr);
    if (!old) co_return;
    ErrorCode committed = ErrorCode::coordinator_load_in_progress;
    for (int tries = 0; tries < 100 && committed != ErrorCode::none; ++tries) {
      co_await wait(300ms);
      committed = co_await commit(old, 5);
    }
    EXPECT_EQ(co_await fetch(old), (Fetched{ErrorCode::none, 5}));
    for (const auto& broker : cluster_.brokers()) {
      if (broker->address() == old->address()) cut_off({broker->id()});
    }
    co_await wait(kLongerThanPatience);
    std::shared_ptr<KafkaClient> next = co_await coordinator();
    while (next && next->address() == old->address()) {  // who is cut off still believes to be it
      next->close();
      next = co_await coordinator();
    }
    EXPECT_NE(next, nullptr);
    if (!next) co_return;
    EXPECT_EQ(co_await commit(next, 9), ErrorCode::none);
    EXPECT_EQ((co_await fetch(old)).error, ErrorCode::not_coordinator);
    EXPECT_EQ(co_await fetch(next), (Fetched{ErrorCode::none, 9}));
    old->close();
    next->close();
  });
}

}  // namespace
}  // namespace naru::simulation
