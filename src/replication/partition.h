// A partition on this broker: its log, its role, and those who wait, all on one strand.
//
// It leads, follows, or does neither, as the newest assignment says; it begins with none. partition_following.h feeds
// one that follows.
//
// Any thread may call the public functions; the work happens inside the strand (async/strand.h), on the calling thread
// if the strand is free. Whoever waits is told inside the strand and resumed after it is left.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
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
#include "replication/cluster_contact.h"
#include "replication/partition_assignment.h"
#include "replication/partition_follower.h"
#include "replication/partition_leader.h"
#include "replication/readable_bytes.h"
#include "replication/replicated_batches.h"
#include "replication/transaction_guards.h"

namespace naru {

// What of a topic's configuration concerns its logs.
LogConfig log_config_of(const TopicConfig& config);

struct PartitionIdentity {
  std::string topic;
  Uuid topic_id;
  PartitionIndex index{0};

  std::string to_string() const { return fmt::format("{}-{}", topic, index); }
};

// Whoever has to know that logs cannot be used any more, or can be again.
class OfflineLogObserver {
 public:
  virtual ~OfflineLogObserver() = default;
  // Called inside a partition's strand, so it only passes on.
  virtual void offline_logs_changed() = 0;
  // Likewise: something in the log could not be read because it is damaged, or seems to be.
  virtual void damage_suspected(const LogId& /*id*/) {}
};

// What a partition needs from its broker.
struct PartitionServices {
  Clock& clock;
  Scheduler& scheduler;
  DurabilityService& durability;
  UnsyncedLogs& unsynced_logs;
  IsrProposals* isr_proposals = nullptr;  // none: replicas lead alone, so their in-sync sets never change
  Duration replica_lag_time_max = 30s;
  const ClusterContact* contact = nullptr;     // none: it is never lost
  OfflineLogObserver* offline_logs = nullptr;  // none: nobody has to know
};

// Who reads: consumers what is committed to the log, those of committed transactions what lies below the last stable
// offset, followers all there is.
enum class Audience : uint8_t { consumers, followers, committed_consumers };

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
  // Consumers are told when it has moved for them, followers when they have to move theirs.
  virtual void log_start_moved(uint32_t slot, Audience audience) = 0;
  // Of followers only: consumers are told that there is more to read.
  virtual void high_watermark_moved(uint32_t slot) = 0;
  // Of followers only: the leader wants to hear from them now.
  virtual void asked(uint32_t slot) = 0;
  // Of a session: when this broker has fetched in it last, as a follower. It looks only at partitions with news, so of
  // all others this is the sign that they are followed still. Thread-safe.
  virtual MonotonicTime followed_at(BrokerId /*follower*/) const { return MonotonicTime::min(); }

 private:
  const uint64_t id_;
};

// Whoever fetches for a partition that follows. Told inside its strand.
class FollowerObserver {
 public:
  virtual ~FollowerObserver() = default;
  // More of what was stored is durable, which the leader may wait for; or the partition follows another leader than
  // before, or one at last: follower_position() says something else.
  virtual void position_changed() = 0;
};

// What a reader sees, taken at one moment.
struct PartitionView {
  Status status;                // not ok: nothing else is meaningful but what is set
  Offset log_start_offset{-1};  // of this replica: where reading may begin
  Offset log_end_offset{-1};    // likewise: where it writes next
  // What this reader is told of it: followers where to begin, others PartitionLeader::common_start().
  Offset told_start_offset{-1};
  Offset high_watermark{-1};
  // Below it, every transaction has ended for good; never above the high watermark.
  Offset last_stable_offset{-1};
  Offset readable_end{-1};            // of this reader
  bool high_watermark_known = false;  // false: after an election, it may be lower than one that clients have seen
  LeaderEpoch leader_epoch{-1};
  uint64_t readable_bytes = 0;  // of this reader, for watch()
  EpochEnd diverging;           // read_as_follower() only; end_offset -1: the logs agree
  TombstoneHorizon tombstones;  // likewise; offset 0: nothing is missing from where the follower is
  int64_t question = 0;         // likewise; not 0: the follower has to repeat it, if it follows still
  LogSlice slice;               // of the two reads only
  // With read_committed: those that overlap the slice from the wanted offset on, by where they begin.
  std::vector<AbortedTransaction> aborted;
};

