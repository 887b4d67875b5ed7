// What can be set about transactions. Kafka's keys where there is one, with the defaults of the configuration
// reference.
#pragma once

#include <cstddef>

#include "foundation/time.h"

namespace naru {

struct TransactionSettings {
  Milliseconds timeout_max{900'000};        // transaction.max.timeout.ms
  Milliseconds id_expiration{604'800'000};  // transactional.id.expiration.ms
  Milliseconds expiry_interval{3'600'000};  // transaction.remove.expired.transaction.cleanup.interval.ms
  // An ask that has to wait for the end of a transaction waits here for so long, before the client is told to come
  // back.
  Milliseconds parked_max{1000};
  size_t parked_per_id_max = 8;    // beyond it: CONCURRENT_TRANSACTIONS at once
  size_t ids_max = 50'000;         // in one shard; beyond it new ids are refused: POLICY_VIOLATION
  size_t partitions_max = 20'000;  // in one transaction; beyond it further ones are refused: POLICY_VIOLATION
};

}  // namespace naru
