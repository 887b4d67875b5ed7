// For tests: three replicas of one partition, each on a disk of its own, whose fetches and syncs happen when the test
// says so.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "log_storage/partition_folder.h"
#include "platform/simulated/simulated_world.h"
#include "record_format/batch_builder.h"
#include "replication/partition_following.h"
#include "replication/partition_maintenance.h"
#include "replication/partition_testing.h"

namespace naru {

inline constexpr Uuid kReplicatedTopic{5, 6};
class ProposalsSent final : public IsrProposals {
 public:
  void propose(std::shared_ptr<Partition>, IsrProposal proposal) override { sent.push_back(std::move(proposal)); }
  std::vector<IsrProposal> sent;
};

class ReplicaSet {
 public:
  struct Replica {
    explicit Replica(SimulatedNode& machine) : node(machine), process(machine.start()) {}
    SimulatedNode& node;
    std::unique_ptr<SimulatedProcess> process;
    std::deque<OpenFiles> open_files;  // one for each life, as the next
    std::deque<ManualDurability> durabilities;
    ManualDurability& durability() { return durabilities.back(); }
    std::shared_ptr<Partition> partition;
    int64_t broker_epoch = 100;
    int64_t question = 0;  // of the leader, in its last answer
    MonotonicTime followed_at = MonotonicTime::max();
    BrokerId id;
  };

  ReplicaSet() {
    for (int32_t id = 1; id <= 3; ++id) {
      auto& replica = replicas.emplace_back(world.add_node(fmt::format("broker{}", id)));
      replica.id = BrokerId(id);
    }
  }
  void open(const ConfigOverrides& overrides = {}) {
    config = resolve_topic_config(*make_broker_config({}), overrides);
    for (Replica& replica : replicas) open(replica);
    lead(1);
  }
  void open(Replica& replica) {
    SimulatedFileSystem& disk = replica.node.disk();
    if (!*disk.exists("/t-0")) {
      ASSERT_TRUE(disk.create_directories("/t-0").ok());
      ASSERT_TRUE(fill_new_partition_folder(disk, "/t-0", kReplicatedTopic).ok());
      ASSERT_TRUE(disk.sync_directory("/").ok());
    }
    auto opened = PartitionLog::open(disk, replica.open_files.emplace_back(disk, 4), "/t-0", log_config_of(config),
                                     {.topic_id = kReplicatedTopic});
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    const Seams seams = replica.process->seams();
    replica.partition = std::make_shared<Partition>(
        PartitionIdentity{"t", kReplicatedTopic, PartitionIndex(0)}, std::move(opened->log), replica.id, config,
        PartitionServices{seams.clock, seams.scheduler, replica.durabilities.emplace_back(), unsynced_logs, &proposals,
                          30s, &contact});
  }
  // Power is cut, and it comes back; whether it hears of its assignment is up to the test.
  void cut_power(Replica& replica, Unsynced unsynced) {
    replica.node.disk().crash(unsynced);
    ++replica.broker_epoch;
    replica.partition = nullptr;
    open(replica);
  }
  Replica& at(int32_t id) { return replicas[static_cast<size_t>(id) - 1]; }

  void assign(int32_t leader, std::vector<int32_t> isr, bool new_epoch) {
    if (new_epoch) ++leader_epoch;
    assignment = {.leader = BrokerId(leader),
                  .leader_epoch = LeaderEpoch(leader_epoch),
                  .partition_epoch = ++partition_epoch,
                  .replicas = {BrokerId(1), BrokerId(2), BrokerId(3)},
                  .isr = {}};
    for (const int32_t id : isr) assignment.isr.emplace_back(id);
    for (Replica& replica : replicas) replica.partition->assign(assignment);
  }
  void lead(int32_t leader, std::vector<int32_t> isr = {1, 2, 3}) { assign(leader, std::move(isr), true); }

