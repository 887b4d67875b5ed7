// Brokers come, go, stop and lose their disks, ISRs change, planners run in any order and are planned again: the rules
// of leadership hold after every transaction, and when the controller has done its work every partition that can have a
// leader has one.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "cluster_control/alter_configs.h"
#include "cluster_control/alter_partitions.h"
#include "cluster_control/create_topics.h"
#include "cluster_control/elect_leaders.h"
#include "cluster_control/metadata_bench.h"
#include "foundation/log.h"
#include "foundation/sanitized_testing.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

constexpr int32_t kBrokers = 5;
constexpr Uuid kChanging{1, 400};
using PartitionName = std::pair<Uuid, int32_t>;

// Independent of the controller's code: who has all acknowledged records of a partition, as the story of the brokers
// tells it.
class BrokerChangesModel {
 public:
  explicit BrokerChangesModel(uint64_t seed) : random_(seed) {
    for (int32_t id = 0; id < kBrokers; ++id) directories_[BrokerId(id)] = bench_.directories(BrokerId(id)).front();
    create_topic("synced", {1, 100}, {});
    create_topic("loose", {1, 200}, {{"flush.messages", "1000"}});
    create_topic("changing", kChanging, {{"flush.messages", "1000"}});
    for (int32_t id = 0; id < kBrokers; ++id) was_loose_.insert(BrokerId(id));
    create_topic("unclean", {1, 300}, {{"unclean.leader.election.enable", "true"}});
    for (const auto& [name, state] : partitions()) complete_[name] = {state->isr.begin(), state->isr.end()};
  }

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(step);
      do_something();
      if (random_.one_in(3)) settle_and_check();
    }
    settle_and_check();
    bring_everybody_back();
  }

 private:
  std::map<PartitionName, PartitionStatePtr> partitions() const {
    std::map<PartitionName, PartitionStatePtr> all;
    for (const TopicMetadataPtr& topic : bench_.image().topics()) {
      for (const PartitionStatePtr& state : topic->partitions) all[{topic->id, state->index.value()}] = state;
    }
    return all;
  }

  void create_topic(std::string name, Uuid id, std::vector<ConfigEntry> configs) {
    CreateTopicsRequest request;
    request.topics.push_back({.name = std::move(name),
                              .partition_count = 8,
                              .replication_factor = 3,
                              .configs = std::move(configs),
                              .id = id});
    CreateTopicsPlanner planner(std::move(request), config_, 0);
    bench_.run(planner);
    EXPECT_TRUE(planner.take_results().front().status.ok());
  }

  void do_something() {
    const BrokerId broker(static_cast<int32_t>(random_.below(kBrokers)));
    const bool is_there = bench_.image().find_broker(broker) != nullptr;
    switch (random_.below(9)) {
      case 0:
      case 1:
        return is_there ? go(broker) : come_back(broker);
      case 2:
        return is_there ? stop(broker) : come_back(broker);
      case 3:
        return elect(ElectionType::preferred);
      case 4:
        return random_.one_in(6) ? elect(ElectionType::unclean) : come_back(broker);
      case 5:
        return change_rule();
      default:
        return alter_isr();
    }
  }

  // Whoever was there while the rule was loose may lack what was acknowledged then, whatever the rule is when it
  // comes back.
  void change_rule() {
    is_loose_ = !is_loose_;
    AlterConfigsPlanner planner({{.resource = ConfigResource::topic,
                                  .name = "changing",
                                  .changes = {{.name = "flush.messages", .value = is_loose_ ? "1000" : "1"}}}},
                                false, config_);
    run_planner(planner);
    EXPECT_TRUE(planner.take_results().front().status.ok());
    if (!is_loose_) return;
    for (const auto& [id, broker] : bench_.image().brokers()) was_loose_.insert(id);
  }

  void go(BrokerId broker) {
    bench_.lose_broker(broker);
    if (random_.one_in(3)) come_back(broker);  // before the controller has noticed
  }

  void come_back(BrokerId broker) {
    if (bench_.image().find_broker(broker) != nullptr) return;
    const bool wiped = random_.one_in(6);
    const bool clean = random_.one_in(2);
    if (wiped) directories_[broker] = {50, next_directory_++};
    for (auto& [name, complete] : complete_) {
      const bool loose = name.first == Uuid{1, 200} || (name.first == kChanging && was_loose_.contains(broker));
      if (wiped || (!clean && loose)) complete.erase(broker);
    }
    bench_.register_broker(broker, clean, {directories_[broker]});
    if (is_loose_) {
      was_loose_.insert(broker);
    } else {
      was_loose_.erase(broker);
    }
  }

  void stop(BrokerId broker) {
    stopping_[broker] = bench_.image().find_broker(broker)->epoch;
    settle_and_check();
    if (random_.one_in(2)) bench_.lose_broker(broker);
  }

  void elect(ElectionType type) {
    const auto before = partitions();
    ElectLeadersPlanner planner(type, all_partitions(bench_.image()), stopping_);
    run_planner(planner);
    check_changes(before, type == ElectionType::unclean);
  }

  // A leader proposes what it believes: an expansion by a follower that has caught up, or any shrinking; sometimes with
  // an old epoch of the follower.
  void alter_isr() {
    const auto all = partitions();
    const auto chosen = std::next(all.begin(), static_cast<int64_t>(random_.below(all.size())));
    const PartitionState& state = *chosen->second;
    const BrokerId leader = state.leader;
    if (bench_.image().find_broker(leader) == nullptr) return;
    const int64_t leader_epoch = bench_.image().find_broker(leader)->epoch;
    IsrChange change{state.topic_id, state.index, state.leader_epoch, state.partition_epoch, {}};
    const int64_t lie = random_.one_in(8) ? -1 : 0;
    for (const BrokerId id : state.replicas) {
      const BrokerMetadata* broker = bench_.image().find_broker(id);
      const bool wanted = id == state.leader || random_.one_in(2);
      if (wanted) change.isr.push_back({id, broker == nullptr ? 1 : broker->epoch + (id == state.leader ? 0 : lie)});
    }
    const auto before = partitions();
    AlterPartitionsPlanner planner(leader, leader_epoch, {change}, stopping_);
    run_planner(planner);
    const auto results = planner.take_results();
    if (results.front().status.ok()) {
      for (const IsrMember& member : change.isr) {
        const BrokerMetadata* broker = bench_.image().find_broker(member.id);
        ASSERT_NE(broker, nullptr);
        EXPECT_EQ(broker->epoch, member.broker_epoch);
      }
      // Who joins has caught up; who leaves has not what is acknowledged from now on.
      auto& complete = complete_[chosen->first];
      const std::set<BrokerId> was = std::exchange(complete, {});
      for (const IsrMember& member : change.isr) {
        const bool leader_is_complete = was.contains(leader);
        if (leader_is_complete) complete.insert(member.id);
      }
    }
    check_changes(before, false, results.front().status.ok() ? std::optional(chosen->first) : std::nullopt);
  }

  // Steps in which some transactions are planned on an image that is out of date, as after a conflict, or are planned
  // again after they have happened, as after an unknown outcome.
  void run_planner(Planner& planner) {
    if (random_.one_in(3)) {
      const auto unused = planner.plan(bench_.image());
    }
    if (random_.one_in(3) && !planner.done()) {
      const auto transaction = planner.plan(bench_.image());
      if (transaction) bench_.commit(*transaction);
    }
    bench_.run(planner);
  }

  void settle_and_check() {
    const auto before = partitions();
    SettlePartitionsPlanner planner(config_, [this] { return stopping_; });
    run_planner(planner);
    check_changes(before, true);
    for (const auto& [name, state] : partitions()) {
      const auto leads = [&](BrokerId id) { return bench_.image().find_broker(id) != nullptr; };
      const bool can_have_one = !state->isr_lost_data && std::ranges::any_of(state->isr, leads);
      if (can_have_one) EXPECT_NE(state->leader, kNoBroker);
      if (state->leader != kNoBroker) EXPECT_NE(bench_.image().find_broker(state->leader), nullptr);
    }
    for (const auto& [id, broker] : bench_.image().brokers()) EXPECT_TRUE(bench_.image().is_settled(id));
  }

  void check_changes(const std::map<PartitionName, PartitionStatePtr>& before, bool elections_may_be_unclean,
                     std::optional<PartitionName> altered = {}) {
    for (const auto& [name, after] : partitions()) {
      check_state(*after);
      check_change(name, *before.at(name), *after, elections_may_be_unclean, altered == name);
    }
  }

  static std::string describe(const PartitionState& state) {
    return fmt::format("leader {} epoch {}/{} isr {} lost {}", state.leader, state.leader_epoch, state.partition_epoch,
                       fmt::join(state.isr, ","), state.isr_lost_data);
  }

  static void check_state(const PartitionState& state) {
    const std::set<BrokerId> replicas(state.replicas.begin(), state.replicas.end());
    const std::set<BrokerId> isr(state.isr.begin(), state.isr.end());
    EXPECT_FALSE(isr.empty());
    EXPECT_EQ(isr.size(), state.isr.size());
    EXPECT_TRUE(std::ranges::includes(replicas, isr));
    if (state.leader != kNoBroker) EXPECT_TRUE(isr.contains(state.leader));
    if (state.isr_lost_data) EXPECT_EQ(state.leader, kNoBroker);
  }

  void check_change(const PartitionName& name, const PartitionState& before, const PartitionState& after,
                    bool may_be_unclean, bool altered) {
    if (after == before) return;
    EXPECT_GT(after.partition_epoch, before.partition_epoch);
    EXPECT_GE(after.leader_epoch, before.leader_epoch);
    if (after.leader != before.leader) EXPECT_GT(after.leader_epoch, before.leader_epoch);
    std::set<BrokerId>& complete = complete_[name];
    const auto joined = std::ranges::count_if(
        after.isr, [&](BrokerId id) { return std::ranges::find(before.isr, id) == before.isr.end(); });
    if (joined > 0 && !altered) {
      // Only an unclean election makes a member of one that was none.
      EXPECT_TRUE(may_be_unclean);
      EXPECT_EQ(after.isr, std::vector<BrokerId>{after.leader});
    }
    const bool elected = after.leader != kNoBroker && after.leader_epoch != before.leader_epoch;
    if (!elected) return;
    const bool unclean = may_be_unclean && (name.first == Uuid{1, 300} || joined > 0 || before.isr_lost_data);
    const bool last_resort = may_lead_without_everything(before, after.leader);
    if (!unclean && !last_resort) {
      EXPECT_TRUE(complete.contains(after.leader))
          << "partition " << name.second << " of " << name.first.to_string() << " is led by " << after.leader.value()
          << ", before " << describe(before) << ", after " << describe(after);
    }
    // From now on, what the leader has is what counts.
    if (!complete.contains(after.leader)) complete = {after.leader};
  }

  // The last member of a loose topic after an unclean stop: with possible loss.
  bool may_lead_without_everything(const PartitionState& before, BrokerId leader) const {
    const bool loses = before.topic_id == Uuid{1, 200} || before.topic_id == kChanging;
    return loses && std::ranges::find(before.isr, leader) != before.isr.end() &&
           std::ranges::none_of(before.isr, [&](BrokerId id) {
             return complete_.at({before.topic_id, before.index.value()}).contains(id);
           });
  }

  void bring_everybody_back() {
    stopping_.clear();
    for (int32_t id = 0; id < kBrokers; ++id) {
      if (bench_.image().find_broker(BrokerId(id)) == nullptr) {
        bench_.register_broker(BrokerId(id), true, {directories_[BrokerId(id)]});
      }
    }
    settle_and_check();
    ElectLeadersPlanner planner(ElectionType::unclean, all_partitions(bench_.image()), {});
    bench_.run(planner);
    for (const auto& [name, state] : partitions()) EXPECT_NE(state->leader, kNoBroker);
  }

  SimulatedRandom random_;
  const BrokerConfig config_ = *make_broker_config({});
  MetadataBench bench_{kBrokers};
  StoppingBrokers stopping_;
  std::map<BrokerId, Uuid> directories_;
  uint64_t next_directory_ = 1;
  bool is_loose_ = true;                                  // the topic whose rule changes
  std::set<BrokerId> was_loose_;                          // during the present life of these, or the last one
  std::map<PartitionName, std::set<BrokerId>> complete_;  // who has every acknowledged record
};

TEST(BrokerChangesModel, TheRulesOfLeadershipHoldWhateverHappensToBrokers) {
  const uint64_t seeds = kSanitized ? 40 : 300;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    BrokerChangesModel(seed).run(120);
    if (testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace naru
