#include "cluster_control/allocate_producer_ids.h"

#include <limits>
#include <utility>

#include "cluster_control/metadata_keys.h"
#include "cluster_control/stored_metadata.h"
#include "foundation/assert.h"

namespace naru {

std::optional<Transaction> AllocateProducerIdsPlanner::plan(const MetadataImage& image) {
  status_ = {};
  const ProducerId first = image.cluster().next_producer_id;
  if (first.value() > std::numeric_limits<int64_t>::max() - kBlockSize) {
    status_ = error(ErrorCode::unknown_server_error, "no producer ids are left after {}", first);
    return std::nullopt;
  }
  block_ = {first, first + kBlockSize};
  MetadataChange change;
  change.puts.push_back({std::string(metadata_keys::kProducerIds), encode_producer_ids(block_.end)});
  MetadataDraft draft(image);
  const bool fits = draft.merge(std::move(change));
  NARU_ASSERT(fits, "one small key does not fit into a transaction");
  return std::move(draft).finish();
}

void AllocateProducerIdsPlanner::abandon(const Status& status) {
  done_ = true;
  status_ = status;
}

Result<ProducerIdBlock> AllocateProducerIdsPlanner::result() const {
  if (!status_.ok()) return failure(status_);
  return block_;
}

}  // namespace naru
