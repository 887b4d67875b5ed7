// The records of __transaction_state (docs/formats/transaction_state.md), and the state that they make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "coordinator_runtime/coordinator_outcome.h"
#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "record_format/transaction_marker.h"
#include "transactions/transaction_messages.h"

namespace naru {

// What the key of a record begins with.
inline constexpr int16_t kTransactionKeyType = 0;

// All that is known of a transactional id.
struct StoredTransaction {
  // Whose batches and markers the last transaction has.
  ProducerIdentity producer;
  // Whom `producer` has replaced, if that one may still ask about what happened to it; otherwise the id is
  // kNoProducerId.
  ProducerIdentity last;
  // While the markers are written, and only if it becomes another producer then; otherwise the id is kNoProducerId.
  ProducerIdentity next;
  int32_t timeout_ms = 0;
  TransactionState state = TransactionState::empty;
  std::set<TopicPartitionName> partitions;
  WallTimeMs last_update_ms = 0;
  WallTimeMs start_ms = -1;             // of the last transaction, also in state empty; -1: there was none
  int16_t version = 0;                  // of the protocol in which it was begun or ended
  bool aborted_by_coordinator = false;  // neither by its producer nor by another one of the same name

  // The start names a transaction: it rises from each to the next.
  TransactionNumber number() const { return TransactionNumber(start_ms); }
  bool operator==(const StoredTransaction&) const = default;
};

// About what it takes in memory.
size_t bytes_of(std::string_view transactional_id, const StoredTransaction& transaction);

using DurableTransactions = std::map<std::string, StoredTransaction, std::less<>>;
std::string to_string(const DurableTransactions& transactions);

inline constexpr size_t kTransactionalIdMaxBytes = 1024;
// Times are added to each other: none of them may be near the end of the numbers.
inline constexpr WallTimeMs kLatestStoredTime = std::numeric_limits<WallTimeMs>::max() / 4;

Result<int16_t> transaction_record_type(BytesView key);

// Without a value: the tombstone.
CoordinatorRecord transaction_record(std::string_view transactional_id, const StoredTransaction* transaction);

Result<std::string> decode_transaction_key(BytesView key);
Result<StoredTransaction> decode_transaction_value(BytesView value);

}  // namespace naru
