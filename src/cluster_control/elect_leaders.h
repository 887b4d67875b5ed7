// ElectLeaders: the preferred replica becomes leader again, or, where nobody may lead, somebody does all the same.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "async/task.h"
#include "cluster_control/broker_standings.h"
#include "cluster_control/partition_planner.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/uuid.h"
#include "platform/scheduler.h"

namespace naru {

// The numbers are Kafka's.
enum class ElectionType : int8_t { preferred = 0, unclean = 1 };

struct ElectLeadersItem {
  std::string topic;
  PartitionIndex index;
  Uuid topic_id;  // looked up by name when the request begins; zero: there is no such topic
  // What this request planned: a partition in this leader epoch has been elected by it.
  LeaderEpoch planned = kNoLeaderEpoch;
};

struct ElectLeadersResult {
  std::string topic;
  PartitionIndex index;
  Status status;
};

// Preferred: the first replica leads, if it is in the ISR and there: else preferred_leader_not_available.
// Unclean: a partition without a leader gets one, from the ISR if possible, else any replica that is there: else
// eligible_leaders_not_available. election_not_needed where the leader is the right one already.
class ElectLeadersPlanner final : public PartitionPlanner<ElectLeadersItem, ElectLeadersResult> {
 public:
  ElectLeadersPlanner(ElectionType type, std::vector<ElectLeadersItem> items, StoppingBrokers stopping);

 private:
  void begin_step(const MetadataImage& image) override { brokers_ = BrokerStandings(image, stopping_).settled_only(); }
  ElectLeadersResult plan_item(const MetadataImage& image, const PartitionState* before, ElectLeadersItem& item,
                               PartitionEdits& edits) override;
  ElectLeadersResult failed_item(const ElectLeadersItem& item, const Status& status) const override;
  Result<PartitionState> elect_preferred(const PartitionState& before) const;
  Result<PartitionState> elect_uncleanly(const PartitionState& before) const;

  const ElectionType type_;
  const StoppingBrokers stopping_;
  BrokerStandings brokers_;
};

// Adds the topic's partitions of which another replica than the first leads, though that one could: what automatic
// elections are for. With the standings of the settled brokers alone.
void add_imbalanced(const TopicMetadata& topic, const BrokerStandings& settled, std::vector<ElectLeadersItem>& items);
// Adds all of the topic's partitions.
void add_partitions_of(const TopicMetadata& topic, std::vector<ElectLeadersItem>& items);

// Looks at every topic, for a turn of the loop at a time: there may be hundreds of thousands of partitions.
template <class Look>
Task<void> for_each_topic(Scheduler& scheduler, MetadataImagePtr image, Look look) {
  constexpr size_t kPartitionsPerTurn = 5000;
  size_t looked_at = 0;
  for (const TopicMetadataPtr& topic : image->topics()) {
    look(*topic);
    looked_at += 1 + topic->partitions.size();
    if (looked_at < kPartitionsPerTurn) continue;
    looked_at = 0;
    co_await to_loop(scheduler);
  }
}

}  // namespace naru
