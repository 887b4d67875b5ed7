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
  look_for_settled();
  for (const auto& broker : cluster_.brokers()) {
    if (const Broker* starting = broker->starting()) co_await look_at_start(starting->partitions().all(), broker->id());
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

// A session that ends later, while the broker still starts, changes nothing: roles stay what they are.
void BrokerWatch::look_for_settled() {
  for (const auto& broker : cluster_.brokers()) {
    if (broker->starting() == nullptr) {
      settled_starts_.erase(broker->id());
    } else if (atlas_.is_settled(broker->id())) {
      settled_starts_.insert(broker->id());
    }
  }
}

Task<void> BrokerWatch::look_at_start(std::vector<std::shared_ptr<Partition>> partitions, BrokerId broker) {
  for (const auto& partition : partitions) {
    if (settled_starts_.contains(broker)) co_return;
    const bool leads = (co_await partition->look(kNoLeaderEpoch)).status.ok();
    const bool follows = (co_await partition->follower_position()).status.ok();
    if ((!leads && !follows) || settled_starts_.contains(broker)) continue;
    violated(fmt::format("{}: broker {} {} before the controller has acted on its return",
                         partition->identity().to_string(), broker, leads ? "leads" : "follows"));
  }
}

void BrokerWatch::look_at_files(SimulatedBroker& broker, size_t partitions) {
  const uint64_t open = broker.node().disk().open_files();
  const uint64_t most = kFilesOfABroker + kFilesOfAPartition * partitions;
  if (open > most)
    violated(fmt::format("broker {} has {} open files with {} partitions", broker.id(), open, partitions));
}

const PartitionState* BrokerWatch::state_of(const PartitionIdentity& identity) const {
  const TopicMetadata* topic = store_.image().find_topic(identity.topic_id);
  return topic == nullptr ? nullptr : topic->partition(identity.index);
}

Task<void> BrokerWatch::look_at(std::shared_ptr<Partition> partition, BrokerId broker) {
  const PartitionIdentity& identity = partition->identity();
  const PartitionState* state = state_of(identity);
  const PartitionView view = co_await partition->look(kNoLeaderEpoch);
  if (view.status.ok()) {
    look_at_leader(identity, view, state, broker);
    co_await look_at_epochs(partition, view.leader_epoch);
    co_await look_at_joined(partition, view.leader_epoch);
    co_await look_at_electable(partition, broker);
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
  is_final(identity, view.high_watermark);
  if (state == nullptr || state->leader_epoch != view.leader_epoch || !view.high_watermark_known) return;
  if (view.high_watermark < final_end(identity)) {
    violated(fmt::format("{}: what is below {} is final, and leader {} of epoch {} knows of what is below {}",
                         identity.to_string(), final_end(identity), broker, view.leader_epoch, view.high_watermark));
  }
  const Offset promised = history_.promised_end({identity.topic, identity.index});
  if (view.high_watermark < promised) {
    violated(fmt::format("{}: records below {} are acknowledged, and leader {} of epoch {} knows of those below {}",
                         identity.to_string(), promised, broker, view.leader_epoch, view.high_watermark));
  }
}

void BrokerWatch::is_final(const PartitionIdentity& identity, Offset end) {
  Offset& known = final_ends_[{identity.topic_id, identity.index}];
  known = std::max(known, end);
}

Offset BrokerWatch::final_end(const PartitionIdentity& identity) const {
  const auto known = final_ends_.find({identity.topic_id, identity.index});
  return known == final_ends_.end() ? Offset(0) : known->second;
}

// Where the epochs before this one end is what OffsetForLeaderEpoch tells clients, who keep what lies below.
Task<void> BrokerWatch::look_at_epochs(std::shared_ptr<Partition> partition, LeaderEpoch epoch) {
  if (epoch <= LeaderEpoch(0)) co_return;
  const auto told = co_await partition->end_of_epoch(epoch, epoch - 1);
  if (told && told->epoch != kNoLeaderEpoch) is_final(partition->identity(), told->end_offset);
}

Task<void> BrokerWatch::look_at_joined(std::shared_ptr<Partition> partition, LeaderEpoch epoch) {
  const PartitionIdentity& identity = partition->identity();
  const auto leader = leaders_.find({identity.topic_id, identity.index, epoch});
  if (leader == leaders_.end()) co_return;
  if (!leader->second.epoch_start) {
    const auto begun = co_await partition->with_log([epoch](const LogAccess& access) -> Result<Offset> {
      const auto& starts = access.log.epochs().starts();
      const bool has_written = !starts.empty() && starts.back().epoch == epoch;
      return has_written ? starts.back().start_offset : access.log.end_offset();
    });
    if (!begun) co_return;
    leader->second.epoch_start = *begun;
  }
  for (const BrokerId id : store_.joined_under(identity.topic_id, identity.index, epoch)) {
    const auto broker = std::ranges::find(cluster_.brokers(), id, [](const auto& one) { return one->id(); });
    if (broker == cluster_.brokers().end() || !(*broker)->running() || !atlas_.is_settled(id)) continue;
    const auto hosted = (*broker)->broker().partitions().find(identity.topic_id, identity.index).partition;
    if (!hosted) continue;
    const FollowerPosition position = co_await hosted->follower_position();
    const PartitionState* state = state_of(identity);
    if (state == nullptr || state->leader_epoch != epoch || !atlas_.is_settled(id)) continue;
    const bool is_member = std::ranges::find(state->isr, id) != state->isr.end();
    const Offset has = position.flush_counts ? position.flushed_end : position.offset;
    if (!is_member || !position.status.ok() || has >= *leader->second.epoch_start) continue;
    violated(
        fmt::format("{}: the leader of epoch {} began at {}, and broker {} has come into the in-sync set with {} "
                    "what is below {}",
                    identity.to_string(), epoch, *leader->second.epoch_start, id,
                    position.flush_counts ? "synced" : "stored", has));
  }
}

// Nobody but the leader proposes that a set grows, so it knows of everybody who may be in it.
Task<void> BrokerWatch::look_at_electable(std::shared_ptr<Partition> partition, BrokerId broker) {
  const std::vector<BrokerId> reckoned_with = co_await partition->may_be_elected();
  const PartitionView view = co_await partition->look(kNoLeaderEpoch);
  const PartitionState* state = state_of(partition->identity());
  if (!view.status.ok() || state == nullptr || state->leader_epoch != view.leader_epoch) co_return;
  for (const BrokerId member : state->isr) {
    if (member == broker || std::ranges::find(reckoned_with, member) != reckoned_with.end()) continue;
    violated(fmt::format("{}: broker {} is in sync and may be elected, and leader {} of epoch {} does not know",
                         partition->identity().to_string(), member, broker, view.leader_epoch));
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
  if (has < final_end(identity)) {
    violated(fmt::format("{}: what is below {} is final, and broker {}, which is in sync, has {} what is below {}",
                         identity.to_string(), final_end(identity), broker, position.flush_counts ? "synced" : "stored",
                         has));
  }
  if (has >= promised) return;
  violated(fmt::format("{}: records below {} are acknowledged, and broker {}, which is in sync, has {} those below {}",
                       identity.to_string(), promised, broker, position.flush_counts ? "synced" : "stored", has));
}

Task<void> BrokerWatch::look_at_compaction() {
  for (const auto& broker : cluster_.brokers()) {
    if (!broker->running()) continue;
    for (const auto& partition : broker->broker().partitions().all()) {
      struct Ends {
        Offset compacted, synced;
      };
      const auto ends = co_await partition->with_log([](const LogAccess& access) -> Result<Ends> {
        return Ends{access.log.compaction_progress().first_dirty, access.log.synced_end()};
      });
      if (!ends || ends->compacted <= ends->synced) continue;
      violated(fmt::format("{} on broker {}: compacted up to {}, and synced up to {}",
                           partition->identity().to_string(), broker->id(), ends->compacted, ends->synced));
    }
  }
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
