#include "cluster_control/controller_start.h"

#include <algorithm>
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

ClaimControllerPlanner::ClaimControllerPlanner(BrokerId controller_id, Uuid incarnation, Uuid new_cluster_id)
    : controller_id_(controller_id), incarnation_(incarnation), new_cluster_id_(new_cluster_id) {}

bool ClaimControllerPlanner::recognise(const MetadataImage& image) {
  if (image.cluster().controller_incarnation != incarnation_) return false;
  epoch_ = image.cluster().controller_epoch;
  return true;
}

std::optional<Transaction> ClaimControllerPlanner::plan(const MetadataImage& image) {
  ClusterMetadata cluster = image.cluster();
  epoch_ = ++cluster.controller_epoch;
  cluster.controller_id = controller_id_;
  cluster.controller_incarnation = incarnation_;
  MetadataChange change;
  change.puts.push_back(
      {std::string(metadata_keys::kController), encode_controller({controller_id_, incarnation_}), /*ephemeral=*/true});
  change.puts.push_back({std::string(metadata_keys::kControllerEpoch), encode_controller_epoch(cluster)});
  if (cluster.cluster_id.is_zero()) {
    cluster.cluster_id = new_cluster_id_;
    cluster.feature_level = kFeatureLevel;
    change.puts.push_back({std::string(metadata_keys::kCluster), encode_cluster(cluster)});
    change.puts.push_back({std::string(metadata_keys::kProducerIdsAtDeletion), encode_producer_ids(ProducerId(0))});
  }
  MetadataDraft draft(image);
  const bool fits = draft.merge(std::move(change));
  NARU_ASSERT(fits, "four small keys do not fit into a transaction");
  Transaction transaction = std::move(draft).finish();
  transaction.compares.push_back({std::string(metadata_keys::kController), 0});
  return with_reserve(std::move(transaction));
}

void ClaimControllerPlanner::abandon(const Status& status) {
  done_ = true;
  status_ = status;
}

RegisterBrokerPlanner::RegisterBrokerPlanner(BrokerRegistration registration)
    : registration_(std::move(registration)) {}

std::optional<Transaction> RegisterBrokerPlanner::plan(const MetadataImage& image) {
  status_ = check_cluster(image);
  if (!status_.ok()) return std::nullopt;
  is_own_predecessor_ = false;
  if (const BrokerMetadata* known = image.find_broker(registration_.id)) {
    if (known->incarnation == registration_.incarnation) {
      broker_epoch_ = known->epoch;
      return std::nullopt;
    }
    is_own_predecessor_ = std::ranges::find_first_of(known->directory_ids, registration_.folders, {}, {},
                                                     &DataFolder::id) != known->directory_ids.end();
    status_ =
        error(ErrorCode::already_exists,
              "broker {} is registered by another process: choose another node.id, or wait until its session ends",
              registration_.id);
    return std::nullopt;
  }
  MetadataDraft draft(image);
  broker_epoch_ = draft.next_generation();
  const KnownBroker known = known_now(image.known_broker(registration_.id));
  BrokerMetadata broker{.id = registration_.id,
                        .incarnation = registration_.incarnation,
                        .epoch = broker_epoch_,
                        .rack = registration_.rack,
                        .listeners = registration_.listeners,
                        .clean_shutdown = known.registered_clean};
  for (const DataFolder& folder : registration_.folders) broker.directory_ids.push_back(folder.id);
  MetadataChange change;
  change.puts.push_back({metadata_keys::broker(broker.id), encode_broker(broker), /*ephemeral=*/true});
  change.puts.push_back({metadata_keys::known_broker(broker.id), encode_known_broker(known)});
  if (!draft.merge(std::move(change))) {
    status_ = Status(ErrorCode::invalid_argument, "the list of listeners, or of logs that cannot be used, is too long");
    return std::nullopt;
  }
  Transaction transaction = std::move(draft).finish();
  transaction.compares.push_back({metadata_keys::broker(broker.id), 0});
  return with_reserve(std::move(transaction));
}

KnownBroker RegisterBrokerPlanner::known_now(KnownBroker known) const {
  const bool settled = known.settled_epoch == known.registered_epoch;
  known.registered_clean = registration_.clean_shutdown && (settled || known.registered_clean);
  known.registered_epoch = broker_epoch_;
  if (settled) known.rolled_back.clear();
  for (const DataFolder& folder : registration_.folders) {
    const bool is_noted = std::ranges::find(known.rolled_back, folder.id) != known.rolled_back.end();
    if (!is_noted && folder.found_epoch < known.confirmed_epoch(folder.id)) known.rolled_back.push_back(folder.id);
  }
  const PartitionIds told = known.offline ? known.offline->partitions : PartitionIds();
  known.offline = std::make_shared<const OfflineLogs>(OfflineLogs{broker_epoch_, registration_.offline.value_or(told)});
  return known;
}

Status RegisterBrokerPlanner::check_cluster(const MetadataImage& image) const {
  const Uuid& ours = registration_.cluster_id;
  const Uuid& theirs = image.cluster().cluster_id;
  if (ours.is_zero() || ours == theirs) return {};
  if (theirs.is_zero()) {
    return error(ErrorCode::inconsistent_cluster_id,
                 "the data folders belong to cluster {}, and the coordination store knows of no cluster: check its "
                 "address and path",
                 ours.to_string());
  }
  return error(ErrorCode::inconsistent_cluster_id,
               "the data folders belong to cluster {}, and the coordination store holds cluster {}: check the address "
               "of the store, or choose other data folders",
               ours.to_string(), theirs.to_string());
}

void RegisterBrokerPlanner::abandon(const Status& status) {
  done_ = true;
  status_ = status;
}

}  // namespace naru
