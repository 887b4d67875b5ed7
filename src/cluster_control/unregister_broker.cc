#include "cluster_control/unregister_broker.h"

#include <algorithm>
#include <utility>

#include "cluster_control/metadata_keys.h"

namespace naru {
namespace {

// How many partitions have it in their ISR, and the first of them.
struct InSync {
  size_t count = 0;
  PartitionStatePtr first;
};

InSync in_sync_partitions(const MetadataImage& image, BrokerId broker) {
  InSync found;
  for (const PartitionBucketPtr& bucket : image.buckets()) {
    for (const PartitionStatePtr& state : *bucket) {
      if (std::ranges::find(state->isr, broker) == state->isr.end()) continue;
      if (found.count++ == 0) found.first = state;
    }
  }
  return found;
}

}  // namespace

std::optional<Transaction> UnregisterBrokerPlanner::plan(const MetadataImage& image) {
  status_ = check(image);
  const bool is_known = image.known_brokers().contains(broker_);
  if (!status_.ok() || !is_known) return std::nullopt;
  planned_ = true;
  MetadataDraft draft(image);
  MetadataChange change;
  change.deletes.push_back(metadata_keys::known_broker(broker_));
  if (!draft.merge(std::move(change))) return std::nullopt;  // one key always fits
  Transaction transaction = std::move(draft).finish();
  transaction.may_use_reserve = true;  // gives room back
  return transaction;
}

Status UnregisterBrokerPlanner::check(const MetadataImage& image) const {
  if (image.find_broker(broker_) != nullptr) {
    return error(ErrorCode::invalid_request, "broker {} is running: stop it before it is unregistered", broker_);
  }
  if (!image.known_brokers().contains(broker_)) {
    if (planned_) return {};
    return error(ErrorCode::broker_id_not_registered, "nothing is remembered of a broker {}", broker_);
  }
  const InSync in_sync = in_sync_partitions(image, broker_);
  if (in_sync.count == 0) return {};
  const TopicMetadata* topic = image.find_topic(in_sync.first->topic_id);
  return error(
      ErrorCode::invalid_request,
      "broker {} is among the last in-sync replicas of {} partitions ({}-{} is one): start it again, or elect another "
      "leader uncleanly, or delete these topics",
      broker_, in_sync.count, topic == nullptr ? in_sync.first->topic_id.to_string() : topic->name,
      in_sync.first->index);
}

void UnregisterBrokerPlanner::abandon(const Status& status) {
  done_ = true;
  status_ = status;
}

}  // namespace naru
