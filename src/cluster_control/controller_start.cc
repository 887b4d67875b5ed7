#include "cluster_control/controller_start.h"

#include <utility>

#include "cluster_control/metadata_image_builder.h"
#include "cluster_control/metadata_keys.h"
#include "cluster_control/stored_metadata.h"
#include "foundation/assert.h"

namespace naru {
namespace {

// A broker has to be able to start on a full disk: to delete something.
Transaction with_reserve(Transaction transaction) {
  transaction.may_use_reserve = true;
  return transaction;
}

}  // namespace

ClaimControllerPlanner::ClaimControllerPlanner(BrokerId controller_id, Uuid new_cluster_id)
    : controller_id_(controller_id), new_cluster_id_(new_cluster_id) {}

std::optional<Transaction> ClaimControllerPlanner::plan(const MetadataImage& image) {
  ClusterMetadata cluster = image.cluster();
  epoch_ = ++cluster.controller_epoch;
  cluster.controller_id = controller_id_;
  MetadataChange change;
  change.puts.push_back({std::string(metadata_keys::kControllerEpoch), encode_controller_epoch(cluster)});
  if (cluster.cluster_id.is_zero()) {
    cluster.cluster_id = new_cluster_id_;
    cluster.feature_level = kFeatureLevel;
    change.puts.push_back({std::string(metadata_keys::kCluster), encode_cluster(cluster)});
  }
  MetadataDraft draft(image);
  const bool fits = draft.merge(std::move(change));
  NARU_ASSERT(fits, "two small keys do not fit into a transaction");
  return with_reserve(std::move(draft).finish());
}

void ClaimControllerPlanner::abandon(const Status& status) {
  done_ = true;
  status_ = status;
}

RegisterBrokerPlanner::RegisterBrokerPlanner(BrokerRegistration registration)
    : registration_(std::move(registration)) {}

std::optional<Transaction> RegisterBrokerPlanner::plan(const MetadataImage& image) {
  status_ = {};
  if (const BrokerMetadata* known = image.find_broker(registration_.id)) {
    if (known->incarnation == registration_.incarnation) return std::nullopt;
    status_ =
        error(ErrorCode::already_exists,
              "broker {} is registered by another process: choose another node.id, or wait until its session ends",
              registration_.id);
    return std::nullopt;
  }
  MetadataDraft draft(image);
  const BrokerMetadata broker{registration_.id, registration_.incarnation, draft.next_generation(), registration_.rack,
                              registration_.listeners};
  MetadataChange change;
  change.puts.push_back({metadata_keys::broker(broker.id), encode_broker(broker), /*ephemeral=*/true});
  if (!draft.merge(std::move(change))) {
    status_ = Status(ErrorCode::invalid_argument, "the list of listeners is too long");
    return std::nullopt;
  }
  return with_reserve(std::move(draft).finish());
}

void RegisterBrokerPlanner::abandon(const Status& status) {
  done_ = true;
  status_ = status;
}

}  // namespace naru
