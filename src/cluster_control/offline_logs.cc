#include "cluster_control/offline_logs.h"

#include <utility>

#include "cluster_control/metadata_keys.h"
#include "cluster_control/stored_metadata.h"

namespace naru {

NoteOfflineLogsPlanner::NoteOfflineLogsPlanner(BrokerId broker, OfflineLogs logs)
    : broker_(broker), logs_(std::make_shared<const OfflineLogs>(std::move(logs))) {}

std::optional<Transaction> NoteOfflineLogsPlanner::plan(const MetadataImage& image) {
  status_ = {};
  KnownBroker known = image.known_broker(broker_);
  const BrokerMetadata* registered = image.find_broker(broker_);
  if (registered == nullptr || registered->epoch != logs_->broker_epoch) {
    status_ =
        error(ErrorCode::stale_broker_epoch, "broker {} is not registered with epoch {}", broker_, logs_->broker_epoch);
    return std::nullopt;
  }
  if (known.offline && *known.offline == *logs_) return std::nullopt;
  known.offline = logs_;
  MetadataChange change;
  change.puts.push_back({metadata_keys::known_broker(broker_), encode_known_broker(known)});
  MetadataDraft draft(image);
  if (!draft.merge(std::move(change))) {
    status_ = error(ErrorCode::policy_violation, "{} offline logs of broker {} are too many for one transaction",
                    logs_->partitions.size(), broker_);
    return std::nullopt;
  }
  return std::move(draft).finish();
}

void NoteOfflineLogsPlanner::abandon(const Status& status) {
  done_ = true;
  status_ = status;
}

}  // namespace naru
