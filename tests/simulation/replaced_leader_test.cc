// A leader alone in its in-sync set asks for a second member; the controller agrees, its answer is lost, and it elects
// the new member when the leader is cut off: the old leader must not go on as if nobody else could lead.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "foundation/canary_testing.h"
#include "simulation/cut_off_testing.h"

namespace naru::simulation {
namespace {

constexpr Duration kShrinkTime = 10s;

class ReplacedLeader : public CutOff {
 protected:
  // `write` is accepted by the leader alone.
  template <class Write>
  Task<void> replace_unheard(std::string topic, PartitionState chosen, Write write) {
    const BrokerId controller = this->controller(), leader = chosen.leader;
    std::vector<BrokerId> followers = chosen.replicas;
    std::erase(followers, leader);
    const auto now = [this, topic, index = chosen.index] {
      return partitions(topic)[static_cast<size_t>(index.value())];
    };
    for (const BrokerId id : followers) cut(leader, id);
    co_await write();
    co_await wait(kShrinkTime);
    EXPECT_EQ(now().isr, std::vector<BrokerId>{leader});
    // What the controller says does not arrive any more; what it is told does.
    world_.network().block(host(controller), host(leader));
    world_.network().unblock(host(leader), host(followers[0]));
    world_.network().unblock(host(followers[0]), host(leader));
    for (int i = 0; i < 100 && now().isr.size() < 2; ++i) co_await wait(50ms);
    EXPECT_EQ(now().isr.size(), 2u);
    cut_off({leader});
    co_await wait(kLongerThanPatience);
    EXPECT_EQ(now().leader, followers[0]);
  }
  // What acks=1 is told at the replaced leader, and later once more.
  void produce_at_replaced_leader(ErrorCode expected) {
    run([this, expected]() -> Task<void> {
      const auto chosen = partition_beside_controller();
      if (!chosen) co_return;
      const BrokerId leader = chosen->leader;
      co_await replace_unheard(kTopic, *chosen, [&]() -> Task<void> {
        EXPECT_EQ(co_await produce(leader, chosen->index, kAcksLeader), ErrorCode::none);
      });
      for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(co_await produce(leader, chosen->index, kAcksLeader), expected);
        co_await wait(kLongerThanPatience);
      }
    });
  }
};

TEST_F(ReplacedLeader, AcknowledgesNothingAlthoughNobodyToldItOfItsSuccessor) {
  produce_at_replaced_leader(ErrorCode::not_leader_or_follower);
}

TEST_F(ReplacedLeader, ThatOnlyLooksAtTheCommittedSetIsNoticed) {
  const PlantedCanary planted(Canary::silent_committed_isr);
  produce_at_replaced_leader(ErrorCode::none);
}

}  // namespace
}  // namespace naru::simulation
