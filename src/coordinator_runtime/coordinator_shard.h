// A coordinator's shard at work: the state machine, its partition, and the records and answers between them.
//
//     run(step) -> the state machine decides, applies and answers     inside the strand, one step at a time
//               -> records are gathered into a batch                  while the batch before is on its way to the disk
//               -> append -> committed -> the answers leave
//
// So the records of all steps that come during a sync share the next one. An answer leaves when everything that was
// applied before it is committed, also the answer to a step that only looked: nobody sees what a crash could take back.
//
// The records of one step are in one batch, so that a crash leaves all of them or none, however large that makes the
// batch. Only where a step says that it may be cut, and is larger than a batch should be, it is spread over several.
//
// The order of the log is the order in which steps were applied, also where their batches differ: records inside of a
// transaction are a batch of their own, which the partition knows as part of that transaction, and so are markers.
//
// Who is cut off from the cluster may have been replaced, and does not know what the next coordinator has promised:
// then answers without records leave only if the partition cannot have another leader. That takes time to notice; an
// answer on which transactions are built waits until the followers have said that they follow still.
//
// What takes long is done by a worker, which takes the strand over for it: a step that works through many elements, a
// timer of a large state, answers to many. Other requests to the shard wait; the loop, and everybody else on it, does
// not.
//
// A batch that is not committed (a full disk, say) means that memory is ahead of the log. Then all that was parked or
// not yet answered gets coordinator_not_available, the state is thrown away, and after a while read again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "async/cancellation.h"
#include "async/strand.h"
#include "async/task.h"
#include "async/task_group.h"
#include "coordinator_runtime/coordinator_metrics.h"
#include "coordinator_runtime/coordinator_outcome.h"
#include "coordinator_runtime/state_shard.h"
#include "foundation/function.h"
#include "foundation/status.h"
#include "platform/clock.h"
#include "platform/scheduler.h"
#include "replication/append_group.h"
#include "replication/partition.h"

namespace naru {

struct CoordinatorServices {
  const Clock& clock;
  Scheduler& scheduler;
  CoordinatorMetrics& metrics;
  TaskGroup& tasks;        // of the shards; joined after the last one was stopped
  size_t batch_max_bytes;  // of several steps together
};

// What makes shards of one kind.
class StateShardFactory {
 public:
  virtual ~StateShardFactory() = default;
  // An empty one, for this partition of the topic and as long as it is led in this epoch. Any thread.
  virtual std::unique_ptr<StateShard> make(PartitionIndex partition, LeaderEpoch leader_epoch) = 0;
  // Its first step, when it was loaded: for what it has to know besides its log. Inside its strand.
  virtual void loaded(StateShard& shard, const CoordinatorTime& time, CoordinatorOutcome& outcome) = 0;
};

// Any thread may call the public functions. Kept by shared_ptr: events may come after it was forgotten.
class CoordinatorShard final : public std::enable_shared_from_this<CoordinatorShard> {
 public:
  // Exactly one of the two is called, once, inside the strand.
  struct Step {
    UniqueFunction<void(StateShard&, const CoordinatorTime&, CoordinatorOutcome&)> run;
    UniqueFunction<void(const Status&)> refuse;
    // What the broker has to say, and says once: it is heard however much waits to be written.
    bool is_news = false;
    // How many elements it works through, about: of the request, and of the state that it is about.
    size_t elements = 1;
    UniqueFunction<size_t(const StateShard&)> elements_of_state;  // none: 0
    // Not -1: refused with not_leader_or_follower unless the shard serves in this leader epoch of its partition.
    LeaderEpoch only_in = kNoLeaderEpoch;
  };

  // Steps with more elements than that, and as many answers at once, are a worker's.
  static constexpr size_t kElementsOnLoop = 1000;

  // Serves for as long as this broker leads the partition in this epoch.
  CoordinatorShard(std::shared_ptr<Partition> partition, LeaderEpoch leader_epoch, StateShardFactory& factory,
                   CoordinatorServices services);

  const std::shared_ptr<Partition>& partition() const { return partition_; }
  LeaderEpoch leader_epoch() const { return leader_epoch_; }

  // Begins to read the log. Once, first.
  void start();
  // Refused with coordinator_load_in_progress while the log is read, not_coordinator after stop(),
  // coordinator_not_available when the log cannot be understood or, for requests, too much waits to be written.
  void run(Step step);
  // Not served here any more. Steps that were decided before and are being written are answered when that is done;
  // everybody else gets not_coordinator.
  Task<void> stop();

 private:
  enum class Stage : uint8_t { loading, serving, unreadable, stopped };
  // What has to be in one batch: alone, or with its neighbours if these are plain records, too.
  struct Part {
    std::vector<CoordinatorRecord> records;
    std::optional<ProducerIdentity> transaction;  // of the records
    std::optional<CoordinatorMarker> marker;      // instead of records
    bool is_plain() const { return !transaction && !marker; }
  };
  // What several steps have decided, and who waits for it.
  using Replies = std::vector<UniqueFunction<void(const Status&)>>;
  struct Gathered {
    std::vector<Part> parts;  // in the order in which they were applied
    Replies replies;
    bool proves_leadership = false;
    size_t bytes = 0;
  };
  using Self = std::shared_ptr<CoordinatorShard>;

  CoordinatorTime time() const;
  Status why_not_serving() const;
  // The last thing of an event: the rest of it, here or, if it is about so many elements, on a worker.
  void finish(size_t elements, UniqueFunction<void()> rest);
  void on_worker(UniqueFunction<void()> rest);
  template <class Decide>
  void decide(Decide&& decide);
  void take(CoordinatorOutcome outcome);
  void answer(Replies replies, bool proves_leadership);
  void write_gathered();
  Task<void> write(Self self, std::vector<Part> parts);
  static std::vector<Part> parts_of(CoordinatorOutcome& outcome, size_t max_bytes);
  static std::vector<Part> batches_of(std::vector<Part> parts, size_t max_bytes);
  Status append(const Part& batch, const std::shared_ptr<AppendGroup>& group, size_t slot);
  void written(const Status& status);
  void on_timer();
  void abandon_state(const Status& reason);
  Task<void> load(Self self);
  void install(std::unique_ptr<StateShard> state, const Status& loaded);
  void could_not_load(const Status& why);
  void load_later(Duration delay);
  void arm_timer();
  void disarm_timer();

  const std::shared_ptr<Partition> partition_;
  const LeaderEpoch leader_epoch_;
  StateShardFactory& factory_;
  const CoordinatorServices services_;
  CancelSource stopping_;

  Stage stage_ = Stage::loading;
  int failed_loads_ = 0;               // since the last that did not
  std::unique_ptr<StateShard> state_;  // while serving
  Gathered gathered_;
  std::optional<Replies> writing_;           // who waits for what is on its way
  std::shared_ptr<AppendGroup> on_its_way_;  // what writing_ waits for
  struct Timer {
    MonotonicTime deadline;
    Scheduler::TimerId id;
  };
  std::optional<Timer> timer_;
  Strand strand_;  // last: nothing else is destroyed while somebody is inside
};

}  // namespace naru
