// What a transaction's coordinator has said to a leader or a group, in words that the producer knows how to go on with.
//
// Each word that is no verdict is one at which the client sends the same again: nothing was appended then. A client
// that is told anything else gives its transaction up, or itself, and one that does not know the word does so, too.
#pragma once

#include "foundation/error_code.h"
#include "foundation/status.h"

namespace naru {

inline constexpr int16_t kFirstProduceWithAbortable = 11;
inline constexpr int16_t kFirstTxnOffsetCommitWithAbortable = 4;

// Nobody could say whether the transaction is open. The same batch has to come again, so it is none of the codes at
// which a producer looks for another leader or gives up.
inline Status not_answered(const Status& why) {
  return error(ErrorCode::not_enough_replicas, "the transaction's coordinator cannot say yet whether it is open: {}",
               why.to_string());
}

// To whoever produces with this version.
inline Status as_produce_error(int16_t version, ErrorCode verdict) {
  switch (verdict) {
    case ErrorCode::none:
      return Status();
    case ErrorCode::producer_fenced:
      return Status(ErrorCode::invalid_producer_epoch, "a newer producer has taken over the transactional id");
    case ErrorCode::transaction_abortable:
      return Status(version >= kFirstProduceWithAbortable ? verdict : ErrorCode::invalid_txn_state,
                    "the partition is not part of an open transaction of this producer");
    case ErrorCode::invalid_producer_id_mapping:
    case ErrorCode::invalid_producer_epoch:
    case ErrorCode::invalid_txn_state:
    case ErrorCode::invalid_request:
    case ErrorCode::policy_violation:
      return Status(verdict);
    default:
      return not_answered(Status(verdict));
  }
}

// To whoever commits offsets with this version of TxnOffsetCommit. Everything that is no verdict may be another one in
// a moment.
inline ErrorCode as_commit_error(int16_t version, ErrorCode verdict) {
  switch (verdict) {
    case ErrorCode::none:
    case ErrorCode::invalid_producer_id_mapping:
    case ErrorCode::invalid_producer_epoch:
    case ErrorCode::invalid_txn_state:
    case ErrorCode::invalid_request:
      return verdict;
    case ErrorCode::producer_fenced:
      return ErrorCode::invalid_producer_epoch;
    case ErrorCode::policy_violation:  // the transaction is too large
    case ErrorCode::transaction_abortable:
      return version >= kFirstTxnOffsetCommitWithAbortable ? ErrorCode::transaction_abortable
                                                           : ErrorCode::invalid_txn_state;
    default:
      return ErrorCode::coordinator_load_in_progress;  // wait, and try again
  }
}

}  // namespace naru
