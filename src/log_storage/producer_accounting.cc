#include "log_storage/producer_accounting.h"

#include <utility>

namespace naru {

ProducerAccounting::ProducerAccounting(MemoryBudget& memory, uint64_t max_bytes, MetricsRegistry& metrics)
    : evicted(metrics.counter("naru_producers_evicted_total",
                              "Idempotent producers that were forgotten to make room for others")),
      duplicates(metrics.counter("naru_producer_duplicate_batches_total",
                                 "Batches that were in the log already, and were answered without being stored again")),
      refused(metrics.counter("naru_producer_refused_batches_total",
                              "Batches refused because of their sequence number or producer epoch")),
      memory_(memory),
      max_bytes_(max_bytes) {}

bool ProducerAccounting::hold(MemoryLease& lease, uint64_t bytes) {
  if (bytes <= lease.bytes()) {
    lease.shrink_to(bytes);
    return true;
  }
  const uint64_t more = bytes - lease.bytes();
  if (memory_.used(MemoryAccount::producer_state) + more > max_bytes_) return false;
  auto reserved = memory_.try_reserve(MemoryAccount::producer_state, more);
  if (!reserved) return false;
  lease.merge(std::move(*reserved));
  return true;
}

}  // namespace naru
