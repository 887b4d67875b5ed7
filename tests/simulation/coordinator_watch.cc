#include "simulation/coordinator_watch.h"

#include <utility>

#include <fmt/core.h>

#include "broker/group_coordinators.h"
#include "simulation/stored_records.h"

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

}  // namespace

Task<void> CoordinatorWatch::look() {
  for (const auto& broker : cluster_.brokers()) {
    if (!broker->running()) continue;
    for (const auto& shard : broker->broker().groups().shards()) co_await look_at(shard, broker->id());
  }
}

Task<void> CoordinatorWatch::look_anew() {
  replays_.clear();
  return look();
}

// Nothing here waits, as long as nobody is inside the two strands: so log and state are those of one moment.
Task<void> CoordinatorWatch::look_at(std::shared_ptr<CoordinatorShard> shard, BrokerId broker) {
  const auto& partition = shard->partition();
  const PartitionView view = co_await partition->look(shard->leader_epoch());
  if (!view.status.ok()) co_return;  // replaced, and has not been told
  Replay& replay = replay_of(shard, broker, view.log_start_offset);
  const auto read = co_await partition->with_log([&replay](const LogAccess& access) -> Result<Offset> {
    const Offset end = access.log.end_offset();
    NARU_TRY(read_stored_records(access.log, replay.end, end, [&replay](const BatchHeader&, const RecordView& record) {
      return replay.state.apply(record.key.value_or(BytesView()), record.value);
    }));
    return end;
  });
  if (!read) {
    // A disk that fails. Half of what was to be read may be applied.
    replays_.erase({broker, partition->identity().index});
    co_return;
  }
  replay.end = *read;
  compare(shard, replay, broker);
}

CoordinatorWatch::Replay& CoordinatorWatch::replay_of(const std::shared_ptr<CoordinatorShard>& shard, BrokerId broker,
                                                      Offset log_start) {
  auto& replay = replays_[{broker, shard->partition()->identity().index}];
  if (!replay || replay->shard.lock() != shard) replay = std::make_unique<Replay>(shard, log_start);
  return *replay;
}

// The answer to somebody who only looks leaves at once if nothing of the shard is on its way to the log.
void CoordinatorWatch::compare(const std::shared_ptr<CoordinatorShard>& shard, const Replay& replay, BrokerId broker) {
  struct Seen {
    bool is_at_rest = false;
    std::string difference;
  };
  const auto seen = std::make_shared<Seen>();
  shard->run({.run =
                  [&replay, seen](StateShard& state, const CoordinatorTime&, CoordinatorOutcome& outcome) {
                    const auto& live = static_cast<const GroupCoordinator&>(state);
                    if (!are_equal(live, replay.state)) {
                      seen->difference = fmt::format("live:\n{}log:\n{}", to_string(live), to_string(replay.state));
                    }
                    outcome.replies.push_back([seen](const Status& status) { seen->is_at_rest = status.ok(); });
                  },
              .refuse = [](const Status&) {},
              .is_news = true});
  if (!seen->is_at_rest) return;
  ++compared_;
  if (seen->difference.empty() || violation_) return;
  violation_ = fmt::format(
      "{} on broker {} in epoch {}: its coordinator holds something else than its log says up to {}\n{}",
      shard->partition()->identity().to_string(), broker, shard->leader_epoch(), replay.end, seen->difference);
}

}  // namespace naru::simulation
