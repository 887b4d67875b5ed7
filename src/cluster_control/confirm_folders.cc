#include "cluster_control/confirm_folders.h"

#include <algorithm>
#include <utility>

#include "cluster_control/metadata_keys.h"
#include "cluster_control/stored_metadata.h"

namespace naru {

ConfirmFoldersPlanner::ConfirmFoldersPlanner(FolderConfirmation confirmation)
    : confirmation_(std::move(confirmation)) {}

std::optional<Transaction> ConfirmFoldersPlanner::plan(const MetadataImage& image) {
  status_ = {};
  const KnownBroker before = image.known_broker(confirmation_.id);
  if (before.registered_epoch != confirmation_.broker_epoch) {
    status_ = error(ErrorCode::stale_broker_epoch, "broker {} has registered again since epoch {}", confirmation_.id,
                    confirmation_.broker_epoch);
    return std::nullopt;
  }
  KnownBroker known = before;
  for (const Uuid& id : confirmation_.directory_ids) {
    std::erase_if(known.confirmed, [&id](const ConfirmedEpoch& confirmed) { return confirmed.directory_id == id; });
    known.confirmed.push_back({id, confirmation_.broker_epoch});
  }
  std::ranges::sort(known.confirmed, {}, &ConfirmedEpoch::directory_id);
  if (known == before) return std::nullopt;
  MetadataChange change;
  change.puts.push_back({metadata_keys::known_broker(confirmation_.id), encode_known_broker(known)});
  MetadataDraft draft(image);
  if (!draft.merge(std::move(change))) {
    status_ = Status(ErrorCode::policy_violation, "what is known of the broker is too long for one transaction");
    return std::nullopt;
  }
  Transaction transaction = std::move(draft).finish();
  transaction.may_use_reserve = true;  // a broker has to be able to start on a full disk
  return transaction;
}

void ConfirmFoldersPlanner::abandon(const Status& status) {
  done_ = true;
  status_ = status;
}

}  // namespace naru
