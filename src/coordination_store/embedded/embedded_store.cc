#include "coordination_store/embedded/embedded_store.h"

#include <algorithm>
#include <utility>

#include "foundation/assert.h"
#include "foundation/log.h"

namespace naru {
namespace {

constexpr SessionId kOnlySession = 1;
// A round's header, and what a transaction takes besides what byte_count() counts.
constexpr uint64_t kRoundOverheadBytes = 64;
constexpr uint64_t kTransactionOverheadBytes = 16;
constexpr size_t kMaxWaitingForRoom = 1000;

// The sessions of earlier processes end when the store is opened; written down, so that replay agrees.
Status end_old_sessions(StoreFolder::Opened& opened) {
  RoundBuilder round;
  for (const SessionId session : opened.recovery.state.sessions()) {
    opened.recovery.state.end_session(session);
    round.add(SessionEnded{session});
  }
  if (round.empty()) return {};
  return opened.folder->append(round.finish(opened.recovery.log.log_id, ++opened.recovery.last_round));
}

Result<StoreFolder::Opened> open_folder(FileSystem& files, Random& random, const EmbeddedStoreOptions& options) {
  NARU_TRY_ASSIGN(auto opened, StoreFolder::open(files, random, options.folder, options.expectation));
  NARU_TRY(end_old_sessions(opened));
  // On a full disk with what is there.
  ignore(opened.folder->make_room(options.reserve_bytes + options.room_step_bytes));
  return opened;
}

}  // namespace

Task<Result<std::unique_ptr<EmbeddedStore>>> EmbeddedStore::open(FileSystem& files, Scheduler& scheduler,
                                                                 Random& random, EmbeddedStoreOptions options) {
  auto opened = co_await on_worker(scheduler, [&] { return open_folder(files, random, options); });
  if (!opened) co_return failure(std::move(opened).error());
  co_return std::unique_ptr<EmbeddedStore>(
      new EmbeddedStore(scheduler, random, std::move(options), std::move(*opened)));
}

EmbeddedStore::EmbeddedStore(Scheduler& scheduler, Random& random, EmbeddedStoreOptions options,
                             StoreFolder::Opened opened)
    : scheduler_(scheduler),
      random_(random),
      options_(std::move(options)),
      folder_(std::move(opened.folder)),
      state_(std::move(opened.recovery.state)),
      log_id_(opened.recovery.log.log_id),
      durable_round_(opened.recovery.last_round),
      started_round_(opened.recovery.last_round),
      accepted_round_(opened.recovery.last_round),
      room_(folder_->room()) {}

template <class Value, class Read>
Task<Result<Value>> EmbeddedStore::read(Read read) {
  OneShot<Result<Value>> answer;
  strand_.run([this, &read, &answer] {
    answer_when_durable([value = read(state_), &answer](const Status& status) mutable {
      answer.set(status.ok() ? Result<Value>(std::move(value)) : failure(status));
    });
  });
  co_return co_await answer;
}

Task<Result<std::optional<KeyValue>>> EmbeddedStore::get(std::string key) {
  NARU_CO_TRY(validate_key(key));
  co_return co_await read<std::optional<KeyValue>>([&key](const StoreState& state) { return state.get(key); });
}

Task<Result<std::vector<KeyValue>>> EmbeddedStore::list(std::string folder) {
  NARU_CO_TRY(validate_subject(folder));
  co_return co_await read<std::vector<KeyValue>>([&folder](const StoreState& state) { return state.list(folder); });
}

Task<Result<std::vector<KeyVersion>>> EmbeddedStore::commit(Transaction transaction) {
  NARU_CO_TRY(validate_transaction(transaction));
  OneShot<Result<Versions>> answer;
  strand_.run([this, &transaction, &answer] { accept(std::move(transaction), answer); });
  co_return co_await answer;
}

std::unique_ptr<Watch> EmbeddedStore::watch(std::string subject) {
  return watches_.watch(std::move(subject));
}

Task<Session> EmbeddedStore::session() {
  OneShot<Session> answer;
  strand_.run([this, &answer] {
    const bool usable = offline_.ok() && !closing_;
    answer.set({usable ? SessionState::connected : SessionState::expired, kOnlySession});
  });
  co_return co_await answer;
}

Task<Status> EmbeddedStore::close() {
  OneShot<> closed;
  strand_.run([this, &closed] {
    NARU_ASSERT(closed_ == nullptr, "a coordination store is closed twice at once");
    closing_ = true;
    if (worker_busy_) {
      closed_ = &closed;
    } else {
      closed.set();
    }
  });
  co_await closed;
  co_return offline_;
}

void EmbeddedStore::accept(Transaction transaction, OneShot<Result<Versions>>& answer) {
  // Behind one that waits for room all wait: transactions keep their order.
  if (!waiting_for_room_.empty() && waiting_for_room_.size() < kMaxWaitingForRoom) {
    waiting_for_room_.push_back({std::move(transaction), &answer});
    return;
  }
  if (Status status = check_acceptable(transaction); !status.ok()) {
    answer_when_durable([status = std::move(status), &answer](const Status& durable) {
      answer.set(failure(durable.ok() ? status : durable));
    });
    return;
  }
  if (offline_.ok() && room_ < room_needed(transaction)) {
    waiting_for_room_.push_back({std::move(transaction), &answer});
    start_job();
    return;
  }
  Versions versions;
  if (!transaction.puts.empty() || !transaction.deletes.empty()) {
    next_round_.add(transaction, kOnlySession);
    note_changes(transaction);
    versions = state_.apply(std::move(transaction), kOnlySession);
    accepted_round_ = started_round_ + 1;
  }
  answer_when_durable([versions = std::move(versions), &answer](const Status& status) mutable {
    answer.set(status.ok() ? Result<Versions>(std::move(versions)) : failure(status));
  });
  start_job();
}

Status EmbeddedStore::check_acceptable(const Transaction& transaction) const {
  if (closing_) return Status(ErrorCode::unavailable, "the coordination store is being closed");
  NARU_TRY(state_.check(transaction));
  if (waiting_for_room_.size() >= kMaxWaitingForRoom) {
    return Status(ErrorCode::unavailable, "too many transactions wait for room in the coordination store");
  }
  if (transaction.puts.empty()) return {};
  if (next_round_.size() + transaction.byte_count() > kMaxRoundBytes) {
    return Status(ErrorCode::unavailable, "too many transactions wait for the disk of the coordination store");
  }
  if (state_.byte_count() + transaction.byte_count() > options_.max_state_bytes) {
    return error(ErrorCode::out_of_memory_budget, "the coordination store holds {} of at most {} bytes",
                 state_.byte_count(), options_.max_state_bytes);
  }
  return {};
}

// In the log, with what was accepted and is not written yet. Nothing for a transaction that writes nothing.
uint64_t EmbeddedStore::room_needed(const Transaction& transaction) const {
  if (transaction.puts.empty() && transaction.deletes.empty()) return 0;
  return kRoundOverheadBytes + next_round_.size() + transaction.byte_count() + kTransactionOverheadBytes +
         (transaction.may_use_reserve ? 0 : options_.reserve_bytes);
}

// What the worker is asked to make. In steps, so that it need not be asked every time.
uint64_t EmbeddedStore::room_wanted() const {
  uint64_t bytes = options_.reserve_bytes + kRoundOverheadBytes;
  for (const WaitingTransaction& waiting : waiting_for_room_) {
    bytes += waiting.transaction.byte_count() + kTransactionOverheadBytes;
  }
  return room_ >= bytes ? 0 : bytes + options_.room_step_bytes;
}

// The same without any reserve, for those that may do with what there is.
uint64_t EmbeddedStore::least_room_wanted() const {
  uint64_t bytes = 0;
  for (const WaitingTransaction& waiting : waiting_for_room_) {
    if (!waiting.transaction.may_use_reserve) continue;
    bytes += kRoundOverheadBytes + waiting.transaction.byte_count() + kTransactionOverheadBytes;
  }
  return bytes;
}

void EmbeddedStore::answer_waiting_transactions(const Status& room_made) {
  if (!room_made.ok() && !std::exchange(full_, true)) {
    log_warn("coordination_store", "no room for more metadata in {}: {}", options_.folder, room_made.to_string());
  } else if (room_made.ok() && std::exchange(full_, false)) {
    log_info("coordination_store", "there is room for metadata in {} again", options_.folder);
  }
  for (WaitingTransaction& waiting : std::exchange(waiting_for_room_, {})) {
    if (room_made.ok() || room_ >= room_needed(waiting.transaction)) {
      accept(std::move(waiting.transaction), *waiting.answer);
    } else {
      waiting.answer->set(failure(ErrorCode::disk_full,
                                  "there is no room in {} for more metadata ({}); deleting still works",
                                  options_.folder, room_made.message()));
    }
  }
}

void EmbeddedStore::answer_when_durable(UniqueFunction<void(const Status&)> release) {
  if (!offline_.ok() || accepted_round_ == durable_round_) {
    release(offline_);
  } else {
    waiting_.push_back({accepted_round_, std::move(release)});
  }
}

void EmbeddedStore::start_job() {
  if (worker_busy_ || !offline_.ok() || (next_round_.empty() && waiting_for_room_.empty())) return;
  worker_busy_ = true;
  running_changes_ = std::exchange(next_changes_, {});
  scheduler_.run_blocking([this, job = make_job()]() mutable { run_job(std::move(job)); });
}

EmbeddedStore::Job EmbeddedStore::make_job() {
  Job job;
  job.round_number = started_round_ = accepted_round_;
  const uint64_t log_bytes = folder_->log_bytes() + next_round_.size();
  if (!next_round_.empty()) job.round = next_round_.finish(log_id_, job.round_number);
  room_ -= std::min<uint64_t>(room_, job.round.size());
  job.room = room_wanted();
  job.least_room = least_room_wanted();
  if (log_bytes > std::max({options_.snapshot_log_bytes, folder_->snapshot_bytes(), snapshot_retry_bytes_})) {
    job.snapshot = state_;  // nothing later than this round has been accepted yet
    job.next_log = {random_.next(), job.round_number + 1};
    snapshot_retry_bytes_ = 2 * log_bytes;
  }
  return job;
}

void EmbeddedStore::run_job(Job job) {
  Status status;
  if (!job.round.empty()) {
    status = folder_->append(job.round);
    strand_.run([this, status] { on_round_durable(status); });
  }
  // After the answers: nobody waits for it, except who found no room.
  Status room_made;
  if (status.ok() && job.snapshot) status = take_snapshot(job);
  if (status.ok() && job.room > 0) room_made = folder_->make_room(job.room);
  if (!room_made.ok()) ignore(folder_->make_room(job.least_room));
  strand_.run([this, status, room_made, room = folder_->room()] { on_worker_free(status, room_made, room); });
}

Status EmbeddedStore::take_snapshot(const Job& job) {
  Status written = folder_->write_snapshot(*job.snapshot, job.round_number);
  if (written.ok()) written = folder_->prepare_log(job.next_log, options_.reserve_bytes);
  if (!written.ok()) {
    log_warn("coordination_store", "no snapshot in {}, the log goes on: {}", options_.folder, written.to_string());
    return {};
  }
  NARU_TRY(folder_->start_prepared_log());
  strand_.run([this, log_id = job.next_log.log_id] {
    log_id_ = log_id;
    snapshot_retry_bytes_ = 0;
  });
  return {};
}

void EmbeddedStore::on_round_durable(const Status& status) {
  if (!status.ok()) return go_offline(status);
  ++durable_round_;
  while (!waiting_.empty() && waiting_.front().round <= durable_round_) {
    waiting_.front().release({});
    waiting_.pop_front();
  }
  watches_.keys_changed(std::exchange(running_changes_, {}));
}

void EmbeddedStore::on_worker_free(const Status& status, const Status& room_made, uint64_t room) {
  worker_busy_ = false;
  room_ = room;
  if (!status.ok()) go_offline(status);
  answer_waiting_transactions(room_made);
  start_job();
  if (!worker_busy_ && closed_ != nullptr) std::exchange(closed_, nullptr)->set();
}

void EmbeddedStore::go_offline(const Status& reason) {
  if (!offline_.ok()) return;
  offline_ = error(ErrorCode::unavailable, "the coordination store in {} is offline until it is opened again: {}",
                   options_.folder, reason.to_string());
  log_error("coordination_store", "{}", offline_.message());
  for (WaitingAnswer& answer : std::exchange(waiting_, {})) answer.release(offline_);
  for (WaitingTransaction& waiting : std::exchange(waiting_for_room_, {})) waiting.answer->set(failure(offline_));
  watches_.session_changed();
}

void EmbeddedStore::note_changes(const Transaction& transaction) {
  for (const Put& put : transaction.puts) next_changes_.push_back(put.key);
  for (const std::string& key : transaction.deletes) next_changes_.push_back(key);
}

}  // namespace naru
