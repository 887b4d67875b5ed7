// A partition on this broker: its log, the leader's core, and those who wait, all on one strand.
//
// Any thread may call the public functions; the work happens inside the strand (async/strand.h), on the calling thread
// if the strand is free. Whoever waits is told inside the strand and resumed after it is left.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/cancellation.h"
#include "async/in_strand.h"
#include "async/strand.h"
#include "async/task.h"
#include "configuration/topic_config.h"
#include "foundation/ids.h"
#include "foundation/shared_bytes.h"
#include "foundation/uuid.h"
#include "log_storage/durability_service.h"
#include "log_storage/partition_log.h"
#include "log_storage/unsynced_logs.h"
#include "platform/clock.h"
#include "platform/scheduler.h"
#include "record_format/batch_validator.h"
#include "replication/append_group.h"
#include "replication/partition_leader.h"

namespace naru {

// What of a topic's configuration concerns its logs.
LogConfig log_config_of(const TopicConfig& config);

struct PartitionIdentity {
  std::string topic;
  Uuid topic_id;
  PartitionIndex index{0};

  std::string to_string() const { return fmt::format("{}-{}", topic, index); }
};

// What a partition needs from its broker.
struct PartitionServices {
  Clock& clock;
  Scheduler& scheduler;
  DurabilityService& durability;
  UnsyncedLogs& unsynced_logs;
};

// Somebody parked until partitions have news. Told inside their strands, so it only counts and wakes.
class FetchWatcher {
 public:
  // `id` is unique in the process; watchers are told in the order of their ids.
  explicit FetchWatcher(uint64_t id) : id_(id) {}
  virtual ~FetchWatcher() = default;
  uint64_t id() const { return id_; }
  // `slot` is what the watcher called the partition in watch().
  virtual void more_to_read(uint32_t slot, uint64_t bytes) = 0;
  virtual void state_changed(uint32_t slot) = 0;  // offline, deleted, another leader: somebody has to look again
  virtual void log_start_moved(uint32_t slot) = 0;

 private:
  const uint64_t id_;
};

// What a reader sees, taken at one moment.
struct PartitionView {
  Status status;  // not ok: nothing else is meaningful but what is set
  Offset log_start_offset{-1};
  Offset high_watermark{-1};
  LeaderEpoch leader_epoch{-1};
  uint64_t committed_bytes = 0;  // for watch()
  LogSlice slice;                // read() only
};

struct ReadRequest {
  Offset from;
  LeaderEpoch current_leader_epoch{-1};  // -1: the client does not say
  uint32_t max_bytes = 0;
  bool at_least_one_batch = false;
};

struct AppendRequest {
  SharedBytes batch;
  ValidatedBatch validated;
  Acks acks = Acks::all_in_sync;
};

// The log of a partition, for as long as one is inside its strand.
struct LogAccess {
  PartitionLog& log;
  Offset high_watermark;
  const TopicConfig& config;
};

// What happens to a log after its partition was closed.
enum class LogFate : uint8_t { kept, deleted };

class Partition final : public DurableLog, public std::enable_shared_from_this<Partition> {
 public:
  Partition(PartitionIdentity identity, std::unique_ptr<PartitionLog> log, BrokerId self, LeaderEpoch leader_epoch,
            const TopicConfig& config, PartitionServices services);

  const PartitionIdentity& identity() const { return identity_; }

  // Appends, and finishes the group's slot when the wanted acknowledgement is due. The append itself has been ordered
  // when this returns: two calls of one thread are appended in their order.
  void append(AppendRequest request, std::shared_ptr<AppendGroup> group, size_t slot);

  // co_await partition->read(...): whole batches below the high watermark. With no bytes to read, only the view.
  auto read(ReadRequest request) {
    return in_strand(strand_, [this, request] { return read_inside(request); });
  }
  // co_await partition->look(...): the same without data.
  auto look(LeaderEpoch current_leader_epoch) {
    return in_strand(strand_, [this, current_leader_epoch] { return view_inside(current_leader_epoch); });
  }
  // By timestamp, or the record with the largest one; may read from disk, so call it on a worker.
  auto find_timestamp(WallTimeMs timestamp) {
    return in_strand(strand_, [this, timestamp] { return find_timestamp_inside(timestamp); });
  }
  auto find_max_timestamp() {
    return in_strand(strand_, [this] { return find_max_timestamp_inside(); });
  }

  // co_await partition->producers(): those it remembers, by id.
  auto producers() {
    return in_strand(strand_, [this] { return producers_inside(); });
  }
  // co_await partition->size_bytes(): of its segments.
  auto size_bytes() {
    return in_strand(strand_, [this] { return log_->size_bytes(); });
  }

  // co_await partition->end_of_epoch(...): where the records of `epoch`, or of the last one before it, end.
  auto end_of_epoch(LeaderEpoch current_leader_epoch, LeaderEpoch epoch) {
    return in_strand(strand_, [this, current_leader_epoch, epoch]() -> Result<EpochEnd> {
      const PartitionView view = view_inside(current_leader_epoch);
      if (!view.status.ok()) return failure(view.status);
      return log_->end_offset_for_epoch(epoch);
    });
  }

