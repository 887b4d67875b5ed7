#include "coordination_store/embedded/embedded_store.h"

#include <algorithm>
#include <utility>

#include "foundation/assert.h"
#include "foundation/log.h"

namespace naru {
namespace {

constexpr SessionId kOnlySession = 1;

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
      accepted_round_(opened.recovery.last_round) {}

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
  strand_.run(
      [this, &answer] { answer.set({offline_.ok() ? SessionState::connected : SessionState::expired, kOnlySession}); });
  co_return co_await answer;
}

Task<Status> EmbeddedStore::close() {
  OneShot<> closed;
  strand_.run([this, &closed] {
    NARU_ASSERT(closed_ == nullptr, "a coordination store is closed twice");
    closing_ = true;
    closed_ = &closed;
    if (!worker_busy_) closed.set();
  });
  co_await closed;
  co_return offline_;
}

void EmbeddedStore::accept(Transaction transaction, OneShot<Result<Versions>>& answer) {
  if (Status status = check_acceptable(transaction); !status.ok()) {
    answer_when_durable([status = std::move(status), &answer](const Status& durable) {
      answer.set(failure(durable.ok() ? status : durable));
    });
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

void EmbeddedStore::answer_when_durable(UniqueFunction<void(const Status&)> release) {
  if (!offline_.ok() || accepted_round_ == durable_round_) {
    release(offline_);
  } else {
    waiting_.push_back({accepted_round_, std::move(release)});
  }
}

void EmbeddedStore::start_job() {
  if (worker_busy_ || next_round_.empty() || !offline_.ok()) return;
  worker_busy_ = true;
  running_changes_ = std::exchange(next_changes_, {});
  scheduler_.run_blocking([this, job = make_job()]() mutable { run_job(std::move(job)); });
}

EmbeddedStore::Job EmbeddedStore::make_job() {
  Job job;
  job.round_number = started_round_ = accepted_round_;
  const uint64_t log_bytes = folder_->log_bytes() + next_round_.size();
  job.round = next_round_.finish(log_id_, job.round_number);
  if (log_bytes > std::max({options_.snapshot_log_bytes, folder_->snapshot_bytes(), snapshot_retry_bytes_})) {
    job.snapshot = state_;  // nothing later than this round has been accepted yet
    job.next_log = {random_.next(), job.round_number + 1};
    snapshot_retry_bytes_ = 2 * log_bytes;
  }
  return job;
}

void EmbeddedStore::run_job(Job job) {
  Status status = folder_->append(job.round);
  strand_.run([this, status] { on_round_durable(status); });
  if (status.ok() && job.snapshot) {
    if (const Status written = folder_->write_snapshot(*job.snapshot, job.round_number); !written.ok()) {
      log_warn("coordination_store", "no snapshot in {}, the log goes on: {}", options_.folder, written.to_string());
    } else {
      status = folder_->start_log(job.next_log);
      if (status.ok()) {
        strand_.run([this, log_id = job.next_log.log_id] {
          log_id_ = log_id;
          snapshot_retry_bytes_ = 0;
        });
      }
    }
  }
  strand_.run([this, status] { on_worker_free(status); });
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

void EmbeddedStore::on_worker_free(const Status& status) {
  worker_busy_ = false;
  if (!status.ok()) go_offline(status);
  start_job();
  if (!worker_busy_ && closed_ != nullptr) closed_->set();
}

void EmbeddedStore::go_offline(const Status& reason) {
  if (!offline_.ok()) return;
  offline_ = error(ErrorCode::unavailable, "the coordination store in {} is offline until restart: {}", options_.folder,
                   reason.to_string());
  log_error("coordination_store", "{}", offline_.message());
  for (WaitingAnswer& answer : std::exchange(waiting_, {})) answer.release(offline_);
  watches_.session_changed();
}

void EmbeddedStore::note_changes(const Transaction& transaction) {
  for (const Put& put : transaction.puts) next_changes_.push_back(put.key);
  for (const std::string& key : transaction.deletes) next_changes_.push_back(key);
}

}  // namespace naru
