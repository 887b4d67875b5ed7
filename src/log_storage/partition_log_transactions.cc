// What a PartitionLog knows of transactions.
#include <algorithm>
#include <utility>

#include "log_storage/aborted_rebuild.h"
#include "log_storage/partition_log.h"
#include "log_storage/segment.h"

namespace naru {

Offset PartitionLog::last_stable_offset(Offset high_watermark) const {
  // What was deleted is over, whether its transaction has ended or not.
  const Offset stable = producers().last_stable_offset(high_watermark);
  return std::min(std::max(stable, start_offset_), high_watermark);
}

void PartitionLog::note_aborted(const TransactionEnd& ended) {
  active().note_aborted(as_aborted(ended, producers()));
}

// A transaction is noted in the segment of its marker, so later segments may tell of records in earlier ones, until an
// entry says that everything that begins below the end had ended by then.
Result<std::vector<AbortedTransaction>> PartitionLog::aborted_transactions(Offset from, Offset end) {
  std::vector<AbortedTransaction> found;
  for (size_t i = segment_index(from); i < segments_.size(); ++i) {
    NARU_TRY_ASSIGN(const bool goes_on, segments_[i]->visit_aborted(from, [&](const AbortedTransaction& aborted) {
      if (aborted.first_offset < end) found.push_back(aborted);
      return aborted.stable_end < end;
    }));
    if (!goes_on) break;
  }
  std::ranges::sort(found, {}, &AbortedTransaction::first_offset);
  return found;
}

}  // namespace naru