struct ReadRequest {
  Offset from;
  LeaderEpoch current_leader_epoch{-1};  // -1: the client does not say
  uint32_t max_bytes = 0;
  bool at_least_one_batch = false;
  bool leader_only = true;  // false: a replica that follows may answer, too
  bool read_committed = false;
};

// A follower asks its leader.
struct FollowerFetch {
  BrokerId replica;
  int64_t broker_epoch = -1;
  bool registered = true;                            // false: with this epoch, as far as the leader knows, not now
  MonotonicTime followed_at = MonotonicTime::max();  // see FollowerLife
  Offset from;
  LeaderEpoch last_fetched_epoch{-1};
  Offset flushed_end{-1};
  Offset log_start{-1};
  LeaderEpoch current_leader_epoch{-1};
  int64_t answered_question = 0;
  uint32_t max_bytes = 0;
  bool at_least_one_batch = false;
};

// What a partition that follows asks for next.
struct FollowerPosition {
  Status status;  // not ok: it does not follow
  BrokerId leader = kNoBroker;
  LeaderEpoch leader_epoch{-1};
  Offset offset;
  LeaderEpoch last_fetched_epoch{-1};
  Offset flushed_end;
  bool flush_counts = false;  // the leader waits for it
  Offset log_start;
  // The log begins anew, and before anything is fetched, begin_with_producers() has to say what the leader knows of
  // producers. Without it this replica would store again what a producer resends.
  bool wants_producers = false;
};

// What a leader knows of producers where its log begins.
struct ProducersAtStart {
  Offset start;
  Bytes snapshot;
};

// What was done with a leader's answer.
struct FollowerStep {
  FollowerDecision::Action action = FollowerDecision::Action::drop;
  Status problem;             // with wait
  bool needs_worker = false;  // nothing was done yet: it blocks, so it has to come again on a worker
  // Not -1: the leader's log begins later than this one; move_start() has to follow, and then a fetch that says so.
  Offset move_start_to{-1};
};

struct AppendRequest {
  SharedBytes batch;
  ValidatedBatch validated;
  Acks acks = Acks::all_in_sync;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;  // not -1: only if the partition is led in this epoch
  // Of a transactional batch: what was said to the question that begin_verification() has begun. A batch of an open
  // transaction needs none.
  std::optional<TransactionVerdict> verified = std::nullopt;
  // Records of a coordinator inside of a transaction: without sequence numbers. They need no verdict; if there is one,
  // it has to hold.
  bool by_coordinator = false;
  // Rises with each connection that is accepted; 0: the batch is not from one.
  uint64_t connection = 0;
};

// A coordinator ends a producer's transaction.
struct MarkerRequest {
  ProducerIdentity producer;  // the epoch is the marker's, with version 2 higher than the transaction's
  TransactionMarker marker;
  int16_t transaction_version = 1;  // 0 and 1: the epoch may be the transaction's own
  TransactionNumber number = kNoTransactionNumber;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;  // for which it was sent; not -1: only if the partition is led in this one
};

// The log of a partition, for as long as one is inside its strand.
struct LogAccess {
  PartitionLog& log;
  Offset high_watermark;
  const TopicConfig& config;
  bool leads = false;
  Offset last_stable_offset;
  // Followers are catching up from here: what is behind has to stay as it is told to them.
  Offset fetched_from{std::numeric_limits<int64_t>::max()};
};

