// The state machine of a coordinator: what one partition of an internal topic says, kept in memory.
//
// No I/O, no clock, no threads. Durable state changes only through apply(), whether the record has just been decided or
// was read from the log, so a shard that was loaded is equal to the one that wrote. What is not in records (parked
// requests, timers) begins anew when a shard is loaded.
#pragma once

#include <cstddef>
#include <optional>

#include "coordinator_runtime/coordinator_outcome.h"
#include "foundation/bytes.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "record_format/transaction_marker.h"

namespace naru {

// Thread: the shard's strand.
class StateShard {
 public:
  virtual ~StateShard() = default;

  // One record of the log, in the order of the log. An error means that the log holds something that this Naru does not
  // understand: the shard is not served.
  virtual Status apply(BytesView key, std::optional<BytesView> value) = 0;
  // The same for a record inside of a transaction: it waits for the marker.
  virtual Status apply_pending(const ProducerIdentity& producer, BytesView key, std::optional<BytesView> value);
  // The producer's transaction has ended here. Its epoch may be higher than that of the records; there may be none.
  virtual Status apply_marker(const ProducerIdentity& producer, const TransactionMarker& marker);
  // Everything was applied; from here on requests and timers come.
  virtual void loaded(const CoordinatorTime& time) = 0;
  // Something may be due; late calls and calls in vain are harmless.
  virtual void on_timer(const CoordinatorTime& time, CoordinatorOutcome& outcome) = 0;
  // Nothing is due before it.
  virtual std::optional<MonotonicTime> next_deadline() const = 0;
  // About how much there is: as many elements a timer may look at. With few, steps may run on a loop.
  virtual size_t elements() const { return 0; }
  // The shard is not served here any more: whoever is parked gets `reason`. Nothing comes afterwards.
  virtual void unload(const Status& reason) = 0;
};

// A coordinator that takes part in no transactions.
inline Status StateShard::apply_pending(const ProducerIdentity&, BytesView, std::optional<BytesView>) {
  return Status(ErrorCode::corrupt_data, "a transactional record in the log of a coordinator that writes none");
}
inline Status StateShard::apply_marker(const ProducerIdentity&, const TransactionMarker&) {
  return Status();
}

}  // namespace naru
