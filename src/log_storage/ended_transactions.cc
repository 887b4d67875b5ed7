#include "log_storage/ended_transactions.h"

#include <algorithm>

namespace naru {

void EndedTransactions::add(const Entry& entry) {
  while (!entries_.empty() && entries_.back().first_offset >= entry.first_offset) entries_.pop_back();
  entries_.push_back(entry);
  if (entries_.size() <= kMax) return;
  const Offset first = entries_.front().first_offset;
  entries_.pop_front();
  entries_.front().first_offset = first;
}

void EndedTransactions::committed(Offset high_watermark) {
  while (!entries_.empty() && entries_.front().marker_offset < high_watermark) entries_.pop_front();
}

Offset EndedTransactions::first_unstable(Offset high_watermark) const {
  const auto found = std::ranges::lower_bound(entries_, high_watermark, {}, &Entry::marker_offset);
  return found == entries_.end() ? kNoOffset : found->first_offset;
}

}  // namespace naru