  // --- For maintenance: partition_maintenance.h. ---------------------------------------------------------------------
  // co_await partition->with_log(function): the function gets a LogAccess inside the strand and returns a Result,
  // unless the partition is closed or offline: then that is the answer.
  template <class Function>
  auto with_log(Function function) {
    return in_strand(strand_, [this, function = std::move(function)]() mutable {
      using Answer = std::invoke_result_t<Function, const LogAccess&>;
      if (!availability_.ok()) return Answer(failure(availability_));
      Answer answer = function(LogAccess{*log_, leader_.high_watermark(), config_});
      tell_log_start();
      if (!log_->offline()) sync_what_waits();
      tell_unsynced_files();
      if (log_->offline()) go_offline(log_->offline_reason());
      return answer;
    });
  }
  // The same for what a maintenance has begun and must end, so also while the partition is being closed: the log stays
  // open until the maintenance ends. The function returns a Status.
  template <class Function>
  auto with_log_to_the_end(Function function) {
    return in_strand(strand_, [this, function = std::move(function)]() mutable {
      if (log_->offline()) return Status(ErrorCode::log_offline, log_->offline_reason().message());
      Status status = function(LogAccess{*log_, leader_.high_watermark(), config_});
      if (log_->offline()) go_offline(log_->offline_reason());
      return status;
    });
  }
  // One maintenance at a time: false while another one runs. close() cancels it and waits for end_maintenance().
  auto begin_maintenance() {
    return in_strand(strand_, [this] {
      if (!availability_.ok() || maintenance_running_) return false;
      return maintenance_running_ = true;
    });
  }
  auto end_maintenance() {
    return in_strand(strand_, [this] {
      maintenance_running_ = false;
      if (maintenance_ended_) maintenance_ended_->wake();
      return Unit{};
    });
  }
  // Of topics that are not synced for their acknowledgements: what stays in the page cache is never old enough to go.
  auto sync_soon() {
    return in_strand(strand_,
                     [this] { return availability_.ok() && services_.durability.sync_lazily(shared_from_this()); });
  }
  CancelToken closing() const { return maintenance_cancel_.token(); }

  // Tells `watcher` of everything that became readable after `seen_committed_bytes` of a view; until unwatch().
  void watch(std::shared_ptr<FetchWatcher> watcher, uint32_t slot, uint64_t seen_committed_bytes);
  void unwatch(uint64_t watcher_id);

  void set_config(const TopicConfig& config);

  // No more reads and writes; waiters are told `reason`. Everything appended is synced and the log is closed; if it is
  // going to be deleted, it is left as it is then.
  Task<Status> close(Status reason, LogFate fate);

  // Whether a disk error has taken the log offline. Any thread.
  bool offline() const { return offline_.load(std::memory_order_relaxed); }

  // DurableLog, called by the durability service.
  LogId id() const override { return {identity_.topic_id, identity_.index}; }
  void run_in_strand(UniqueFunction<void()> work) override { strand_.run(std::move(work)); }
  PartitionLog& log() override { return *log_; }
  void on_durable(Offset end) override;
  void on_sync_failed(const Status& reason) override;
  void on_file_sync_ended(bool well) override;
  bool sync_lazily() override { return services_.durability.sync_lazily(shared_from_this()); }

 private:
  struct Watch {
    std::shared_ptr<FetchWatcher> watcher;
    uint32_t slot;
    uint64_t seen_committed_bytes;
  };
  class AckSlot;

  void append_inside(const AppendRequest& request, const std::shared_ptr<AppendGroup>& group, size_t slot);
  // False: it waits.
  bool acknowledge_when_due(Offset end, Acks acks, const std::shared_ptr<AppendGroup>& group, size_t slot,
                            AppendResult result);
  void acknowledge_duplicate(const ProducerBatch& original, Acks acks, const std::shared_ptr<AppendGroup>& group,
                             size_t slot);
  void arrange_sync(const AppendOutcome& appended, const SharedBytes& batch);
  void sync_what_waits();
  void maybe_end_of_syncs();
  void let_close_go_on();
  void flush_by_time();
  void report_write(const Status& status);
  PartitionView view_inside(LeaderEpoch current_leader_epoch) const;
  PartitionView read_inside(const ReadRequest& request);
  Result<std::optional<OffsetAndTimestamp>> find_timestamp_inside(WallTimeMs timestamp);
  Result<std::optional<OffsetAndTimestamp>> find_max_timestamp_inside();
  Result<std::vector<Producer>> producers_inside();
  void tell_acks_and_readers();
  void tell_log_start();
  void tell_unsynced_files();
  void stop_serving(const Status& reason);
  void fail_waiters(const Status& reason);
  void go_offline(const Status& cause);
  LeaderRules rules() const;

  const PartitionIdentity identity_;
  PartitionServices services_;
  TopicConfig config_;
  LeaderEpoch leader_epoch_;
  std::unique_ptr<PartitionLog> log_;
  PartitionLeader leader_;
  Status availability_;  // not ok: offline, deleted or closed, for good
  std::atomic<bool> offline_{false};
  ErrorCode reported_trouble_ = ErrorCode::none;
  int64_t unsynced_records_ = 0;
  bool flush_timer_running_ = false;
  uint64_t told_committed_bytes_ = 0;
  Offset told_log_start_;
  size_t told_unsynced_files_ = 0;
  std::map<uint64_t, Watch> watches_;
  std::shared_ptr<Wakeup> all_synced_;  // set while close() waits for the last sync
  CancelSource maintenance_cancel_;
  bool maintenance_running_ = false;
  std::shared_ptr<Wakeup> maintenance_ended_;  // set while close() waits for it
  Strand strand_;                              // last: nothing else is destroyed while somebody is inside
};

}  // namespace naru
