#include "cluster_control/leader_election.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "foundation/canary.h"

namespace naru {
namespace {

// In the order in which they are kept in the ISR.
enum class Membership : uint8_t { steady, stopping, gone, doubtful, empty };
constexpr std::array kMemberships{Membership::steady, Membership::stopping, Membership::gone, Membership::doubtful,
                                  Membership::empty};

Membership membership_of(const BrokerStanding& broker, const ElectionRules& rules, bool is_only_replica) {
  // Nothing tells in which of its folders a replica was: without one of them it may be empty, and others would become
  // so by following it.
  const bool may_be_empty = broker.loss == DataLoss::everything || (broker.loss == DataLoss::some && !is_only_replica);
  if (may_be_empty && !is_planted(Canary::wiped_broker_stays)) return Membership::empty;
  if (!broker.registered) return Membership::gone;
  if (broker.loss == DataLoss::some) return Membership::doubtful;
  const bool had_loose_rule = !rules.acknowledges_after_sync || broker.known_since < rules.synced_since;
  if (broker.loss == DataLoss::unsynced && had_loose_rule && !is_planted(Canary::unclean_broker_stays)) {
    return Membership::doubtful;
  }
  return broker.stopping ? Membership::stopping : Membership::steady;
}

bool contains(const std::vector<BrokerId>& ids, BrokerId id) {
  return std::ranges::find(ids, id) != ids.end();
}

// Narrows the ISR to the best members it has, and tells what they are.
Membership narrow_isr(PartitionState& state, const ElectionRules& rules, const BrokerStandings& brokers) {
  if (state.isr_lost_data) return Membership::empty;
  const bool is_only_replica = state.replicas.size() == 1;
  for (const Membership wanted : kMemberships) {
    std::vector<BrokerId> members;
    std::ranges::copy_if(state.isr, std::back_inserter(members), [&](BrokerId id) {
      return membership_of(brokers.of(id, state), rules, is_only_replica) == wanted;
    });
    if (members.empty()) continue;
    state.isr = std::move(members);
    return wanted;
  }
  return Membership::empty;
}

// Whether a member was taken out that runs, and whose log cannot be used. It may be cut back before it is in sync
// again, and what it has fetched until now must not count then.
bool lost_an_offline_log(const PartitionState& before, const PartitionState& after, const BrokerStandings& brokers) {
  return std::ranges::any_of(before.isr, [&](BrokerId id) {
    return !contains(after.isr, id) && brokers.of(id).registered && !brokers.of(id, before).registered;
  });
}

BrokerId choose_leader(const PartitionState& narrowed, const BrokerStandings& brokers) {
  if (contains(narrowed.isr, narrowed.leader)) return narrowed.leader;
  for (const BrokerId id : narrowed.replicas) {
    if (contains(narrowed.isr, id) && brokers.of(id, narrowed).registered) return id;
  }
  return kNoBroker;
}

}  // namespace

SettledPartition settle(const PartitionState& before, const ElectionRules& rules, const BrokerStandings& brokers) {
  SettledPartition settled{.state = before};
  PartitionState& after = settled.state;
  const Membership isr = narrow_isr(after, rules, brokers);
  after.isr_lost_data = isr == Membership::empty;
  const bool may_lead = isr != Membership::gone && isr != Membership::empty;
  after.leader = may_lead ? choose_leader(after, brokers) : kNoBroker;
  if (isr == Membership::doubtful) {
    settled.possible_loss = true;
    after.isr = {after.leader};  // each of them may miss what another one has
  }
  if (after.leader == kNoBroker && (rules.unclean_leader_election || is_planted(Canary::elects_outside_isr))) {
    const BrokerId leader = unclean_leader(before, brokers);
    if (leader != kNoBroker) {
      after = elected_uncleanly(before, leader);
      settled.unclean = true;
    }
  }
  // After an unclean stop the log may end earlier than others have seen it, so it must not go on in the same epoch.
  const BrokerStanding leader = brokers.of(after.leader);
  const bool log_may_be_shorter =
      leader.returned && leader.loss != DataLoss::nothing && !is_planted(Canary::epoch_survives_crash);
  const bool new_epoch = log_may_be_shorter || lost_an_offline_log(before, after, brokers);
  after = with_new_epochs(before, std::move(after), new_epoch);
  return settled;
}

BrokerId electable_leader(const PartitionState& state, const BrokerStandings& brokers) {
  if (state.isr_lost_data) return kNoBroker;
  for (const BrokerId id : state.replicas) {
    const BrokerStanding broker = brokers.of(id, state);
    if (contains(state.isr, id) && broker.registered && !broker.stopping) return id;
  }
  return kNoBroker;
}

BrokerId unclean_leader(const PartitionState& state, const BrokerStandings& brokers) {
  BrokerId best = kNoBroker;
  std::pair<bool, bool> best_drawbacks;
  for (const BrokerId id : state.replicas) {
    const BrokerStanding broker = brokers.of(id, state);
    if (!broker.registered) continue;
    const bool has_nothing = broker.loss == DataLoss::everything || (state.isr_lost_data && contains(state.isr, id));
    const std::pair drawbacks(has_nothing, broker.stopping);
    if (best != kNoBroker && best_drawbacks <= drawbacks) continue;
    best = id;
    best_drawbacks = drawbacks;
  }
  return best;
}

PartitionState elected_uncleanly(const PartitionState& before, BrokerId leader) {
  PartitionState after = before;
  after.leader = leader;
  after.isr = {leader};
  after.isr_lost_data = false;
  return after;
}

PartitionState with_new_epochs(const PartitionState& before, PartitionState after, bool new_leader_epoch) {
  if (after == before && !new_leader_epoch) return after;
  ++after.partition_epoch;
  if (after.leader != before.leader || new_leader_epoch) after.leader_epoch = before.leader_epoch + 1;
  return after;
}

}  // namespace naru
