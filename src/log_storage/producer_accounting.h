// What the producer states of all logs of a broker share: a part of the memory budget, and counters.
#pragma once

#include <cstdint>

#include "observability/memory_budget.h"
#include "observability/metrics_registry.h"

namespace naru {

// Thread-safe. Outlives the logs.
class ProducerAccounting {
 public:
  // `max_bytes`: producers are remembered for a day, so they may not have so much of the budget that a request could
  // wait for them.
  ProducerAccounting(MemoryBudget& memory, uint64_t max_bytes, MetricsRegistry& metrics);

  // Makes the lease as large as `bytes`. False when it would have to grow and there is no room.
  bool hold(MemoryLease& lease, uint64_t bytes);

  Counter& evicted;
  Counter& duplicates;
  Counter& refused;

 private:
  MemoryBudget& memory_;
  const uint64_t max_bytes_;
};

}  // namespace naru
