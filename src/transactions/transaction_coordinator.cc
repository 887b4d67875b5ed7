#include "transactions/transaction_coordinator.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "foundation/assert.h"
#include "foundation/canary.h"
#include "foundation/log.h"
#include "foundation/request_canary.h"

namespace naru {
namespace {

MarkersWanted markers_of(const CoordinatorReign& reign, const std::string& transactional_id,
                         const StoredTransaction& stored) {
  return {
      .coordinator = reign,
      .transactional_id = transactional_id,
      .producer = stored.producer,
      .result = stored.state == TransactionState::prepare_commit ? TransactionResult::commit : TransactionResult::abort,
      .transaction_version = stored.version,
      .number = stored.number(),
      .partitions = {stored.partitions.begin(), stored.partitions.end()}};
}

}  // namespace

TransactionCoordinator::TransactionCoordinator(const TransactionSettings& settings, MarkerSink& sink,
                                               CoordinatorReign reign, MemoryBudget* memory)
    : settings_(settings), sink_(sink), reign_(reign), memory_(memory) {}

void TransactionCoordinator::set_settings(const TransactionSettings& settings) {
  settings_ = settings;
}

void TransactionCoordinator::set_connections_before_load(uint64_t newest) {
  connections_before_load_ = newest;
}

// --- Durable state ---------------------------------------------------------------------------------------------------

Status TransactionCoordinator::apply(BytesView key, std::optional<BytesView> value) {
  NARU_TRY_ASSIGN(const int16_t type, transaction_record_type(key));
  if (type != kTransactionKeyType) {
    if (!std::exchange(has_warned_of_unknown_records_, true)) {
      log_warn("transactions", "skipping records of type {} in __transaction_state, which this Naru does not know",
               type);
    }
    return {};
  }
  NARU_TRY_ASSIGN(std::string transactional_id, decode_transaction_key(key));
  const StoredTransaction* before = find(transactional_id);
  const size_t bytes_before = before == nullptr ? 0 : bytes_of(transactional_id, *before);
  if (!value) {
    count_memory(bytes_before, 0);
    stored_.erase(transactional_id);
    return {};
  }
  NARU_TRY_ASSIGN(StoredTransaction transaction, decode_transaction_value(*value));
  count_memory(bytes_before, bytes_of(transactional_id, transaction));
  stored_.insert_or_assign(std::move(transactional_id), std::move(transaction));
  return {};
}

void TransactionCoordinator::count_memory(size_t before, size_t after) {
  stored_bytes_ += after - before;
  memory_.set(stored_bytes_);
}

const StoredTransaction* TransactionCoordinator::find(std::string_view transactional_id) const {
  const auto found = stored_.find(transactional_id);
  return found == stored_.end() ? nullptr : &found->second;
}

size_t TransactionCoordinator::partitions_of(std::string_view transactional_id) const {
  const StoredTransaction* stored = find(transactional_id);
  return stored == nullptr ? 0 : stored->partitions.size();
}

void TransactionCoordinator::change(const std::string& transactional_id, StoredTransaction to,
                                    const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  to.last_update_ms = std::clamp<WallTimeMs>(time.wall_ms, 0, kLatestStoredTime);
  CoordinatorRecord record = transaction_record(transactional_id, &to);
  const Status applied = apply(record.key, BytesView(*record.value));
  NARU_ASSERT(applied.ok(), "a record of our own: {}", applied.to_string());
  outcome.records.push_back(std::move(record));
  Live& live = live_[transactional_id];
  const bool is_open = to.state == TransactionState::ongoing;
  if (is_open && !live.timeout) arm_timeout(transactional_id, to, time);
  if (!is_open && live.timeout) timers_.cancel(*std::exchange(live.timeout, std::nullopt));
}

void TransactionCoordinator::forget(const std::string& transactional_id, CoordinatorOutcome& outcome) {
  CoordinatorRecord record = transaction_record(transactional_id, nullptr);
  const Status applied = apply(record.key, std::nullopt);
  NARU_ASSERT(applied.ok(), "a record of our own: {}", applied.to_string());
  outcome.records.push_back(std::move(record));
  live_.erase(transactional_id);
}

// --- Loading, timers -------------------------------------------------------------------------------------------------

void TransactionCoordinator::loaded(const CoordinatorTime& time) {
  loaded_at_ = time;
  for (const auto& [id, stored] : stored_) {
    if (stored.state == TransactionState::ongoing) arm_timeout(id, stored, time);
    if (!is_preparing(stored.state)) continue;
    if (stored.partitions.empty()) {
      timers_.insert(time.now, {.kind = Timer::Kind::complete, .transactional_id = id});
    } else {
      sink_.send(markers_of(reign_, id, stored));
    }
  }
  timers_.insert(time.now + settings_.expiry_interval, {.kind = Timer::Kind::expiry, .transactional_id = {}});
}

void TransactionCoordinator::arm_timeout(const std::string& transactional_id, const StoredTransaction& transaction,
                                         const CoordinatorTime& time) {
  // The clock may have been set, and may be another broker's: but nobody waits for longer than was agreed.
  const WallTimeMs wall = std::clamp<WallTimeMs>(time.wall_ms, 0, kLatestStoredTime);
  const auto elapsed = std::clamp<WallTimeMs>(wall - transaction.start_ms, 0, transaction.timeout_ms);
  const Milliseconds left(transaction.timeout_ms - elapsed);
  live_[transactional_id].timeout =
      timers_.insert(time.now + left, {.kind = Timer::Kind::timeout, .transactional_id = transactional_id});
}

std::optional<MonotonicTime> TransactionCoordinator::next_deadline() const {
  return timers_.next_deadline();
}

void TransactionCoordinator::on_timer(const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  timers_.expire(time.now, [&](const Timer& timer, MonotonicTime) {
    expire_timer(timer, time, outcome);
    outcome.may_be_cut();
  });
}

void TransactionCoordinator::expire_timer(const Timer& timer, const CoordinatorTime& time,
                                          CoordinatorOutcome& outcome) {
  const StoredTransaction* stored = find(timer.transactional_id);
  switch (timer.kind) {
    case Timer::Kind::timeout:
      NARU_ASSERT(stored != nullptr && stored->state == TransactionState::ongoing, "timer of {}, which is not open",
                  timer.transactional_id);
      log_info("transactions", "aborting transaction {} of {}, which is open for longer than {} ms", stored->start_ms,
               timer.transactional_id, stored->timeout_ms);
      live_[timer.transactional_id].timeout.reset();
      begin_abort(timer.transactional_id, AbortedFor::too_slow, time, outcome);
      break;
    case Timer::Kind::parked:
      send_back(timer, outcome);
      break;
    case Timer::Kind::complete:
      if (stored != nullptr && is_preparing(stored->state) && stored->partitions.empty()) {
        complete(timer.transactional_id, time, outcome);
      }
      break;
    case Timer::Kind::expiry:
      expire_ids(time, outcome);
      timers_.insert(time.now + settings_.expiry_interval, timer);
      break;
  }
}

void TransactionCoordinator::expire_ids(const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  // A clock that is set forward while we run does not count.
  const auto since_loading = std::chrono::duration_cast<Milliseconds>(time.now - loaded_at_.now);
  const WallTimeMs now = std::min(time.wall_ms, loaded_at_.wall_ms + since_loading.count());
  std::vector<std::string> expired;
  for (const auto& [id, stored] : stored_) {
    const bool is_unused = stored.last_update_ms + settings_.id_expiration.count() <= now;
    if (is_idle(stored.state) && is_unused) expired.push_back(id);
  }
  for (const std::string& id : expired) {
    forget(id, outcome);
    outcome.may_be_cut();
  }
}

// --- The end of a transaction ----------------------------------------------------------------------------------------

void TransactionCoordinator::begin_abort(const std::string& transactional_id, AbortedFor whom,
                                         const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  StoredTransaction to = *find(transactional_id);
  to.state = TransactionState::prepare_abort;
  to.last = whom == AbortedFor::successor ? ProducerIdentity() : to.producer;
  to.producer = with_next_epoch(to.producer);
  to.aborted_by_coordinator = whom == AbortedFor::too_slow;
  change(transactional_id, std::move(to), time, outcome);
  want_markers(transactional_id, time, outcome);
}

void TransactionCoordinator::want_markers(const std::string& transactional_id, const CoordinatorTime& time,
                                          CoordinatorOutcome& outcome) {
  const StoredTransaction& stored = *find(transactional_id);
  if (stored.partitions.empty()) {
    complete(transactional_id, time, outcome);
    return;
  }
  if (is_planted(Canary::markers_before_prepare)) return sink_.send(markers_of(reign_, transactional_id, stored));
  outcome.replies.push_back(
      [&sink = sink_, wanted = markers_of(reign_, transactional_id, stored)](const Status& committed) {
        if (committed.ok()) sink.send(wanted);
      });
}

void TransactionCoordinator::markers_written(const MarkersWritten& written, const CoordinatorTime& time,
                                             CoordinatorOutcome& outcome) {
  const StoredTransaction* stored = find(written.transactional_id);
  if (stored == nullptr || !is_preparing(stored->state)) return;
  if (stored->producer != written.producer || stored->number() != written.number) return;
  complete(written.transactional_id, time, outcome);
}

void TransactionCoordinator::complete(const std::string& transactional_id, const CoordinatorTime& time,
                                      CoordinatorOutcome& outcome) {
  StoredTransaction to = *find(transactional_id);
  to.state = to.state == TransactionState::prepare_commit ? TransactionState::complete_commit
                                                          : TransactionState::complete_abort;
  to.partitions.clear();
  to.producer = present_producer(to);
  to.next = {};
  change(transactional_id, std::move(to), time, outcome);
  resume_parked(transactional_id, time, outcome);
}

// --- Connections -----------------------------------------------------------------------------------------------------

bool TransactionCoordinator::is_late(const std::string& transactional_id, uint64_t connection) const {
  if (connection == 0 || is_planted(Canary::late_requests_taken)) return false;
  const auto found = live_.find(transactional_id);
  const uint64_t newest = found == live_.end() ? 0 : found->second.newest_connection;
  return newest == 0 ? connection <= connections_before_load_ : connection < newest;
}

void TransactionCoordinator::heard_on(const std::string& transactional_id, uint64_t connection) {
  Live& live = live_[transactional_id];
  live.newest_connection = std::max(live.newest_connection, connection);
}

// --- Administration --------------------------------------------------------------------------------------------------

namespace {

// Of the last transaction; as in Kafka, an id that has had none since its producer began is older than any duration.
int64_t start_of(const StoredTransaction& stored) {
  return stored.state == TransactionState::empty ? -1 : stored.start_ms;
}

}  // namespace

void TransactionCoordinator::describe(std::string transactional_id, Reply<DescribedTransaction> reply,
                                      const CoordinatorTime&, CoordinatorOutcome& outcome) {
  DescribedTransaction answer;
  if (const StoredTransaction* stored = find(transactional_id)) {
    answer.state = stored->state;
    answer.producer = stored->producer;
    answer.timeout_ms = stored->timeout_ms;
    answer.start_ms = start_of(*stored);
    answer.last_update_ms = stored->last_update_ms;
    answer.transaction_version = stored->version;
    answer.was_aborted_by_coordinator = stored->aborted_by_coordinator;
    answer.partitions = {stored->partitions.begin(), stored->partitions.end()};
  } else {
    answer.error = transactional_id.empty() ? ErrorCode::invalid_request : ErrorCode::transactional_id_not_found;
  }
  answer.transactional_id = std::move(transactional_id);
  outcome.answer(std::move(reply), std::move(answer));
}

void TransactionCoordinator::list(ListTransactions request, Reply<std::vector<ListedTransaction>> reply,
                                  const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  const auto has_state = [&](TransactionState state) {
    return request.states.empty() || std::ranges::find(request.states, name_of(state)) != request.states.end();
  };
  const auto has_producer = [&](ProducerId id) {
    const auto& ids = request.producer_ids;
    if (!ids || ids->empty()) return true;
    if (is_planted(RequestCanary::producer_ids_by_walk)) return std::ranges::find(*ids, id) != ids->end();
    return std::ranges::binary_search(*ids, id);
  };
  const auto is_long_enough = [&](const StoredTransaction& stored) {
    return request.longer_than_ms < 0 || time.wall_ms - start_of(stored) > request.longer_than_ms;
  };
  std::vector<ListedTransaction> answer;
  for (const auto& [id, stored] : stored_) {
    if (!has_state(stored.state) || !has_producer(stored.producer.id) || !is_long_enough(stored)) continue;
    answer.push_back({.transactional_id = id,
                      .producer = stored.producer,
                      .state = stored.state,
                      .timeout_ms = stored.timeout_ms,
                      .start_ms = start_of(stored),
                      .partitions = stored.partitions.size()});
  }
  outcome.answer(std::move(reply), std::move(answer));
}

}  // namespace naru
