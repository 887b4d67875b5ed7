#include "log_storage/journal_replay.h"

#include <algorithm>

namespace naru {

ReplayAction decide(const ReplayTarget& log, const JournaledBatch& batch) {
  if (batch.truncations != log.truncations) return ReplayAction::skip;
  if (batch.durable_before > log.end) return ReplayAction::refuse;
  if (batch.base_offset != log.end || batch.leader_epoch < log.last_epoch) return ReplayAction::skip;
  return ReplayAction::append;
}

uint64_t truncations_beyond(std::span<const JournaledBatches> journaled) {
  uint64_t beyond = 0;
  for (const JournaledBatches& part : journaled) {
    for (const JournaledBatch& batch : part.batches) beyond = std::max(beyond, batch.truncations + 1);
  }
  return beyond;
}

}  // namespace naru
