// The group coordinators of this broker: __consumer_offsets, its shards, and what they have to know of the rest.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.h"
#include "async/task_group.h"
#include "broker/group_lag.h"
#include "broker/hosted_partitions.h"
#include "cluster_control/metadata_publisher.h"
#include "cluster_control/turnstile.h"
#include "configuration/broker_config.h"
#include "consumer_groups/consumer_protocol/consumer_group_topics.h"
#include "consumer_groups/group_coordinator.h"
#include "coordinator_runtime/coordinator_runtime.h"
#include "foundation/function.h"
#include "foundation/shared_cell.h"
#include "platform/seams.h"

namespace naru {

// How much a step has to do: CoordinatorShard::Step.
struct GroupStepSize {
  size_t elements = 1;  // of the request
  // Also as many as the group has, which the step looks at as a whole.
  bool whole_group = false;
  bool assigns = false;  // and may give its members all of their partitions anew
};

// So many groups are listed in one step of a shard: requests of others come between two steps.
inline constexpr size_t kGroupsPerStep = 1000;

// Thread-safe. Everything it is made of outlives it.
class GroupCoordinators final : private StateShardFactory {
 public:
  GroupCoordinators(Seams seams, const BrokerConfig& config, const HostedPartitions& hosted,
                    const MetadataPublisher& metadata, MetricsRegistry& metrics, MemoryBudget* memory = nullptr);

  // Serves the shards whose partitions are here, and tells them which topics are gone. After the partitions followed.
  Task<void> follow(MetadataImagePtr image);
  // Begins to serve, to look for expired offsets and to measure how far groups are behind. Once, when the logs may be
  // appended to; until then follow() does nothing.
  Task<void> start();
  // Once, before the partitions are closed. Whoever is parked is answered.
  Task<void> stop();

  // Which broker coordinates the group; kNoBroker while that is not known.
  BrokerId coordinator_of(std::string_view group_id) const;

  // Asks the coordinator of a group. `ask` gets (GroupCoordinator&, Reply<Answer>, time, outcome). The error is
  // not_coordinator, coordinator_load_in_progress or coordinator_not_available; cancelled when the client is `gone`.
  template <class Answer, class Ask>
  Task<Result<Answer>> ask(std::string_view group_id, Ask ask, GroupStepSize size = {}, CancelToken gone = {}) {
    return ask_shard<GroupCoordinator, Answer>(shard_of(group_id), std::move(ask), kNoLeaderEpoch, std::move(gone),
                                               step_size(group_id, size));
  }
  // The same for the coordinator of all groups of one partition, if it is led here in epoch `only_in` (-1: in any).
  template <class Answer, class Ask>
  Task<Result<Answer>> ask_partition(PartitionIndex index, Ask ask, LeaderEpoch only_in, StepSize size = {}) {
    return ask_shard<GroupCoordinator, Answer>(runtime_.shard(index), std::move(ask), only_in, {}, std::move(size));
  }
  // Which partition of __consumer_offsets is responsible; none while there is no such topic.
  std::optional<PartitionIndex> partition_of(std::string_view group_id) const;
  // All that are on this broker.
  std::vector<std::shared_ptr<CoordinatorShard>> shards() const { return runtime_.shards(); }

 private:
  static constexpr size_t kMaxWaiting = 1000;  // never reached: images are published one at a time

  std::unique_ptr<StateShard> make(PartitionIndex partition, LeaderEpoch leader_epoch) override;
  void loaded(StateShard& shard, const CoordinatorTime& time, CoordinatorOutcome& outcome) override;

  std::shared_ptr<CoordinatorShard> shard_of(std::string_view group_id) const;
  // Other topics than before, or many of them at once.
  static constexpr size_t kTopicsOnLoop = 1000;

  static StepSize step_size(std::string_view group_id, const GroupStepSize& size);
  // To every shard that is not being loaded, in its strand: in steps, until there is no more to do. Each shard gets
  // news of its own from `make_news`.
  using News = UniqueFunction<bool(GroupCoordinator&, const CoordinatorTime&, CoordinatorOutcome&)>;
  void tell_shards(const std::function<News()>& make_news, size_t elements);
  static void tell(Scheduler& scheduler, const std::shared_ptr<CoordinatorShard>& shard, News news, size_t elements);
  void tell_deleted_topics(const std::vector<FormerTopic>& gone);
  void tell_topics();
  void tell_settings(const MetadataImage& image);
  Task<void> expire_offsets_from_time_to_time();
  Task<void> expire_offsets();
  Task<void> measure_lag_from_time_to_time();

  Seams seams_;
  const BrokerConfig& config_;
  const HostedPartitions& hosted_;
  const MetadataPublisher& metadata_;
  MemoryBudget* const memory_;  // none: nothing is counted
  CoordinatorRuntime runtime_;
  GroupLag lag_;
  Turnstile turns_{kMaxWaiting};  // of follow() and stop(), which guard what comes next
  bool started_ = false;
  bool stopped_ = false;
  MetadataImagePtr followed_ = std::make_shared<const MetadataImage>();
  SharedCell<const SubscribableTopics> topics_{
      std::make_shared<const SubscribableTopics>(-1, std::vector<SubscribableTopic>{})};
  TaskGroup background_;
};

}  // namespace naru
