// What a producer may do in which state: pure functions of what is stored. Kafka's answers, except where they would
// make a client give up that could go on (the README says where).
#pragma once

#include <cstdint>

#include "foundation/error_code.h"
#include "transactions/transaction_messages.h"
#include "transactions/transaction_records.h"

namespace naru {

// With this epoch or a higher one a producer begins no transaction of a higher epoch: it gets another id. The highest
// number of all is for the markers of its last transaction.
inline constexpr ProducerEpoch kExhaustedEpoch{32766};

inline bool is_exhausted(const ProducerIdentity& producer) {
  return producer.epoch >= kExhaustedEpoch;
}
// At the highest number it stays there; nobody was ever given it.
ProducerIdentity with_next_epoch(const ProducerIdentity& producer);

inline bool is_preparing(TransactionState state) {
  return state == TransactionState::prepare_commit || state == TransactionState::prepare_abort;
}
// Nothing is open and no marker is missing.
inline bool is_idle(TransactionState state) {
  return state != TransactionState::ongoing && !is_preparing(state);
}

// Who speaks, as seen from what is stored.
enum class Speaker : uint8_t {
  present,      // the producer of this and of the next transaction
  former,       // the one before, which may ask what has become of it
  other_epoch,  // fenced
  other_id,     // not known
};
Speaker speaker_of(const StoredTransaction& stored, const ProducerIdentity& who);
// Of the next transaction.
const ProducerIdentity& present_producer(const StoredTransaction& stored);

enum class EndVerdict : uint8_t {
  refuse,
  repeat,       // it was done before: told again
  end,          // the transaction that is open
  raise_epoch,  // version 2, there is nothing to abort: whatever is still on its way is fenced
};
struct EndJudgement {
  EndVerdict verdict = EndVerdict::refuse;
  ErrorCode error = ErrorCode::none;  // of a refusal
};
EndJudgement judge_end(const StoredTransaction& stored, const EndTransaction& request);

// none: the partitions can be looked at; concurrent_transactions: not before the markers are written.
ErrorCode judge_add(const StoredTransaction& stored, const AddPartitions& request);

}  // namespace naru
