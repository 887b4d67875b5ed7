#include "cluster_control/metadata_draft.h"

#include <algorithm>
#include <utility>

#include "cluster_control/metadata_keys.h"
#include "cluster_control/stored_metadata.h"
#include "foundation/canary.h"

namespace naru {
namespace {

// Two compares and the generation itself.
constexpr size_t kFixedOperations = 3;
constexpr size_t kFixedBytes = 512;

size_t size_of(const Put& put) {
  return put.key.size() + put.value.size() + kOperationOverheadBytes;
}

}  // namespace

MetadataDraft::MetadataDraft(const MetadataImage& image) : image_(image) {}

const PartitionBucket& MetadataDraft::bucket(int32_t number) const {
  static const PartitionBucket kEmpty;
  if (const auto changed = buckets_.find(number); changed != buckets_.end()) return changed->second;
  const auto index = static_cast<size_t>(number);
  return index < image_.buckets().size() ? *image_.buckets()[index] : kEmpty;
}

int32_t MetadataDraft::bucket_count() const {
  const auto in_image = static_cast<int32_t>(image_.buckets().size());
  return buckets_.empty() ? in_image : std::max(in_image, buckets_.rbegin()->first + 1);
}

bool MetadataDraft::merge(MetadataChange change) {
  for (const auto& [number, partitions] : change.buckets) {
    change.puts.push_back({metadata_keys::partition_states(number), encode_bucket(partitions)});
  }
  size_t operations = puts_.size() + deletes_.size();
  size_t bytes = bytes_;
  for (const Put& put : change.puts) {
    const auto replaced = puts_.find(put.key);
    operations += replaced == puts_.end() ? 1 : 0;
    bytes += size_of(put) - (replaced == puts_.end() ? 0 : size_of(replaced->second));
  }
  for (const std::string& key : change.deletes) {
    if (deletes_.contains(key)) continue;
    ++operations;
    bytes += key.size() + kOperationOverheadBytes;
  }
  if (operations + kFixedOperations > kMaxTransactionOperations) return false;
  if (bytes + kFixedBytes > kMaxTransactionBytes) return false;

  bytes_ = bytes;
  for (Put& put : change.puts) {
    std::string key = put.key;
    puts_.insert_or_assign(std::move(key), std::move(put));
  }
  deletes_.insert(change.deletes.begin(), change.deletes.end());
  for (auto& [number, partitions] : change.buckets) buckets_.insert_or_assign(number, std::move(partitions));
  return true;
}

Transaction MetadataDraft::finish() && {
  Transaction transaction;
  if (!is_planted(Canary::uncompared_controller)) {
    transaction.compares.push_back({std::string(metadata_keys::kControllerEpoch), image_.controller_epoch_version()});
    transaction.compares.push_back({std::string(metadata_keys::kGeneration), image_.generation_version()});
  }
  transaction.puts.push_back({std::string(metadata_keys::kGeneration), encode_generation(next_generation())});
  for (auto& [key, put] : puts_) transaction.puts.push_back(std::move(put));
  transaction.deletes.assign(deletes_.begin(), deletes_.end());
  return transaction;
}

}  // namespace naru
