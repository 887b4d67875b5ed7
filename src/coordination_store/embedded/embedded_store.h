// A coordination store inside the broker's process: an append-only log with snapshots, for one broker and one session.
//
// Transactions are checked in the order in which they arrive; those that arrive while a sync is running are written
// together and share the next one (group commit). Every answer, reads and conflicts included, waits until what it is
// based on is durable, so nobody acts on what a power cut would take back.
//
// A failed write or sync is final: the store goes offline (unavailable, session expired) until it is opened again. A
// full disk is no such failure: a transaction is accepted only when there is room in the log for it, so on a full disk
// transactions are refused (disk_full), but those that may use the reserve go on as long as it lasts, and all of them
// when there is space again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/one_shot.h"
#include "async/strand.h"
#include "coordination_store/coordination_store.h"
#include "coordination_store/embedded/store_folder.h"
#include "coordination_store/store_state.h"
#include "coordination_store/watch_registry.h"
#include "foundation/function.h"
#include "platform/file_system.h"
#include "platform/random.h"
#include "platform/scheduler.h"

namespace naru {

struct EmbeddedStoreOptions {
  std::string folder;
  StoreExpectation expectation = StoreExpectation::may_be_new;
  // A snapshot is taken when the log is larger than this and than the snapshot before.
  uint64_t snapshot_log_bytes = 4u << 20;
  // Room in the log for transactions that may use the reserve when the disk is full, and how much more is made at once.
  uint64_t reserve_bytes = 1u << 20;
  uint64_t room_step_bytes = 256u << 10;
  // Transactions that would make the contents larger are refused with out_of_memory_budget.
  uint64_t max_state_bytes = 256u << 20;
};

// Thread-safe. Closed before it is destroyed, unless the scheduler has forgotten its work (a simulated kill).
class EmbeddedStore final : public CoordinationStore {
 public:
  // Recovers the folder on a worker. Ephemeral keys of the session before are gone.
  static Task<Result<std::unique_ptr<EmbeddedStore>>> open(FileSystem& files, Scheduler& scheduler, Random& random,
                                                           EmbeddedStoreOptions options);

  Task<Result<std::optional<KeyValue>>> get(std::string key) override;
  Task<Result<std::vector<KeyValue>>> list(std::string folder) override;
  Task<Result<std::vector<KeyVersion>>> commit(Transaction transaction) override;
  std::unique_ptr<Watch> watch(std::string subject) override;
  Task<Session> session() override;

  // Refuses new transactions, waits for the running ones, and says why the store is offline if it is.
  Task<Status> close() override;

 private:
  using Versions = std::vector<KeyVersion>;
  // What one visit of the worker does.
  struct Job {
    Bytes round;
    uint64_t round_number = 0;
    uint64_t room = 0;        // to be there behind the round
    uint64_t least_room = 0;  // if that cannot be had
    std::optional<StoreState> snapshot;
    LogHeader next_log;
  };
  // Waits until it is known whether there is room for it.
  struct WaitingTransaction {
    Transaction transaction;
    OneShot<Result<Versions>>* answer;
  };
  struct WaitingAnswer {
    uint64_t round = 0;  // released when this round is durable
    UniqueFunction<void(const Status&)> release;
  };

  EmbeddedStore(Scheduler& scheduler, Random& random, EmbeddedStoreOptions options, StoreFolder::Opened opened);

  // Inside the strand.
  void accept(Transaction transaction, OneShot<Result<Versions>>& answer);
  Status check_acceptable(const Transaction& transaction) const;
  uint64_t room_needed(const Transaction& transaction) const;
  uint64_t room_wanted() const;
  uint64_t least_room_wanted() const;
  void answer_waiting_transactions(const Status& room_made);
  void answer_when_durable(UniqueFunction<void(const Status&)> release);
  void start_job();
  Job make_job();
  void on_round_durable(const Status& status);
  void on_worker_free(const Status& status, const Status& room_made, uint64_t room);
  void go_offline(const Status& reason);
  void note_changes(const Transaction& transaction);

  // On a worker.
  void run_job(Job job);
  // The status of the store: a snapshot or log that could not be written aside changes nothing.
  Status take_snapshot(const Job& job);

  template <class Value, class Read>
  Task<Result<Value>> read(Read read);

  Scheduler& scheduler_;
  Random& random_;
  const EmbeddedStoreOptions options_;
  std::unique_ptr<StoreFolder> folder_;  // the worker's while a job runs
  WatchRegistry watches_;
  Strand strand_;

  StoreState state_;  // with everything accepted, durable or not
  uint64_t log_id_;
  RoundBuilder next_round_;
  std::vector<std::string> next_changes_;     // keys changed by next_round_
  std::vector<std::string> running_changes_;  // keys changed by the round that is being written
  uint64_t durable_round_;
  uint64_t started_round_;   // the last one that was given to the worker
  uint64_t accepted_round_;  // the round that holds the newest accepted transaction
  uint64_t snapshot_retry_bytes_ = 0;
  uint64_t room_;  // in the log behind the last round that was given to the worker
  std::deque<WaitingTransaction> waiting_for_room_;
  bool full_ = false;  // the last attempt to make room failed
  bool worker_busy_ = false;
  Status offline_;
  bool closing_ = false;
  OneShot<>* closed_ = nullptr;
  std::deque<WaitingAnswer> waiting_;
};

}  // namespace naru
