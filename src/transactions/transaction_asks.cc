// What producers ask, and leaders on behalf of them.
#include <algorithm>
#include <utility>

#include "transactions/transaction_coordinator.h"

namespace naru {
namespace {

constexpr size_t kTopicNameMaxBytes = 249;

ErrorCode check_init(const InitProducer& request, const TransactionSettings& settings) {
  if (request.transactional_id.empty() || request.transactional_id.size() > kTransactionalIdMaxBytes) {
    return ErrorCode::invalid_request;
  }
  if (request.timeout_ms <= 0 || Milliseconds(request.timeout_ms) > settings.timeout_max) {
    return ErrorCode::invalid_transaction_timeout;
  }
  return ErrorCode::none;
}

// An id that nobody knows cannot be the producer's.
ErrorCode why_unknown(const std::string& transactional_id) {
  return transactional_id.empty() ? ErrorCode::invalid_request : ErrorCode::invalid_producer_id_mapping;
}

AddPartitionsAnswer to_all(const AddPartitions& request, ErrorCode error) {
  AddPartitionsAnswer answer;
  answer.partitions.assign(request.partitions.size(), error);
  return answer;
}

}  // namespace

// --- Who is the producer? --------------------------------------------------------------------------------------------

void TransactionCoordinator::init_producer(InitProducer request, Reply<InitProducerAnswer> reply,
                                           const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  const auto refuse = [&](ErrorCode error) { outcome.answer(std::move(reply), InitProducerAnswer{.error = error}); };
  if (const ErrorCode error = check_init(request, settings_); error != ErrorCode::none) return refuse(error);
  const StoredTransaction* stored = find(request.transactional_id);
  if (stored == nullptr) {
    outcome.answer(std::move(reply), init_new(request, time, outcome));
    return;
  }
  // It would fence whoever has come after it.
  if (is_late(request.transactional_id, request.connection)) {
    outcome.answer(std::move(reply), InitProducerAnswer{.error = ErrorCode::concurrent_transactions, .is_late = true});
    return;
  }
  const auto speaker = request.expected ? speaker_of(*stored, *request.expected) : Speaker::present;
  if (speaker == Speaker::other_epoch || speaker == Speaker::other_id) return refuse(ErrorCode::producer_fenced);
  if (stored->state == TransactionState::ongoing) {
    // The transaction was begun by somebody who knew who it is: this ask is older than that.
    if (speaker == Speaker::former) return refuse(ErrorCode::producer_fenced);
    begin_abort(request.transactional_id, request.expected ? AbortedFor::itself : AbortedFor::successor, time, outcome);
    stored = find(request.transactional_id);
  }
  if (is_preparing(stored->state)) return park(InitAsk{std::move(request), std::move(reply)}, time, outcome);
  outcome.answer(std::move(reply), init_idle(*stored, request, time, outcome));
}

InitProducerAnswer TransactionCoordinator::init_new(const InitProducer& request, const CoordinatorTime& time,
                                                    CoordinatorOutcome& outcome) {
  if (stored_.size() >= settings_.ids_max) return {.error = ErrorCode::policy_violation};
  if (!memory_.has_room(bytes_of(request.transactional_id, {}))) return {.error = ErrorCode::coordinator_not_available};
  if (!request.fresh_id) return {.needs_fresh_id = true};
  const ProducerIdentity producer{*request.fresh_id, ProducerEpoch(0)};
  change(request.transactional_id, {.producer = producer, .timeout_ms = request.timeout_ms}, time, outcome);
  heard_on(request.transactional_id, request.connection);
  return {.producer = producer};
}

InitProducerAnswer TransactionCoordinator::init_idle(const StoredTransaction& stored, const InitProducer& request,
                                                     const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  StoredTransaction to = stored;
  // The former one is told again, or for the first time after an abort, who it is; others get an epoch of their own.
  const bool is_former = request.expected && speaker_of(stored, *request.expected) == Speaker::former;
  const bool needs_other_id = is_former ? stored.producer.epoch > kExhaustedEpoch : is_exhausted(stored.producer);
  if (needs_other_id && !request.fresh_id) return {.needs_fresh_id = true};
  if (!is_former) {
    to.last = request.expected ? stored.producer : ProducerIdentity();
    to.producer = with_next_epoch(stored.producer);
  }
  if (needs_other_id) to.producer = {*request.fresh_id, ProducerEpoch(0)};
  to.state = TransactionState::empty;
  to.timeout_ms = request.timeout_ms;
  to.aborted_by_coordinator = false;
  const ProducerIdentity producer = to.producer;
  change(request.transactional_id, std::move(to), time, outcome);
  heard_on(request.transactional_id, request.connection);
  return {.producer = producer};
}

// --- What belongs to the transaction? --------------------------------------------------------------------------------

void TransactionCoordinator::add_partitions(AddPartitions request, Reply<AddPartitionsAnswer> reply,
                                            const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  const auto answer_all = [&](ErrorCode error) { outcome.answer(std::move(reply), to_all(request, error)); };
  const StoredTransaction* stored = find(request.transactional_id);
  if (stored == nullptr) return answer_all(why_unknown(request.transactional_id));
  const ErrorCode error = judge_add(*stored, request);
  if (error != ErrorCode::none && error != ErrorCode::concurrent_transactions) return answer_all(error);
  if (request.mode == AddPartitions::Mode::add) {
    if (is_late(request.transactional_id, request.connection)) {
      AddPartitionsAnswer answer = to_all(request, ErrorCode::concurrent_transactions);
      answer.is_late = true;
      outcome.answer(std::move(reply), std::move(answer));
      return;
    }
    heard_on(request.transactional_id, request.connection);
  }
  if (request.mode == AddPartitions::Mode::verify_only) {
    if (error != ErrorCode::none) return answer_all(error);
    AddPartitionsAnswer answer{.number = stored->number(), .coordinator_epoch = reign_.leader_epoch.value()};
    for (const TopicPartitionName& each : request.partitions) {
      const bool is_in = stored->partitions.contains(each);
      answer.partitions.push_back(is_in ? ErrorCode::none : ErrorCode::transaction_abortable);
    }
    outcome.answer(std::move(reply), std::move(answer));
    return;
  }
  if (error != ErrorCode::none) return park(AddAsk{std::move(request), std::move(reply)}, time, outcome);
  AddPartitionsAnswer answer = to_all(request, add_all(request, *stored, time, outcome));
  stored = find(request.transactional_id);
  if (stored->state == TransactionState::ongoing) {
    answer.number = stored->number();
    answer.coordinator_epoch = reign_.leader_epoch.value();
  }
  outcome.answer(std::move(reply), std::move(answer));
}

ErrorCode TransactionCoordinator::add_all(const AddPartitions& request, const StoredTransaction& stored,
                                          const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  const auto is_in = [&](const TopicPartitionName& each) { return stored.partitions.contains(each); };
  if (std::ranges::all_of(request.partitions, is_in)) return ErrorCode::none;
  const auto is_name = [](const TopicPartitionName& each) { return each.topic.size() <= kTopicNameMaxBytes; };
  if (!std::ranges::all_of(request.partitions, is_name)) return ErrorCode::invalid_request;
  StoredTransaction to = stored;
  to.partitions.insert(request.partitions.begin(), request.partitions.end());
  if (to.partitions.size() > settings_.partitions_max) return ErrorCode::policy_violation;
  const size_t more_bytes = bytes_of(request.transactional_id, to) - bytes_of(request.transactional_id, stored);
  if (!memory_.has_room(more_bytes)) return ErrorCode::coordinator_not_available;
  if (to.state != TransactionState::ongoing) {
    to.state = TransactionState::ongoing;
    to.start_ms = std::min(std::max(time.wall_ms, to.start_ms + 1), kLatestStoredTime);
    to.aborted_by_coordinator = false;
  }
  to.version = request.mode == AddPartitions::Mode::implicit ? kTransactionVersion2 : kTransactionVersion1;
  change(request.transactional_id, std::move(to), time, outcome);
  return ErrorCode::none;
}

// --- How does it end? ------------------------------------------------------------------------------------------------

void TransactionCoordinator::end(EndTransaction request, Reply<EndTransactionAnswer> reply, const CoordinatorTime& time,
                                 CoordinatorOutcome& outcome) {
  const auto refuse = [&](ErrorCode error) { outcome.answer(std::move(reply), EndTransactionAnswer{.error = error}); };
  const StoredTransaction* stored = find(request.transactional_id);
  if (stored == nullptr) return refuse(why_unknown(request.transactional_id));
  const Speaker speaker = speaker_of(*stored, request.producer);
  if (speaker == Speaker::present || speaker == Speaker::former) {
    // Version 1 has one epoch for all transactions: only the connection tells a late ask from that of the next one.
    if (request.version < kTransactionVersion2 && is_late(request.transactional_id, request.connection)) {
      outcome.answer(std::move(reply),
                     EndTransactionAnswer{.error = ErrorCode::concurrent_transactions, .is_late = true});
      return;
    }
    heard_on(request.transactional_id, request.connection);
  }
  const EndJudgement judgement = judge_end(*stored, request);
  if (judgement.verdict == EndVerdict::refuse) return refuse(judgement.error);
  outcome.answer(std::move(reply), end_decided(*stored, request, judgement.verdict, time, outcome));
}

EndTransactionAnswer TransactionCoordinator::end_decided(const StoredTransaction& stored, const EndTransaction& request,
                                                         EndVerdict verdict, const CoordinatorTime& time,
                                                         CoordinatorOutcome& outcome) {
  const bool is_repeated = verdict == EndVerdict::repeat;
  if (request.version < kTransactionVersion2) {
    if (is_repeated) return {};
    StoredTransaction to = stored;
    to.state = request.result == TransactionResult::commit ? TransactionState::prepare_commit
                                                           : TransactionState::prepare_abort;
    to.version = request.version;
    change(request.transactional_id, std::move(to), time, outcome);
    want_markers(request.transactional_id, time, outcome);
    return {};
  }
  // A repetition finds an epoch that cannot be given out only if the coordinator itself has aborted with it.
  const bool needs_other_id = is_repeated ? stored.producer.epoch > kExhaustedEpoch : is_exhausted(stored.producer);
  if (needs_other_id && !request.fresh_id) return {.needs_fresh_id = true};
  if (is_repeated && !needs_other_id) return {.next = stored.producer};
  StoredTransaction to = stored;
  const ProducerIdentity other{request.fresh_id.value_or(kNoProducerId), ProducerEpoch(0)};
  if (verdict == EndVerdict::end) {
    to.state = request.result == TransactionResult::commit ? TransactionState::prepare_commit
                                                           : TransactionState::prepare_abort;
    to.producer = with_next_epoch(stored.producer);
    if (needs_other_id) to.next = other;
  } else {
    to.state = TransactionState::complete_abort;
    to.producer = needs_other_id ? other : with_next_epoch(stored.producer);
  }
  if (!is_repeated) {
    to.last = stored.producer;
    to.version = request.version;
    to.aborted_by_coordinator = false;
  }
  const ProducerIdentity next = present_producer(to);
  change(request.transactional_id, std::move(to), time, outcome);
  if (verdict == EndVerdict::end) want_markers(request.transactional_id, time, outcome);
  return {.next = next};
}

}  // namespace naru
