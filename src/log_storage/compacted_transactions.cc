#include "log_storage/compacted_transactions.h"

namespace naru {

void CompactedTransactions::go_to(Offset offset) {
  for (; next_ < aborted_.size() && aborted_[next_].first_offset <= offset; ++next_) {
    current_.insert_or_assign(aborted_[next_].producer_id, aborted_[next_]);
  }
}

bool CompactedTransactions::is_aborted(const BatchHeader& data) {
  if (!data.is_transactional() || data.is_control()) return false;
  go_to(data.base_offset);
  const auto found = current_.find(data.producer_id);
  return found != current_.end() && data.base_offset < found->second.last_offset;
}

CompactedTransactions::End CompactedTransactions::end(const BatchHeader& marker) {
  go_to(marker.base_offset);
  End end{.has_records = with_records_.erase(marker.producer_id) > 0};
  const auto found = current_.find(marker.producer_id);
  if (found != current_.end() && found->second.last_offset == marker.base_offset) {
    end.aborted = found->second;
    current_.erase(found);
  }
  return end;
}

}  // namespace naru
