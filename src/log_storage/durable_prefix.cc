#include "log_storage/durable_prefix.h"

#include <algorithm>

namespace naru {

void DurablePrefix::synced(Offset end) {
  synced_end_ = std::max(synced_end_, end);
  advance(end);
}

void DurablePrefix::journaled(Offset base, Offset end) {
  if (base <= end_) return advance(end);
  // Nearly always behind all the others, because batches are journaled in their order.
  auto at = std::ranges::upper_bound(ahead_, base, {}, &Range::base);
  at = ahead_.insert(at, {base, end});
  if (at != ahead_.begin() && std::prev(at)->end >= at->base) --at;
  while (std::next(at) != ahead_.end() && at->end >= std::next(at)->base) {
    at->end = std::max(at->end, std::next(at)->end);
    ahead_.erase(std::next(at));
  }
}

void DurablePrefix::truncated(Offset end) {
  synced_end_ = std::min(synced_end_, end);
  end_ = std::min(end_, end);
  std::erase_if(ahead_, [end](const Range& range) { return range.base >= end; });
  if (!ahead_.empty()) ahead_.back().end = std::min(ahead_.back().end, end);
}

void DurablePrefix::advance(Offset end) {
  end_ = std::max(end_, end);
  while (!ahead_.empty() && ahead_.front().base <= end_) {
    end_ = std::max(end_, ahead_.front().end);
    ahead_.erase(ahead_.begin());
  }
}

}  // namespace naru
