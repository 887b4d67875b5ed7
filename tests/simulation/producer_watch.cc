#include "simulation/producer_watch.h"

#include <algorithm>

#include <fmt/core.h>

#include "broker/hosted_partitions.h"

namespace naru::simulation {

void ProducerMemory::note(const ProducerState& state, Offset safe_end) {
  for (const Producer& producer : state.producers()) {
    for (size_t i = producer.batch_count; i-- > 0;) {
      const Offset end = producer.batches[i].next_offset();
      if (end > safe_end) continue;
      KnownProducer& known = known_[producer.id];
      if (producer.epoch > known.epoch || end > known.end) known = {.epoch = producer.epoch, .end = end};
      break;
    }
  }
}

std::optional<std::string> ProducerMemory::missing_in(const ProducerState& state) const {
  for (const auto& [id, known] : known_) {
    const Producer* found = state.find(id);
    if (found == nullptr) {
      return fmt::format("producer {}, whose last batch ends at {}, is forgotten", id, known.end);
    }
    if (found->epoch > known.epoch) continue;
    if (found->epoch == known.epoch && found->batch_count > 0 && found->newest().next_offset() >= known.end) continue;
    return fmt::format("of producer {}, the batch of epoch {} that ends at {} is forgotten", id, known.epoch,
                       known.end);
  }
  return std::nullopt;
}

Task<void> ProducerWatch::look() {
  if (cluster_.is_alone() && plan_.promise != Promise::durable) co_return;
  for (const auto& broker : cluster_.brokers()) {
    if (!broker->running()) continue;
    for (const auto& partition : broker->broker().partitions().all()) co_await look_at(partition, broker->id());
  }
}

// Others may have been told more since a leader was replaced.
bool ProducerWatch::leads_now(const PartitionIdentity& identity, LeaderEpoch epoch) const {
  if (cluster_.is_alone()) return true;
  const TopicMetadata* topic = store_.image().find_topic(identity.topic_id);
  const PartitionState* state = topic == nullptr ? nullptr : topic->partition(identity.index);
  return state != nullptr && state->leader_epoch == epoch;
}

Task<void> ProducerWatch::look_at(std::shared_ptr<Partition> partition, BrokerId broker) {
  const PartitionIdentity& identity = partition->identity();
  const PartitionView view = co_await partition->look(kNoLeaderEpoch);
  if (!view.status.ok() || !view.high_watermark_known || !leads_now(identity, view.leader_epoch)) co_return;
  ProducerMemory& memory = memories_[{identity.topic_id, identity.index}];
  const auto missing = co_await partition->with_log([&](const LogAccess& access) -> Result<std::optional<std::string>> {
    if (!access.leads) return std::nullopt;
    auto found = memory.missing_in(access.log.producers());
    const Offset durable = access.log.durable_end();
    memory.note(access.log.producers(),
                cluster_.is_alone() ? std::min(durable, access.high_watermark) : access.high_watermark);
    return found;
  });
  if (!missing || !*missing || violation_ || !leads_now(identity, view.leader_epoch)) co_return;
  violation_ =
      fmt::format("{} on broker {} in epoch {}: {}", identity.to_string(), broker, view.leader_epoch, **missing);
}

}  // namespace naru::simulation
