// The control batch that ends a producer's transaction in one partition: one record, which says how it ended and which
// coordinator decided so.
#pragma once

#include <cstdint>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/strong_int.h"
#include "foundation/time.h"

namespace naru {

// The numbers are those of control records on the wire.
enum class TransactionResult : int16_t { abort = 0, commit = 1 };

// Who writes, and since when: the pair that every batch of a transaction carries.
struct ProducerIdentity {
  ProducerId id = kNoProducerId;
  ProducerEpoch epoch{-1};

  bool operator==(const ProducerIdentity&) const = default;
};

// Tells the transactions of one producer apart, also those of one epoch: rises from one to the next.
using TransactionNumber = StrongInt<struct TransactionNumberTag, int64_t>;
inline constexpr TransactionNumber kNoTransactionNumber{-1};

struct TransactionMarker {
  TransactionResult result = TransactionResult::abort;
  int32_t coordinator_epoch = -1;  // the leader epoch of the coordinator's partition

  bool operator==(const TransactionMarker&) const = default;
};

Bytes build_marker_batch(const ProducerIdentity& producer, const TransactionMarker& marker, WallTimeMs now);

// `whole_batch` is a control batch whose CRC was checked. invalid_record when it is not exactly one marker of a version
// and type that we know.
Result<TransactionMarker> parse_marker_batch(BytesView whole_batch);

}  // namespace naru
