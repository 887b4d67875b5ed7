#include "simulation/coordinator_watch.h"

#include <utility>

#include <fmt/core.h>

#include "broker/group_coordinators.h"
#include "broker/transaction_coordinators.h"
#include "consumer_groups/group_coordinator.h"
#include "coordinator_runtime/shard_loader.h"
#include "simulation/stored_records.h"
#include "transactions/transaction_coordinator.h"

namespace naru::simulation {
namespace {

std::string to_string(const GroupCoordinator& groups) {
  std::string text = groups.durable_state().to_string();
  for (const auto& [id, group] : groups.durable_consumer_groups())
    text += fmt::format("{}: {}\n", id, group.to_string());
  return text;
}

bool are_equal(const GroupCoordinator& one, const GroupCoordinator& other) {
  return one.durable_state() == other.durable_state() &&
         one.durable_consumer_groups() == other.durable_consumer_groups();
}

// Whatever a coordinator wants to append is judged as here. At once, as long as nobody is inside the partition's
// strand.
bool may_write(Partition& partition, LeaderEpoch epoch) {
  const auto may = std::make_shared<bool>(false);
  partition.confirm_leadership(epoch, [may](const Status& refused) { *may = refused.ok(); });
  return *may;
}

// Whoever only applies a log orders no markers.
class NoMarkers final : public MarkerSink {
 public:
  void send(const MarkersWanted&) override {}
};

}  // namespace

std::unique_ptr<StateShard> CoordinatorWatch::make(Kind kind) {
  static NoMarkers no_markers;
  if (kind == Kind::groups) return std::make_unique<GroupCoordinator>(GroupSettings{});
  return std::make_unique<TransactionCoordinator>(TransactionSettings{}, no_markers);
}

std::string CoordinatorWatch::difference(Kind kind, const StateShard& live, const StateShard& replayed) {
  const auto texts = [](const std::string& one, const std::string& other) {
    return fmt::format("live:\n{}log:\n{}", one, other);
  };
  if (kind == Kind::groups) {
    const auto& one = static_cast<const GroupCoordinator&>(live);
    const auto& other = static_cast<const GroupCoordinator&>(replayed);
    return are_equal(one, other) ? std::string() : texts(to_string(one), to_string(other));
  }
  const auto& one = static_cast<const TransactionCoordinator&>(live).durable_state();
  const auto& other = static_cast<const TransactionCoordinator&>(replayed).durable_state();
  return one == other ? std::string() : texts(naru::to_string(one), naru::to_string(other));
}

Task<void> CoordinatorWatch::look() {
  for (const auto& broker : cluster_.brokers()) {
    if (!broker->running()) continue;
    look_for_outdated(*broker);
    // It may end while this waits.
    const auto groups = broker->broker().groups().shards();
    const auto transactions = broker->broker().transactions().shards();
    for (const auto& shard : groups) co_await look_at(shard, Kind::groups, broker->id());
    for (const auto& shard : transactions) co_await look_at(shard, Kind::transactions, broker->id());
  }
}

Task<void> CoordinatorWatch::look_anew() {
  replays_.clear();
  return look();
}

// Nothing here waits, as long as nobody is inside the two strands: so log and state are those of one moment.
Task<void> CoordinatorWatch::look_at(std::shared_ptr<CoordinatorShard> shard, Kind kind, BrokerId broker) {
  const auto& partition = shard->partition();
  const PartitionView view = co_await partition->look(shard->leader_epoch());
  if (!view.status.ok()) co_return;  // replaced, and has not been told
  const Name name{broker, kind, partition->identity().index};
  Replay& replay = replay_of(shard, name, view.log_start_offset);
  const auto read = co_await partition->with_log([&replay](const LogAccess& access) -> Result<Offset> {
    const Offset end = access.log.end_offset();
    NARU_TRY(read_stored_batches(access.log, replay.end, end, [&replay](const BatchHeader&, BytesView batch) {
      return apply_batch(batch, *replay.state);
    }));
    return end;
  });
  if (!read) {
    // A disk that fails. Half of what was to be read may be applied.
    replays_.erase(name);
    co_return;
  }
  replay.end = *read;
  const bool read_at_once = replay.reads++ == 0;
  std::string difference = compare(shard, kind, replay);
  if (difference.empty() || violation_) co_return;
  replays_.erase(name);
  if (!read_at_once) {
    // A tombstone may have come and gone since the last look, as a step of the clock ages it by a day. What counts is
    // what a coordinator would load now.
    co_return co_await look_at(shard, kind, broker);
  }
  violation_ =
      fmt::format("{} on broker {} in epoch {}: its coordinator holds something else than its log says up to {}\n{}",
                  shard->partition()->identity().to_string(), broker, shard->leader_epoch(), *read, difference);
}

void CoordinatorWatch::look_for_outdated(SimulatedBroker& broker) {
  if (!broker.running()) return;
  for (const auto& shard : broker.broker().groups().shards()) look_for_outdated(shard, broker.id());
  for (const auto& shard : broker.broker().transactions().shards()) look_for_outdated(shard, broker.id());
}

void CoordinatorWatch::look_for_outdated(const std::shared_ptr<CoordinatorShard>& shard, BrokerId broker) {
  const PartitionIdentity& identity = shard->partition()->identity();
  const TopicMetadata* topic = store_.image().find_topic(identity.topic_id);
  const PartitionState* state = topic == nullptr ? nullptr : topic->partition(identity.index);
  if (state == nullptr || state->leader_epoch <= shard->leader_epoch()) return;
  if (!may_write(*shard->partition(), state->leader_epoch)) return;  // it does not lead, or does not know yet
  if (!may_write(*shard->partition(), shard->leader_epoch()) || violation_) return;
  violation_ = fmt::format("{} on broker {}: its coordinator was loaded in epoch {}, and may write in epoch {}",
                           identity.to_string(), broker, shard->leader_epoch(), state->leader_epoch);
}

CoordinatorWatch::Replay& CoordinatorWatch::replay_of(const std::shared_ptr<CoordinatorShard>& shard, const Name& name,
                                                      Offset log_start) {
  auto& replay = replays_[name];
  if (!replay || replay->shard.lock() != shard) {
    replay = std::make_unique<Replay>(shard, make(std::get<Kind>(name)), log_start);
  }
  return *replay;
}

// The answer to somebody who only looks leaves at once if nothing of the shard is on its way to the log.
std::string CoordinatorWatch::compare(const std::shared_ptr<CoordinatorShard>& shard, Kind kind, const Replay& replay) {
  struct Seen {
    bool is_at_rest = false;
    std::string difference;
  };
  const auto seen = std::make_shared<Seen>();
  shard->run({.run =
                  [&replay, kind, seen](StateShard& state, const CoordinatorTime&, CoordinatorOutcome& outcome) {
                    seen->difference = difference(kind, state, *replay.state);
                    outcome.replies.push_back([seen](const Status& status) { seen->is_at_rest = status.ok(); });
                  },
              .refuse = [](const Status&) {},
              .is_news = true});
  if (!seen->is_at_rest) return "";
  ++compared_;
  return std::move(seen->difference);
}

}  // namespace naru::simulation
