// Who leads a partition and who counts as in sync when brokers come and go. Pure functions of one partition's state.
//
// Whatever changes a partition goes through with_new_epochs(): the partition epoch grows with every change, the leader
// epoch whenever the leader is another one or leads a log that may be shorter than before.
#pragma once

#include <vector>

#include "cluster_control/broker_standings.h"
#include "cluster_control/metadata_image.h"

namespace naru {

// What elections need to know of a topic's configuration.
struct ElectionRules {
  bool acknowledges_after_sync = true;   // flush.messages=1: an unclean stop takes nothing that was acknowledged
  int64_t synced_since = -1;             // ... in this generation or later; lives of brokers may have begun before
  bool unclean_leader_election = false;  // unclean.leader.election.enable
};

struct SettledPartition {
  PartitionState state;
  bool possible_loss = false;  // its leader may have lost acknowledged records, and nobody else can have them
  bool unclean = false;        // its leader was elected from outside of the ISR

  bool operator==(const SettledPartition&) const = default;
};

// The state that the partition should have with brokers in these standings; the state that it has if nothing is to be
// changed.
//
// Of the ISR stay, as long as there are any: the brokers that are there and have lost nothing; then those that are
// gone, of whom nothing bad is known: nobody leads until one is back; then one that came back without some of its data,
// which leads, with a possible loss; then those that lost everything, which may not lead. The leader stays if it
// can; else the first replica of the ISR that is there leads. A broker that is stopping gives way to others. One whose
// log of the partition is offline counts as gone. Where nobody may lead, an unclean election chooses the first replica
// that is there, if the topic allows that.
SettledPartition settle(const PartitionState& before, const ElectionRules& rules, const BrokerStandings& brokers);

// The first replica that is in the ISR, is there and is not stopping; kNoBroker if there is none.
BrokerId electable_leader(const PartitionState& state, const BrokerStandings& brokers);
// Anybody who is there, as a last resort: rather one that is not stopping, rather not one that has lost its data.
BrokerId unclean_leader(const PartitionState& state, const BrokerStandings& brokers);

// The state with this leader, alone in the ISR.
PartitionState elected_uncleanly(const PartitionState& before, BrokerId leader);
// `after` with the epochs that follow on those of `before`; the same state if nothing differs.
PartitionState with_new_epochs(const PartitionState& before, PartitionState after, bool new_leader_epoch = false);

}  // namespace naru
