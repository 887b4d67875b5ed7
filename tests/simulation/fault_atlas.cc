#include "simulation/fault_atlas.h"

#include <algorithm>

namespace naru::simulation {

bool FaultAtlas::is_settled(BrokerId id) const {
  const MetadataImage& image = store_.image();
  if (!image.is_settled(id)) return false;
  const auto ended = ended_.find(id);
  return ended == ended_.end() || image.find_broker(id)->epoch > ended->second.epoch;
}

bool FaultAtlas::is_trustworthy(BrokerId id, const PartitionState& state) const {
  const bool is_damaged = std::ranges::any_of(flips_, [&](const Flip& flip) {
    return flip.broker == id && flip.topic_id == state.topic_id && flip.index == state.index && is_there(flip);
  });
  if (is_damaged) return false;
  const bool runs = std::ranges::any_of(cluster_.brokers(),
                                        [id](const auto& broker) { return broker->id() == id && broker->running(); });
  return runs && is_settled(id);
}

bool FaultAtlas::may_lose_data(BrokerId id) const {
  for (const TopicMetadataPtr& topic : store_.image().topics()) {
    for (const PartitionStatePtr& state : topic->partitions) {
      if (!may_lose(id, *state)) return false;
    }
  }
  return may_end_uncleanly();
}

bool FaultAtlas::may_lose(BrokerId id, const PartitionState& state) const {
  if (std::ranges::find(state.isr, id) == state.isr.end()) return true;
  return std::ranges::any_of(state.isr, [&](BrokerId other) { return other != id && is_trustworthy(other, state); });
}

bool FaultAtlas::may_lose_log(BrokerId id, const Uuid& topic_id, PartitionIndex index) const {
  const TopicMetadata* topic = store_.image().find_topic(topic_id);
  const PartitionState* state = topic == nullptr ? nullptr : topic->partition(index);
  return state != nullptr && is_settled(id) && may_lose(id, *state) && may_end_uncleanly();
}

void FaultAtlas::flipped(BrokerId id, const Uuid& topic_id, PartitionIndex index, std::string segment,
                         uint64_t position) {
  Bytes around = bytes_around(disk_of(id), segment, position);
  flips_.push_back({id, topic_id, index, std::move(segment), position, std::move(around)});
}

bool FaultAtlas::any_damage() const {
  return std::ranges::any_of(flips_, [this](const Flip& flip) { return is_there(flip); });
}

// Enough that nothing else looks the same by chance, as long as nobody has written there.
Bytes FaultAtlas::bytes_around(SimulatedFileSystem& disk, const std::string& segment, uint64_t position) {
  constexpr uint64_t kAround = 8;
  const Bytes content = disk.exists(segment).value_or(false) ? disk.content(segment) : Bytes();
  const uint64_t begin = std::min<uint64_t>(position < kAround ? 0 : position - kAround, content.size());
  const uint64_t end = std::min<uint64_t>(position + kAround, content.size());
  return Bytes(content.begin() + static_cast<ptrdiff_t>(begin), content.begin() + static_cast<ptrdiff_t>(end));
}

SimulatedFileSystem& FaultAtlas::disk_of(BrokerId id) const {
  const auto found = std::ranges::find(cluster_.brokers(), id, [](const auto& broker) { return broker->id(); });
  return (*found)->node().disk();
}

bool FaultAtlas::is_there(const Flip& flip) const {
  return bytes_around(disk_of(flip.broker), flip.segment, flip.position) == flip.around;
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
