#include "simulation/broker_watch.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "async/one_shot.h"
#include "broker/hosted_partitions.h"
#include "cluster_control/controller_office.h"
#include "platform/simulated/trace_hash.h"
#include "simulation/stored_records.h"

namespace naru::simulation {
namespace {

// Segments stay open as long as others do not need their place (DescriptorShares::cached_files), and until they are
// synced. A leak does not end here.
constexpr uint64_t kFilesOfABroker = 2048 + 300, kFilesOfAPartition = 30;
// A broker without contact stops to decide after twice the session and ten seconds; a pause may come on top.
constexpr Duration kTimeToNotice = 20s;

uint64_t hash_of(const RecordView& record, LeaderEpoch epoch) {
  TraceHash hash;
  hash.mix(static_cast<uint64_t>(epoch.value()));
  hash.mix(static_cast<uint64_t>(record.timestamp));
  for (const auto& part : {record.key, record.value}) {
    hash.mix(part.has_value() ? 1 : 0);
    hash.mix(part.value_or(BytesView()));
  }
  return hash.value();
}

}  // namespace

struct BrokerWatch::Replica {
  BrokerId broker;
  Offset start;
  Offset end;  // of what is committed, as far as this one knows
  Contents records;
};

void BrokerWatch::violated(std::string sentence) {
  if (!violation_) violation_ = std::move(sentence);
}

Task<void> BrokerWatch::look() {
  for (const auto& broker : cluster_.brokers()) {
    if (!broker->running()) continue;
    const ControllerView controller = broker->broker().controller();
    if (controller.here) {
      const auto [known, first] = controllers_.try_emplace(controller.epoch, broker->id());
      if (!first && known->second != broker->id()) {
        violated(fmt::format("brokers {} and {} are both the controller of epoch {}", known->second, broker->id(),
                             controller.epoch));
      }
    }
    const auto partitions = broker->broker().partitions().all();
    look_at_files(*broker, partitions.size());
    for (const auto& partition : partitions) co_await look_at(partition, broker->id());
  }
}

void BrokerWatch::look_at_files(SimulatedBroker& broker, size_t partitions) {
  const uint64_t open = broker.node().disk().open_files();
  const uint64_t most = kFilesOfABroker + kFilesOfAPartition * partitions;
  if (open > most)
    violated(fmt::format("broker {} has {} open files with {} partitions", broker.id(), open, partitions));
}

Task<void> BrokerWatch::look_at(std::shared_ptr<Partition> partition, BrokerId broker) {
  const PartitionIdentity& identity = partition->identity();
  const TopicMetadata* topic = store_.image().find_topic(identity.topic_id);
  const PartitionState* state = topic == nullptr ? nullptr : topic->partition(identity.index);
  const PartitionView view = co_await partition->look(kNoLeaderEpoch);
  if (view.status.ok()) {
    look_at_leader(identity, view, state, broker);
    if (kSwitches.replaced_leaders_are_silent) co_await look_at_decisions(partition, view.leader_epoch, state, broker);
  }
  if (state == nullptr || std::ranges::find(state->isr, broker) == state->isr.end()) co_return;
  if (!atlas_.is_settled(broker)) co_return;  // the controller has yet to see what it may have lost
  look_at_member(identity, co_await partition->follower_position(), broker);
}

void BrokerWatch::look_at_leader(const PartitionIdentity& identity, const PartitionView& view,
                                 const PartitionState* state, BrokerId broker) {
  const Leader leader{.broker = broker, .unclean_ends = atlas_.times_ended(broker)};
  const auto [known, first] = leaders_.try_emplace({identity.topic_id, identity.index, view.leader_epoch}, leader);
  if (!first && known->second.broker != broker) {
    violated(fmt::format("{}: brokers {} and {} both lead in epoch {}", identity.to_string(), known->second.broker,
                         broker, view.leader_epoch));
  } else if (!first && known->second.unclean_ends != leader.unclean_ends) {
    violated(fmt::format("{}: broker {} goes on in epoch {}, although it was killed", identity.to_string(), broker,
                         view.leader_epoch));
  }
  if (store_.leader_of(identity.topic_id, identity.index, view.leader_epoch) != broker) {
    violated(fmt::format("{}: broker {} leads in epoch {} and was not elected", identity.to_string(), broker,
                         view.leader_epoch));
  }
  if (state == nullptr || state->leader_epoch != view.leader_epoch || !view.high_watermark_known) return;
  const Offset promised = history_.promised_end({identity.topic, identity.index});
  if (view.high_watermark < promised) {
    violated(fmt::format("{}: records below {} are acknowledged, and leader {} of epoch {} knows of those below {}",
                         identity.to_string(), promised, broker, view.leader_epoch, view.high_watermark));
  }
}

Task<void> BrokerWatch::look_at_decisions(std::shared_ptr<Partition> partition, LeaderEpoch epoch,
                                          const PartitionState* state, BrokerId broker) {
  if (state == nullptr || state->leader == kNoBroker || state->leader_epoch <= epoch) co_return;
  const PartitionIdentity& identity = partition->identity();
  // As long as the elected one does not know of it, it follows, and nobody else leads.
  const auto later = leaders_.upper_bound({identity.topic_id, identity.index, epoch});
  const bool has_successor = later != leaders_.end() && std::get<Uuid>(later->first) == identity.topic_id &&
                             std::get<PartitionIndex>(later->first) == identity.index;
  if (!has_successor) co_return;
  Leader& leader = leaders_.at({identity.topic_id, identity.index, epoch});
  if (!leader.replaced) leader.replaced = clock_.now();
  if (clock_.now() - *leader.replaced <= kTimeToNotice) co_return;
  OneShot<Status> decides;
  partition->confirm_leadership(epoch, [&decides](const Status& status) { decides.set(status); });
  if (!(co_await decides).ok()) co_return;
  violated(fmt::format("{}: broker {} takes records in epoch {}, although another one leads in epoch {} for long",
                       identity.to_string(), broker, epoch, state->leader_epoch));
}

// One that is offline says nothing.
void BrokerWatch::look_at_member(const PartitionIdentity& identity, const FollowerPosition& position, BrokerId broker) {
  if (!position.status.ok() && position.status != ErrorCode::not_leader_or_follower) return;
  const Offset promised = history_.promised_end({identity.topic, identity.index});
  const Offset has = position.flush_counts ? position.flushed_end : position.offset;
  if (has >= promised) return;
  violated(fmt::format("{}: records below {} are acknowledged, and broker {}, which is in sync, has {} those below {}",
                       identity.to_string(), promised, broker, position.flush_counts ? "synced" : "stored", has));
}

// --- Replicas --------------------------------------------------------------------------------------------------------

Task<void> BrokerWatch::compare_replicas() {
  std::map<std::pair<Uuid, PartitionIndex>, Replica> first_of;
  for (const auto& broker : cluster_.brokers()) {
    for (const auto& partition : broker->broker().partitions().all()) {
      const PartitionIdentity identity = partition->identity();
      std::optional<Replica> replica = co_await read(partition, broker->id());
      if (!replica) continue;
      const auto [known, first] = first_of.try_emplace({identity.topic_id, identity.index}, std::move(*replica));
      if (!first) compare(identity.to_string(), known->second, *replica);
    }
  }
}

Task<std::optional<BrokerWatch::Replica>> BrokerWatch::read(std::shared_ptr<Partition> partition, BrokerId broker) {
  auto read = co_await partition->with_log([broker](const LogAccess& access) -> Result<Replica> {
    Replica replica{.broker = broker, .start = access.log.start_offset(), .end = access.high_watermark, .records = {}};
    NARU_TRY(read_stored_records(access.log, replica.start, replica.end,
                                 [&replica](const BatchHeader& batch, const RecordView& record) {
                                   replica.records.emplace(record.offset, hash_of(record, batch.leader_epoch));
                                   return Status();
                                 }));
    return replica;
  });
  if (read) co_return std::move(*read);
  // A disk that destroyed what it had promised may leave a log that is not served.
  if (read.error() != ErrorCode::log_offline) {
    violated(fmt::format("{} on broker {}: {}", partition->identity().to_string(), broker, read.error().to_string()));
  }
  co_return std::nullopt;
}

// Compaction and retention are each replica's own, so one may have what another has not; but never something else.
void BrokerWatch::compare(const std::string& name, const Replica& one, const Replica& other) {
  const Offset end = std::min(one.end, other.end);
  for (const auto& [offset, hash] : one.records) {
    if (offset >= end) break;
    const auto same = other.records.find(offset);
    if (same == other.records.end() || same->second == hash) continue;
    return violated(
        fmt::format("{} at {}: brokers {} and {} have different records", name, offset, one.broker, other.broker));
  }
}

}  // namespace naru::simulation