// What happens to a log after its partition was closed.
enum class LogFate : uint8_t {
  kept,
  deleted,
  reopened,  // by another Partition: of one that may_be_reopened()
};

// What a log that went offline because of damage knew then.
struct OfflineDamage {
  Offset from = kNoOffset;   // where the damage begins; -1: that is not known
  LeaderEpoch leader_epoch;  // in which it led or followed
};

class Partition final : public DurableLog, public std::enable_shared_from_this<Partition> {
 public:
  Partition(PartitionIdentity identity, std::unique_ptr<PartitionLog> log, BrokerId self, const TopicConfig& config,
            PartitionServices services);

  const PartitionIdentity& identity() const { return identity_; }

  // Becomes what the assignment says; older ones than the present one are ignored. Whoever waits for an acknowledgement
  // of a leader that is none any more is told not_leader_or_follower.
  void assign(const PartitionAssignment& assignment);

  // Appends, and finishes the group's slot when the wanted acknowledgement is due. The append itself has been ordered
  // when this returns: two calls of one thread are appended in their order.
  void append(AppendRequest request, std::shared_ptr<AppendGroup> group, size_t slot);

  // Finishes the slot with an error that is about the records, and with where the log begins.
  void refuse(Status refused, std::shared_ptr<AppendGroup> group, size_t slot);

  // --- Transactions: partition_transactions.cc. ----------------------------------------------------------------------
  // co_await partition->begin_verification(...): whether a transactional batch has to be verified before it is
  // appended: ask the producer's coordinator whether the transaction is ongoing and this partition in it, and append
  // with the verdict. Guard 0: nobody has to be asked, because the producer's transaction is open.
  // invalid_producer_epoch; not_leader_or_follower.
  auto begin_verification(const BatchHeader& header) {
    return in_strand(strand_,
                     [this, header]() -> Result<VerificationGuard> { return begin_verification_inside(header); });
  }
  // For what a coordinator appends inside of a transaction: without sequences, so without repetitions.
  auto begin_verification(const ProducerIdentity& producer) {
    BatchHeader header;
    header.attributes = batch_attribute::kTransactional;
    header.producer_id = producer.id;
    header.producer_epoch = producer.epoch;
    header.base_sequence = -1;
    return begin_verification(header);
  }
  // Appends the marker that ends a transaction, and finishes the slot when every in-sync replica has it; also if there
  // is nothing to end. A marker that this reign has appended before, and one that comes late, is not appended and
  // answered as success when what that relies on is committed; the base offset is -1 then. invalid_producer_epoch: the
  // transaction that it is for is not open, and that is committed. transaction_coordinator_fenced,
  // not_leader_or_follower, and whatever append() may say.
  void append_marker(const MarkerRequest& request, std::shared_ptr<AppendGroup> group, size_t slot);
  // Appends nothing. Finishes the slot as append_marker() would if it is refused, otherwise with success.
  void check_marker(const MarkerRequest& request, std::shared_ptr<AppendGroup> group, size_t slot);

