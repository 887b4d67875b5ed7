// The coordinators of one kind on this broker: a shard for each partition of their topic that is led here.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "async/cancellation.h"
#include "async/one_shot.h"
#include "async/task.h"
#include "async/task_group.h"
#include "coordinator_runtime/coordinator_metrics.h"
#include "coordinator_runtime/coordinator_shard.h"
#include "foundation/ids.h"
#include "observability/metrics_registry.h"
#include "platform/clock.h"
#include "platform/scheduler.h"
#include "replication/partition.h"

namespace naru {

// Thread-safe, but for serve(), keep_only() and stop(): one at a time.
class CoordinatorRuntime {
 public:
  struct Parts {
    const Clock& clock;
    Scheduler& scheduler;
    MetricsRegistry& metrics;
  };
  // `factory` outlives it. Batches of records are at most `batch_max_bytes` long, if single steps are.
  CoordinatorRuntime(std::string topic, StateShardFactory& factory, Parts parts, size_t batch_max_bytes = 1 << 20);

  const std::string& topic() const { return topic_; }

  // A partition that this broker leads, and since which epoch: what was read in an earlier one may be outdated.
  struct Led {
    std::shared_ptr<Partition> partition;
    LeaderEpoch leader_epoch;
    bool operator==(const Led&) const = default;
  };
  // Begins to load the shard of this partition, unless that was done before.
  void serve(const std::shared_ptr<Partition>& partition, LeaderEpoch leader_epoch);
  // Stops the shards of all others, and of those that were led in another epoch.
  Task<void> keep_only(const std::vector<Led>& led);
  // Stops all. Once, before the partitions are closed; nothing is served afterwards.
  Task<void> stop();

  // Nothing when it is not here.
  std::shared_ptr<CoordinatorShard> shard(PartitionIndex index) const;
  std::vector<std::shared_ptr<CoordinatorShard>> shards() const;

 private:
  const std::string topic_;
  StateShardFactory& factory_;
  CoordinatorMetrics metrics_;
  TaskGroup tasks_;
  const CoordinatorServices services_;
  mutable std::mutex mutex_;
  std::map<PartitionIndex, std::shared_ptr<CoordinatorShard>> shards_;
};

// What is awaited of a shard by a caller that may give up: the first of the two counts.
template <class Answer>
struct FirstAnswer {
  void set(Result<Answer> answer) {
    if (!taken.test_and_set()) event.set(std::move(answer));
  }
  std::atomic_flag taken;
  OneShot<Result<Answer>> event;
};

// How much a step has to do: CoordinatorShard::Step.
struct StepSize {
  size_t elements = 1;
  UniqueFunction<size_t(const StateShard&)> of_state;
};

// Asks a shard whose states are of type State: `ask` gets (state, reply, time, outcome) and sees to it that the reply
// is called. The error is the runtime's: not here, not loaded, not committed. `only_in`: see CoordinatorShard::Step.
// `abandoned`: nobody waits for the answer any more; what was asked for happens all the same.
template <class State, class Answer, class Ask>
Task<Result<Answer>> ask_shard(std::shared_ptr<CoordinatorShard> shard, Ask ask, LeaderEpoch only_in = kNoLeaderEpoch,
                               CancelToken abandoned = {}, StepSize size = {}) {
  if (!shard) co_return failure(ErrorCode::not_coordinator, "this broker does not lead the coordinator's partition");
  const auto answered = std::make_shared<FirstAnswer<Answer>>();
  const CancelCallback on_abandoned(abandoned, [answered] { answered->set(failure(Status(ErrorCode::cancelled))); });
  shard->run({.run =
                  [answered, ask = std::move(ask)](StateShard& state, const CoordinatorTime& time,
                                                   CoordinatorOutcome& outcome) mutable {
                    ask(static_cast<State&>(state),
                        Reply<Answer>([answered](Result<Answer> answer) { answered->set(std::move(answer)); }), time,
                        outcome);
                  },
              .refuse = [answered](const Status& reason) { answered->set(failure(reason)); },
              .elements = size.elements,
              .elements_of_state = std::move(size.of_state),
              .only_in = only_in});
  co_return co_await answered->event;
}

}  // namespace naru
