// The state machine of a coordinator: what one partition of an internal topic says, kept in memory.
//
// No I/O, no clock, no threads. Durable state changes only through apply(), whether the record has just been decided or
// was read from the log, so a shard that was loaded is equal to the one that wrote. What is not in records (parked
// requests, timers) begins anew when a shard is loaded.
#pragma once

#include <optional>

#include "coordinator_runtime/coordinator_outcome.h"
#include "foundation/bytes.h"
#include "foundation/status.h"
#include "foundation/time.h"

namespace naru {

// Thread: the shard's strand.
class StateShard {
 public:
  virtual ~StateShard() = default;

  // One record of the log, in the order of the log. An error means that the log holds something that this Naru does not
  // understand: the shard is not served.
  virtual Status apply(BytesView key, std::optional<BytesView> value) = 0;
  // Everything was applied; from here on requests and timers come.
  virtual void loaded(const CoordinatorTime& time) = 0;
  // Something may be due; late calls and calls in vain are harmless.
  virtual void on_timer(const CoordinatorTime& time, CoordinatorOutcome& outcome) = 0;
  // Nothing is due before it.
  virtual std::optional<MonotonicTime> next_deadline() const = 0;
  // The shard is not served here any more: whoever is parked gets `reason`. Nothing comes afterwards.
  virtual void unload(const Status& reason) = 0;
};

}  // namespace naru