  // co_await partition->read(...): whole batches below the high watermark, or with read_committed below the last stable
  // offset. With no bytes to read, only the view.
  // Refused with not_leader_or_follower unless this broker leads, as look() and what follows; but see leader_only.
  auto read(ReadRequest request) {
    return in_strand(strand_, [this, request] { return read_inside(request); });
  }
  // co_await partition->look(...): the same without data.
  auto look(LeaderEpoch current_leader_epoch) {
    return in_strand(strand_, [this, current_leader_epoch] { return view_inside(current_leader_epoch); });
  }
  // By timestamp, or the record with the largest one; may read from disk, so call it on a worker.
  // `read_committed`: of the records below the last stable offset.
  auto find_timestamp(WallTimeMs timestamp, bool read_committed = false) {
    return in_strand(strand_,
                     [this, timestamp, read_committed] { return find_timestamp_inside(timestamp, read_committed); });
  }
  auto find_max_timestamp(bool read_committed = false) {
    return in_strand(strand_, [this, read_committed] { return find_max_timestamp_inside(read_committed); });
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
      return end_of_epoch_inside(current_leader_epoch, epoch);
    });
  }
  // Wakes the waiter when everything below `end` is committed, or when it is not to be expected soon: this broker does
  // not lead, or a sync has failed. look() tells which. What the leader itself has not synced yet is synced for it.
  void wake_when_committed(Offset end, std::shared_ptr<Wakeup> waiter);
  // Wakes the waiter when no in-sync replica begins before `start` any more, or when this broker does not lead. Whoever
  // is tired of waiting wakes it himself.
  void wake_when_started_at(Offset start, std::shared_ptr<Wakeup> waiter);

  // Whether the cluster was heard of lately. If not, another one may lead: confirm_leadership(). Any thread.
  bool has_contact() const { return services_.contact == nullptr || !services_.contact->lost(services_.clock.now()); }
  // Tells, inside the strand, whether this broker leads in this epoch and, as far as clocks can tell, nobody else.
  void confirm_leadership(LeaderEpoch leader_epoch, UniqueFunction<void(const Status&)> told);
  // The same without clocks: everybody who may have been elected is asked. Takes as long as a fetch of the slowest of
  // them; one that does not answer leaves the in-sync set, or this broker finds that it may be replaced.
  void prove_leadership(LeaderEpoch leader_epoch, UniqueFunction<void(const Status&)> told);

  // --- For a leader's followers. -------------------------------------------------------------------------------------
  // co_await partition->read_as_follower(...): whole batches to the end of the log, or where the logs part. Notes what
  // the follower has.
  auto read_as_follower(FollowerFetch request) {
    return in_strand(strand_, [this, request] { return read_as_follower_inside(request); });
  }
  // co_await partition->producers_at_start(...): for one whose position wants_producers.
  auto producers_at_start(LeaderEpoch current_leader_epoch) {
    return in_strand(strand_, [this, current_leader_epoch] { return producers_at_start_inside(current_leader_epoch); });
  }
  // co_await partition->may_be_elected(): the other replicas whose election this leader reckons with, so that what it
  // tells to be committed waits for them. For whoever checks it from outside; empty: it does not lead.
  auto may_be_elected() {
    return in_strand(strand_, [this] { return leader_ ? leader_->may_be_elected() : std::vector<BrokerId>(); });
  }
  // From time to time: who lags leaves the in-sync set.
  void check_followers();
  void proposal_answered(IsrProposal asked, IsrAnswer answer);

  // --- For one that follows: partition_following.h. ------------------------------------------------------------------
  auto follower_position() {
    return in_strand(strand_, [this] { return follower_position_inside(); });
  }
  // `batches` are what the answer brought, checked.
  auto apply_answer(const LeaderAnswer& answer, const std::vector<ReplicatedBatch>& batches, bool on_worker) {
    return in_strand(strand_,
                     [this, &answer, &batches, on_worker] { return apply_inside(answer, batches, on_worker); });
  }
  // What the leader of `asked` has told. Blocks, so call it on a worker.
  auto begin_with_producers(const FollowerPosition& asked, const ProducersAtStart& told) {
    return in_strand(strand_, [this, &asked, &told] { return begin_with_producers_inside(asked, told); });
  }
  void observe_following(std::weak_ptr<FollowerObserver> observer);

  // --- For metrics; any thread, and a moment old. --------------------------------------------------------------------
  bool is_leader() const { return told_leader_.load(std::memory_order_relaxed); }
  int32_t isr_size() const { return told_isr_size_.load(std::memory_order_relaxed); }
  // Of a leader: replicas are missing in the in-sync set; fewer are left than min.insync.replicas.
  bool under_replicated() const { return told_under_replicated_.load(std::memory_order_relaxed); }
  bool under_min_isr() const { return told_under_min_isr_.load(std::memory_order_relaxed); }
  // Since when the last stable offset stands still below the high watermark; nothing: it does not.
  std::optional<MonotonicTime> unstable_since() const;

  // --- For maintenance: partition_maintenance.h. ---------------------------------------------------------------------
  // co_await partition->with_log(function): the function gets a LogAccess inside the strand and returns a Result,
  // unless the partition is closed or offline: then that is the answer.
  template <class Function>
  auto with_log(Function function) {
    return in_strand(strand_, [this, function = std::move(function)]() mutable {
      using Answer = std::invoke_result_t<Function, const LogAccess&>;
      if (!availability_.ok()) return Answer(failure(availability_));
      Answer answer = function(log_access());
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
      Status status = function(log_access());
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
  // co_await partition->give_up_damaged(...): it goes offline until another replica leads, and what is damaged was
  // copied from there.
  auto give_up_damaged(std::string why) {
    return in_strand(strand_, [this, why = std::move(why)] {
      if (!availability_.ok()) return false;
      log_->give_up_damaged(Status(ErrorCode::corrupt_data, why));
      go_offline(log_->offline_reason());
      return true;
    });
  }
  // Something that it has read of this log is damaged. Any thread.
  void suspect_damage(const Status& read) const;
  CancelToken closing() const { return maintenance_cancel_.token(); }

  // Tells `watcher` of everything that became readable after `seen_bytes` of a view; until unwatch().
  void watch(std::shared_ptr<FetchWatcher> watcher, uint32_t slot, uint64_t seen_bytes,
             Audience audience = Audience::consumers);
  void unwatch(uint64_t watcher_id);

  void set_config(const TopicConfig& config);

  // No more reads and writes; waiters are told `reason`. Everything appended is synced and the log is closed; if it is
  // going to be deleted, it is left as it is then. To be reopened, its files are synced; the commit journal keeps what
  // it holds of it until DurabilityService::closed().
  Task<Status> close(Status reason, LogFate fate);

  // Whether a disk error has taken the log offline. Any thread.
  bool offline() const { return offline_.load(std::memory_order_relaxed); }
  // It is offline because something ran out: its log can be opened again when there is some. Or because it is damaged.
  // Any thread.
  bool may_be_reopened() const { return may_be_reopened_.load(std::memory_order_relaxed); }
  // Of one that is offline because of damage; nothing: it is not. Any thread.
  std::optional<OfflineDamage> offline_damage() const {
    const std::scoped_lock lock(damage_mutex_);
    return offline_damage_;
  }

  // DurableLog, called by the durability service.
  LogId id() const override { return {identity_.topic_id, identity_.index}; }
  void run_in_strand(UniqueFunction<void()> work) override { strand_.run(std::move(work)); }
  PartitionLog& log() override { return *log_; }
  void on_durable(Offset end) override;
  void on_sync_failed(const Status& reason) override;
  void on_file_sync_ended(bool well) override;
  bool sync_lazily() override { return services_.durability.sync_lazily(shared_from_this()); }

 private:
  static constexpr Duration::rep kStable = std::numeric_limits<Duration::rep>::min();

  struct Watch {
    std::shared_ptr<FetchWatcher> watcher;
    uint32_t slot;
    uint64_t seen_bytes;
    Audience audience;
  };
  class AckSlot;

  void append_inside(const AppendRequest& request, const std::shared_ptr<AppendGroup>& group, size_t slot);
  // Whether this leader may append something for whom these acknowledgements are wanted.
  Status why_not_appending(LeaderEpoch leader_epoch, Acks acks) const;
  // Finishes the slot when the followers have confirmed that this is the leader, or when it turns out not to be.
  void refuse_when_proven(Status refused, const std::shared_ptr<AppendGroup>& group, size_t slot);
  // Appends what was found to be good. False: that was not possible, and the slot is finished.
  bool store(const SharedBytes& batch, const ValidatedBatch& validated, Acks acks,
             const std::shared_ptr<AppendGroup>& group, size_t slot);
  // False: it waits.
  bool acknowledge_when_due(Offset end, Acks acks, const std::shared_ptr<AppendGroup>& group, size_t slot,
                            AppendResult result);
  void acknowledge_duplicate(const ProducerBatch& original, Acks acks, const std::shared_ptr<AppendGroup>& group,
                             size_t slot);
  void arrange_sync(const AppendOutcome& appended, const SharedBytes& batch);
  void arrange_sync_by_rules();
  void sync_what_waits();
  void maybe_end_of_syncs();
  void let_close_go_on();
  void flush_by_time();
  void report_write(const Status& status);
  Offset high_watermark() const { return leader_ ? leader_->high_watermark() : follower_.high_watermark(); }
  Offset last_stable_offset() const { return log_->last_stable_offset(high_watermark()); }
  uint64_t readable_bytes(Audience audience) const;
  Status why_not_leading() const;
  // Refuses also if another leader may have been elected.
  Status why_not_deciding(LeaderEpoch leader_epoch) const;
  // Another leader may have been elected without this broker's knowledge.
  bool may_be_replaced() const;
  // Those for whom everybody has answered, or nobody needs to any more.
  void tell_proven();
  bool is_in_session_since(BrokerId follower, MonotonicTime moment) const;
  Offset common_start() const { return leader_ ? leader_->common_start() : kNoOffset; }
  Status why_not_readable(Offset from) const;
  PartitionView view_inside(LeaderEpoch current_leader_epoch, bool leader_only = true) const;
  PartitionView read_inside(const ReadRequest& request);
  void read_slice(PartitionView& view, Offset from, uint32_t max_bytes, bool at_least_one_batch, EmptyBatches empty);
  void add_aborted(PartitionView& view, Offset from);
  Result<EpochEnd> end_of_epoch_inside(LeaderEpoch current_leader_epoch, LeaderEpoch epoch) const;
  Offset end_for(bool read_committed) const { return read_committed ? last_stable_offset() : high_watermark(); }
  Result<std::optional<OffsetAndTimestamp>> find_timestamp_inside(WallTimeMs timestamp, bool read_committed);
  Result<std::optional<OffsetAndTimestamp>> find_max_timestamp_inside(bool read_committed);
  Result<std::vector<Producer>> producers_inside();
  void tell_acks_and_readers();
  void tell_due_acks();
  void tell_readers();
  void note_stable(Offset stable);
  void tell_committed();
  void tell_log_start();
  void tell_start_waiters();
  void tell_unsynced_files();
  void tell_follower_observer();
  void stop_serving(const Status& reason);
  void fail_waiters(const Status& reason);
  void go_offline(const Status& cause);
  void note_offline_damage();
  LeaderRules rules() const;
  LogAccess log_access() const;

  // Transactions: partition_transactions.cc.
  Result<VerificationGuard> begin_verification_inside(const BatchHeader& header);
  AppendTerms terms_of(const AppendRequest& request) const;
  SequenceCheck check_producer(const AppendRequest& request) const;
  bool is_outdated(const ProducerIdentity& producer, const TransactionVerdict& verdict) const;
  void note_transactional(const AppendRequest& request);
  Result<MarkerAction> check_marker_inside(const MarkerRequest& request) const;
  bool is_late(const MarkerRequest& request) const;
  void append_marker_inside(const MarkerRequest& request, const std::shared_ptr<AppendGroup>& group, size_t slot);
  void acknowledge_marker(ProducerId producer, const std::shared_ptr<AppendGroup>& group, size_t slot);
  void refuse_marker(const Status& refused, const std::shared_ptr<AppendGroup>& group, size_t slot);

  // Roles: partition_roles.cc.
  enum class Role : uint8_t { none, leader, follower };
  Role role_in(const PartitionAssignment& assignment) const;
  void assign_inside(const PartitionAssignment& assignment);
  void become_leader(Offset known_high_watermark);
  void resign();
  void publish_role();
  PartitionView read_as_follower_inside(const FollowerFetch& request);
  void note_given(BrokerId follower, Offset from);
  void propose(const std::optional<IsrProposal>& proposal);
  FollowerPosition follower_position_inside() const;
  FollowerStep apply_inside(const LeaderAnswer& answer, const std::vector<ReplicatedBatch>& batches, bool on_worker);
  Status begin_with_batch(const BatchHeader& batch);
  Result<ProducersAtStart> producers_at_start_inside(LeaderEpoch current_leader_epoch) const;
  Status begin_with_producers_inside(const FollowerPosition& asked, const ProducersAtStart& told);
  void began_anew_at(Offset start);
  FollowerStep append_replicated(const LeaderAnswer& answer, const std::vector<ReplicatedBatch>& batches);
  Status append_replicated_batch(const ReplicatedBatch& batch, bool catching_up);
  FollowerStep cut_back(const FollowerDecision& decision);
  bool lacks_tombstones(const LeaderAnswer& answer) const;
  FollowerStep after_failed_step(const Status& status);

  const PartitionIdentity identity_;
  PartitionServices services_;
  const BrokerId self_;
  TopicConfig config_;
  std::unique_ptr<PartitionLog> log_;
  PartitionAssignment assignment_;
  Role role_ = Role::none;
  std::optional<PartitionLeader> leader_;  // while it leads
  PartitionFollower follower_;             // while it does not
  ReadableBytes readable_;
  TransactionGuards guards_;  // while it leads
  // Of its followers, while it leads: what each was given last, and how often.
  struct Given {
    Offset from = kNoOffset;
    int times = 0;
  };
  std::map<BrokerId, Given> given_;
  Status availability_;  // not ok: offline, deleted or closed, for good
  std::atomic<bool> offline_{false};
  std::atomic<bool> may_be_reopened_{false};
  mutable std::mutex damage_mutex_;
  std::optional<OfflineDamage> offline_damage_;
  ErrorCode reported_trouble_ = ErrorCode::none;
  int64_t unsynced_records_ = 0;
  bool flush_timer_running_ = false;
  uint64_t told_appended_bytes_ = 0;
  uint64_t told_committed_bytes_ = 0;
  uint64_t told_stable_bytes_ = 0;
  Offset told_log_start_;
  Offset told_common_start_ = kNoOffset;
  size_t told_unsynced_files_ = 0;
  std::map<uint64_t, Watch> watches_;
  // Both are bounded: by those who load from this partition, and by the requests that delete records.
  std::vector<std::pair<Offset, std::shared_ptr<Wakeup>>> waiting_for_commit_;
  std::vector<std::pair<Offset, std::shared_ptr<Wakeup>>> waiting_for_start_;
  // By question, ascending; bounded by the requests of clients.
  std::vector<std::pair<int64_t, UniqueFunction<void(const Status&)>>> waiting_for_proof_;
  std::weak_ptr<FollowerObserver> follower_observer_;
  std::atomic<bool> told_leader_{false};
  std::atomic<bool> told_under_replicated_{false};
  std::atomic<bool> told_under_min_isr_{false};
  std::atomic<int32_t> told_isr_size_{0};
  Offset last_stable_ = kNoOffset;
  std::atomic<Duration::rep> told_unstable_since_{kStable};
  std::shared_ptr<Wakeup> all_synced_;  // set while close() waits for the last sync
  CancelSource maintenance_cancel_;
  bool maintenance_running_ = false;
  std::shared_ptr<Wakeup> maintenance_ended_;  // set while close() waits for it
  Strand strand_;                              // last: nothing else is destroyed while somebody is inside
};

}  // namespace naru
