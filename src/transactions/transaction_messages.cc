#include "transactions/transaction_messages.h"

#include "foundation/assert.h"

namespace naru {

std::string_view name_of(TransactionState state) {
  switch (state) {
    case TransactionState::empty:
      return "Empty";
    case TransactionState::ongoing:
      return "Ongoing";
    case TransactionState::prepare_commit:
      return "PrepareCommit";
    case TransactionState::prepare_abort:
      return "PrepareAbort";
    case TransactionState::complete_commit:
      return "CompleteCommit";
    case TransactionState::complete_abort:
      return "CompleteAbort";
  }
  NARU_ASSERT(false, "state {} has no name", static_cast<int>(state));
}

bool is_transaction_state_name(std::string_view name) {
  using enum TransactionState;
  if (name == "Dead" || name == "PrepareEpochFence") return true;
  for (const auto state : {empty, ongoing, prepare_commit, prepare_abort, complete_commit, complete_abort}) {
    if (name == name_of(state)) return true;
  }
  return false;
}

}  // namespace naru
