#include "simulation/fault_atlas.h"

#include <algorithm>

namespace naru::simulation {

bool FaultAtlas::is_settled(BrokerId id) const {
  const MetadataImage& image = store_.image();
  if (!image.is_settled(id)) return false;
  const auto ended = ended_.find(id);
  return ended == ended_.end() || image.find_broker(id)->epoch > ended->second.epoch;
}

bool FaultAtlas::is_trustworthy(BrokerId id) const {
  const bool runs = std::ranges::any_of(cluster_.brokers(),
                                        [id](const auto& broker) { return broker->id() == id && broker->running(); });
  return runs && is_settled(id);
}

bool FaultAtlas::may_lose_data(BrokerId id) const {
  for (const TopicMetadataPtr& topic : store_.image().topics()) {
    for (const PartitionStatePtr& state : topic->partitions) {
      if (std::ranges::find(state->isr, id) == state->isr.end()) continue;
      const bool survives =
          std::ranges::any_of(state->isr, [this, id](BrokerId other) { return other != id && is_trustworthy(other); });
      if (!survives) return false;
    }
  }
  return may_end_uncleanly();
}

bool FaultAtlas::is_in_sync(BrokerId id) const {
  return std::ranges::any_of(store_.image().topics(), [id](const TopicMetadataPtr& topic) {
    return std::ranges::any_of(topic->partitions, [id](const PartitionStatePtr& state) {
      return state->isr.size() > 1 && std::ranges::find(state->isr, id) != state->isr.end();
    });
  });
}

bool FaultAtlas::may_end_uncleanly() const {
  return std::ranges::none_of(
      ended_, [this](const auto& entry) { return entry.second.end == End::lossy && !is_settled(entry.first); });
}

int FaultAtlas::times_ended(BrokerId id) const {
  const auto ended = ended_.find(id);
  return ended == ended_.end() ? 0 : ended->second.times;
}

void FaultAtlas::ended(BrokerId id, End end) {
  const BrokerMetadata* registered = store_.image().find_broker(id);
  const auto known = store_.image().known_brokers().find(id);
  Ended& noted = ended_[id];
  ++noted.times;
  // A loss that the controller has not acted on yet is still one.
  const bool still_lossy = noted.end == End::lossy && !is_settled(id);
  noted.end = still_lossy ? End::lossy : end;
  if (registered != nullptr) noted.epoch = std::max(noted.epoch, registered->epoch);
  if (known != store_.image().known_brokers().end()) {
    noted.epoch = std::max(noted.epoch, known->second.registered_epoch);
  }
}

}  // namespace naru::simulation
