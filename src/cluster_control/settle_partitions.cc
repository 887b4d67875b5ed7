#include "cluster_control/settle_partitions.h"

#include <algorithm>
#include <utility>

#include "cluster_control/metadata_keys.h"
#include "cluster_control/stored_metadata.h"

namespace naru {
namespace {
constexpr size_t kMaxRegistrationsPerStep = 64;
constexpr size_t kMaxBytesPerStep = 400'000;  // of them: lists of offline logs may be long

// What is known of a broker when the controller has acted on its registration.
KnownBroker settled_broker(const BrokerMetadata& broker, KnownBroker known) {
  known.settled_epoch = broker.epoch;
  known.directory_ids = broker.directory_ids;
  known.registered_epoch = broker.epoch;
  known.registered_clean = broker.clean_shutdown;
  known.rolled_back.clear();
  std::erase_if(known.confirmed, [&broker](const ConfirmedEpoch& confirmed) {
    return std::ranges::find(broker.directory_ids, confirmed.directory_id) == broker.directory_ids.end();
  });
  return known;
}

}  // namespace

SettlePartitionsPlanner::SettlePartitionsPlanner(const BrokerConfig& config, AskWhoStops who_stops)
    : config_(config), who_stops_(std::move(who_stops)) {}

void SettlePartitionsPlanner::begin_step(const MetadataImage& image) {
  if (!std::exchange(began_, true)) {
    for (const auto& [id, broker] : image.brokers()) first_seen_.emplace(id, broker.epoch);
  }
  brokers_ = BrokerStandings(image, who_stops_());
  rules_ = std::make_unique<ElectionRulesOfTopics>(config_, image);
  step_ = {};
}

// Most partitions of a large cluster have nothing to do with the broker that came or went.
bool SettlePartitionsPlanner::concerns(const PartitionState& state) const {
  if (state.leader == kNoBroker) return true;
  const auto is_steady = [this, &state](BrokerId id) {
    const BrokerStanding broker = brokers_.of(id, state);
    return broker.registered && !broker.stopping && !broker.returned;
  };
  return !std::ranges::all_of(state.isr, is_steady);
}

std::optional<PartitionState> SettlePartitionsPlanner::change(const MetadataImage&, const PartitionState& before) {
  if (!concerns(before)) return std::nullopt;
  SettledPartition settled = settle(before, rules_->of(before.topic_id), brokers_);
  if (settled.state == before) return std::nullopt;
  return std::move(settled.state);
}

void SettlePartitionsPlanner::changed(const MetadataImage&, const PartitionState& before, const PartitionState& after) {
  const SettledPartition settled = settle(before, rules_->of(before.topic_id), brokers_);
  step_.new_leaders += after.leader != before.leader && after.leader != kNoBroker ? 1 : 0;
  step_.leaders_lost += after.leader != before.leader && after.leader == kNoBroker ? 1 : 0;
  step_.possible_loss += settled.possible_loss ? 1 : 0;
  step_.unclean += settled.unclean ? 1 : 0;
  step_.data_lost += after.isr_lost_data && !before.isr_lost_data ? 1 : 0;
}

bool SettlePartitionsPlanner::last_change(const MetadataImage& image, MetadataChange& change) {
  size_t bytes = 0;
  for (const auto& [id, broker] : image.brokers()) {
    const auto seen = first_seen_.find(id);
    const bool acted_on = seen != first_seen_.end() && seen->second == broker.epoch;
    if (!acted_on || image.is_settled(id)) continue;
    if (change.puts.size() == kMaxRegistrationsPerStep || bytes > kMaxBytesPerStep) return false;
    Bytes known = encode_known_broker(settled_broker(broker, image.known_broker(id)));
    bytes += known.size();
    change.puts.push_back({metadata_keys::known_broker(id), std::move(known)});
  }
  return true;
}

void SettlePartitionsPlanner::step_committed() {
  tally_.new_leaders += step_.new_leaders;
  tally_.leaders_lost += step_.leaders_lost;
  tally_.possible_loss += step_.possible_loss;
  tally_.unclean += step_.unclean;
  tally_.data_lost += step_.data_lost;
  step_ = {};
}

}  // namespace naru