  struct Answer {
    std::shared_ptr<AppendGroup> group = std::make_shared<AppendGroup>(1);
    bool there() const { return group->finished(); }
    Status status() const { return group->result(0).status; }
  };
  Answer send(int32_t leader, int32_t sequence, Acks acks = Acks::all_in_sync) {
    BatchBuilder builder({.producer_id = ProducerId(7), .producer_epoch = ProducerEpoch(0), .base_sequence = sequence});
    for (int i = 0; i < 2; ++i) builder.add(1000 + i, std::nullopt, fmt::format("v{}", sequence + i));
    return send(leader, builder.build().value(), acks);
  }
  Answer send(int32_t leader, Bytes built, Acks acks) {
    SharedBytes batch(std::move(built));
    auto validated = validate_produced_batch(batch.view(), {}, 1000);
    Answer answer;
    at(leader).partition->append({std::move(batch), std::move(*validated), acks}, answer.group, 0);
    return answer;
  }
  void sync(int32_t id) { at(id).durability().sync(); }

  // One fetch, there and back.
  FollowerStep fetch(int32_t follower_id, uint32_t max_bytes = 1 << 20, bool damage = false) {
    FollowerStep step;
    const auto exchange = [&]() -> Task<void> {
      Replica& follower = at(follower_id);
      const FollowerPosition position = co_await follower.partition->follower_position();
      if (!position.status.ok()) co_return;
      Replica& leader = at(position.leader.value());
      const PartitionView view =
          co_await leader.partition->read_as_follower({.replica = follower.id,
                                                       .broker_epoch = follower.broker_epoch,
                                                       .followed_at = follower.followed_at,
                                                       .from = position.offset,
                                                       .last_fetched_epoch = position.last_fetched_epoch,
                                                       .flushed_end = position.flushed_end,
                                                       .log_start = position.log_start,
                                                       .current_leader_epoch = position.leader_epoch,
                                                       .answered_question = std::exchange(follower.question, 0),
                                                       .max_bytes = max_bytes,
                                                       .at_least_one_batch = true});
      follower.question = view.question;
      Bytes bytes(view.slice.bytes);
      if (!view.slice.empty()) EXPECT_TRUE(view.slice.file->read_at(view.slice.position, bytes).has_value());
      if (damage) bytes[bytes.size() - 2] ^= std::byte{1};
      const LeaderAnswer answer{.leader = position.leader,
                                .leader_epoch = position.leader_epoch,
                                .fetch_offset = position.offset,
                                .last_fetched_epoch = position.last_fetched_epoch,
                                .error = view.status.code(),
                                .high_watermark = view.high_watermark,
                                .log_start = view.log_start_offset,
                                .diverging = view.diverging,
                                .tombstones = view.tombstones};
      step = co_await follow_leader(follower.partition, follower.process->seams().scheduler, answer,
                                    SharedBytes(std::move(bytes)));
    };
    world.run_task(exchange());
    return step;
  }
  void fetch_and_sync(int32_t follower) {
    fetch(follower);
    sync(follower);
    fetch(follower);
  }
  void erase(int32_t leader, int64_t up_to) {
    const auto task = [&]() -> Task<void> {
      Replica& replica = at(leader);
      const auto start = co_await delete_records(replica.partition, replica.process->seams().scheduler, Offset(up_to));
      EXPECT_TRUE(start.has_value()) << start.error().to_string();
    };
    world.run_task(task());
  }
  PartitionView read(int32_t id, int64_t from, bool leader_only = false) {
    PartitionView view;
    const auto task = [&]() -> Task<void> {
      view = co_await at(id).partition->read(
          {.from = Offset(from), .max_bytes = 1 << 20, .at_least_one_batch = true, .leader_only = leader_only});
    };
    world.run_task(task());
    return view;
  }
  Offset high_watermark(int32_t id) { return read(id, at(id).partition->log().start_offset().value()).high_watermark; }
  Bytes content(int32_t id) { return at(id).node.disk().content("/t-0/" + segment_file_name(Offset(0), ".log")); }

  SimulatedWorld world{1};
  std::deque<Replica> replicas;
  MetricsRegistry metrics;
  UnsyncedLogs unsynced_logs{{.sync_beyond = 100, .full = 200}, metrics};
  ProposalsSent proposals;
  ClusterContact contact{20s, world.now()};
  TopicConfig config;
  PartitionAssignment assignment;
  int32_t leader_epoch = 0;
  int32_t partition_epoch = 0;
};

}  // namespace naru
