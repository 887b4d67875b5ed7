#include "transactions/transaction_rules.h"

#include <limits>

namespace naru {
namespace {

EndJudgement refusal(ErrorCode error) {
  return {EndVerdict::refuse, error};
}

bool was_committed(TransactionState state) {
  return state == TransactionState::prepare_commit || state == TransactionState::complete_commit;
}

// About the transaction that was decided last.
EndJudgement judge_repetition(const StoredTransaction& stored, TransactionResult result) {
  const bool is_same = was_committed(stored.state) == (result == TransactionResult::commit);
  if (!is_same) return refusal(ErrorCode::invalid_txn_state);
  if (is_preparing(stored.state)) return refusal(ErrorCode::concurrent_transactions);
  return {EndVerdict::repeat};
}

// The coordinator has aborted what it had open. It shall abort, and then go on as who it is now; but never believe that
// it has committed.
EndJudgement judge_end_of_overdue(const StoredTransaction& stored, const EndTransaction& request) {
  if (request.result == TransactionResult::abort) return judge_repetition(stored, request.result);
  // Clients of version 1 take INVALID_PRODUCER_ID_MAPPING for a reason to abort and ask who they are.
  return refusal(request.version >= kTransactionVersion2 ? ErrorCode::transaction_abortable
                                                         : ErrorCode::invalid_producer_id_mapping);
}

EndJudgement judge_end_by_former(const StoredTransaction& stored, const EndTransaction& request) {
  if (stored.aborted_by_coordinator) return judge_end_of_overdue(stored, request);
  const bool is_decided = is_preparing(stored.state) || stored.state == TransactionState::complete_commit ||
                          stored.state == TransactionState::complete_abort;
  if (!is_decided || request.version < kTransactionVersion2) return refusal(ErrorCode::producer_fenced);
  return judge_repetition(stored, request.result);
}

EndJudgement judge_end_by_present(const StoredTransaction& stored, const EndTransaction& request) {
  if (stored.state == TransactionState::ongoing) return {EndVerdict::end};
  if (request.version < kTransactionVersion2) {
    if (stored.state == TransactionState::empty) return refusal(ErrorCode::invalid_txn_state);
    return judge_repetition(stored, request.result);
  }
  if (is_preparing(stored.state)) return refusal(ErrorCode::concurrent_transactions);
  if (request.result == TransactionResult::commit) return refusal(ErrorCode::invalid_txn_state);
  return {EndVerdict::raise_epoch};
}

}  // namespace

ProducerIdentity with_next_epoch(const ProducerIdentity& producer) {
  const bool is_last = producer.epoch.value() == std::numeric_limits<int16_t>::max();
  return {producer.id, is_last ? producer.epoch : producer.epoch + 1};
}

const ProducerIdentity& present_producer(const StoredTransaction& stored) {
  return stored.next.id == kNoProducerId ? stored.producer : stored.next;
}

Speaker speaker_of(const StoredTransaction& stored, const ProducerIdentity& who) {
  const bool may_have_been_given = who.epoch <= kExhaustedEpoch;
  if (may_have_been_given && who == present_producer(stored)) return Speaker::present;
  if (may_have_been_given && stored.last.id != kNoProducerId && who == stored.last) return Speaker::former;
  return who.id == present_producer(stored).id || who.id == stored.producer.id ? Speaker::other_epoch
                                                                               : Speaker::other_id;
}

EndJudgement judge_end(const StoredTransaction& stored, const EndTransaction& request) {
  switch (speaker_of(stored, request.producer)) {
    case Speaker::present:
      return judge_end_by_present(stored, request);
    case Speaker::former:
      return judge_end_by_former(stored, request);
    case Speaker::other_epoch:
      return refusal(ErrorCode::producer_fenced);
    case Speaker::other_id:
      break;
  }
  return refusal(ErrorCode::invalid_producer_id_mapping);
}

ErrorCode judge_add(const StoredTransaction& stored, const AddPartitions& request) {
  switch (speaker_of(stored, request.producer)) {
    case Speaker::present:
      return is_preparing(stored.state) ? ErrorCode::concurrent_transactions : ErrorCode::none;
    case Speaker::former:
      if (!stored.aborted_by_coordinator) return ErrorCode::producer_fenced;
      // Both are for it to abort and to find out who it is; each is what its clients understand.
      if (request.mode == AddPartitions::Mode::implicit) return ErrorCode::transaction_abortable;
      if (request.mode == AddPartitions::Mode::add && request.may_recover)
        return ErrorCode::invalid_producer_id_mapping;
      return ErrorCode::producer_fenced;
    case Speaker::other_epoch:
      return ErrorCode::producer_fenced;
    case Speaker::other_id:
      break;
  }
  return ErrorCode::invalid_producer_id_mapping;
}

}  // namespace naru
