// Three replicas of one partition, each on a disk of its own, whose fetches and syncs happen when the test says so.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "log_storage/partition_folder.h"
#include "platform/simulated/simulated_world.h"
#include "record_format/batch_builder.h"
#include "replication/partition_following.h"
#include "replication/partition_maintenance.h"
#include "replication/partition_testing.h"

namespace naru {
namespace {

constexpr Uuid kReplicatedTopic{5, 6};
using Action = FollowerDecision::Action;

class ProposalsSent final : public IsrProposals {
 public:
  void propose(std::shared_ptr<Partition>, IsrProposal proposal) override { sent.push_back(std::move(proposal)); }
  std::vector<IsrProposal> sent;
};

class ReplicatedPartition : public testing::Test {
 protected:
  struct Replica {
    explicit Replica(SimulatedNode& machine) : node(machine), process(machine.start()) {}
    SimulatedNode& node;
    std::unique_ptr<SimulatedProcess> process;
    std::deque<OpenFiles> open_files;  // one for each life
    ManualDurability durability;
    std::shared_ptr<Partition> partition;
    int64_t broker_epoch = 100;
    BrokerId id;
  };

  ReplicatedPartition() {
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
        PartitionServices{seams.clock, seams.scheduler, replica.durability, unsynced_logs, &proposals});
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
    SharedBytes batch(builder.build().value());
    auto validated = validate_produced_batch(batch.view(), {}, 1000);
    Answer answer;
    at(leader).partition->append({std::move(batch), std::move(*validated), acks}, answer.group, 0);
    return answer;
  }
  void sync(int32_t id) { at(id).durability.sync(); }

  // One fetch, there and back.
  FollowerStep fetch(int32_t follower_id, uint32_t max_bytes = 1 << 20, bool damage = false) {
    FollowerStep step;
    const auto exchange = [&]() -> Task<void> {
      Replica& follower = at(follower_id);
      const FollowerPosition position = co_await follower.partition->follower_position();
      EXPECT_TRUE(position.status.ok());
      Replica& leader = at(position.leader.value());
      const PartitionView view =
          co_await leader.partition->read_as_follower({.replica = follower.id,
                                                       .broker_epoch = follower.broker_epoch,
                                                       .from = position.offset,
                                                       .last_fetched_epoch = position.last_fetched_epoch,
                                                       .flushed_end = position.flushed_end,
                                                       .current_leader_epoch = position.leader_epoch,
                                                       .max_bytes = max_bytes,
                                                       .at_least_one_batch = true});
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
                                .diverging = view.diverging};
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
  TopicConfig config;
  PartitionAssignment assignment;
  int32_t leader_epoch = 0;
  int32_t partition_epoch = 0;
};

TEST_F(ReplicatedPartition, AcksAllWaitsUntilEveryInSyncReplicaHasSyncedAndAllHoldTheSameBytes) {
  open();
  const Answer answer = send(1, 0);
  sync(1);
  for (const int32_t id : {2, 3}) {
    EXPECT_EQ(fetch(id).action, Action::append);
    fetch(id);
    EXPECT_FALSE(answer.there()) << id << " has it, but not on stable storage";
    sync(id);
    EXPECT_FALSE(answer.there()) << "the leader has not heard of it";
    fetch(id);
  }
  ASSERT_TRUE(answer.there());
  EXPECT_TRUE(answer.status().ok());
  EXPECT_EQ(content(1), content(2));
  EXPECT_EQ(content(1), content(3));
  EXPECT_EQ(at(2).partition->log().latest_epoch(), LeaderEpoch(1));
}

TEST_F(ReplicatedPartition, TheLooseRuleWaitsForNoSync) {
  open({{"flush.messages", "1000000"}});
  const Answer answer = send(1, 0);
  for (const int32_t id : {2, 3}) {
    fetch(id);
    fetch(id);
  }
  ASSERT_TRUE(answer.there());
  EXPECT_EQ(at(1).durability.asked + at(2).durability.asked + at(3).durability.asked, 0);
}

TEST_F(ReplicatedPartition, AReaderAtAFollowerSeesOnlyWhatItKnowsToBeCommitted) {
  open();
  send(1, 0);
  sync(1);
  fetch(2);
  EXPECT_TRUE(read(2, 0).slice.empty());
  EXPECT_EQ(read(2, 5).status, ErrorCode::offset_not_available) << "it may be behind";
  EXPECT_EQ(read(2, 0, true).status, ErrorCode::not_leader_or_follower);
  fetch_and_sync(2);
  fetch_and_sync(3);
  EXPECT_TRUE(read(2, 0).slice.empty()) << "the leader knows, 2 does not";
  fetch(2);
  EXPECT_EQ(read(2, 0).slice.next_offset, Offset(2));
}

TEST_F(ReplicatedPartition, AnOldLeaderCutsAwayWhatNobodyFetched) {
  open();
  send(1, 0);
  sync(1);
  for (const int32_t id : {2, 3}) fetch_and_sync(id);
  const Answer lost = send(1, 2);
  sync(1);
  lead(2);
  ASSERT_TRUE(lost.there());
  EXPECT_EQ(lost.status(), ErrorCode::not_leader_or_follower);
  EXPECT_EQ(send(1, 2).status(), ErrorCode::not_leader_or_follower);

  const Answer kept = send(2, 2);
  sync(2);
  EXPECT_EQ(fetch(1).action, Action::truncate);
  EXPECT_EQ(at(1).partition->log().end_offset(), Offset(2));
  for (const int32_t id : {1, 3}) fetch_and_sync(id);
  ASSERT_TRUE(kept.there());
  EXPECT_TRUE(kept.status().ok());
  EXPECT_EQ(content(1), content(2));
  EXPECT_EQ(content(1), content(3));
}

TEST_F(ReplicatedPartition, ANewLeaderKnowsWhatIsCommittedWhenItsFollowersHaveSaidSo) {
  open();
  send(1, 0);
  sync(1);
  for (const int32_t id : {2, 3}) fetch_and_sync(id);
  EXPECT_EQ(high_watermark(1), Offset(2));
  lead(2);
  PartitionView view = read(2, 0);
  EXPECT_FALSE(view.high_watermark_known) << "2 may have been told less than 1 has promised";
  EXPECT_TRUE(read(2, 2).status.ok()) << "a consumer that was further is not out of range";
  const auto known = std::make_shared<Wakeup>();
  at(2).partition->wake_when_known(known);
  fetch(1);
  EXPECT_FALSE(known->event().is_set());
  fetch(3);
  EXPECT_TRUE(known->event().is_set());
  EXPECT_TRUE(read(2, 0).high_watermark_known);
  EXPECT_EQ(high_watermark(2), Offset(2));
}

TEST_F(ReplicatedPartition, ProducersAreKnownToTheNextLeader) {
  open();
  send(1, 0);
  sync(1);
  for (const int32_t id : {2, 3}) fetch_and_sync(id);
  lead(3);
  for (const int32_t id : {1, 2}) fetch(id);
  const Answer repeat = send(3, 0);
  ASSERT_TRUE(repeat.there());
  EXPECT_TRUE(repeat.status().ok());
  EXPECT_EQ(repeat.group->result(0).base_offset, Offset(0));
  EXPECT_EQ(send(3, 8).status(), ErrorCode::out_of_order_sequence_number);
}

TEST_F(ReplicatedPartition, TheInSyncSetGrowsAndShrinksThroughTheController) {
  open({{"min.insync.replicas", "2"}});
  assign(1, {1}, false);
  EXPECT_EQ(send(1, 0).status(), ErrorCode::not_enough_replicas);
  EXPECT_TRUE(at(1).partition->under_min_isr());
  fetch(2);
  ASSERT_EQ(proposals.sent.size(), 1u);
  EXPECT_EQ(proposals.sent[0].isr, (std::vector<IsrProposal::Member>{{BrokerId(1), -1}, {BrokerId(2), 100}}));
  at(1).partition->proposal_answered(
      proposals.sent[0],
      {.verdict = IsrAnswer::Verdict::committed, .partition_epoch = 50, .isr = {BrokerId(1), BrokerId(2)}});
  EXPECT_EQ(at(1).partition->isr_size(), 2);
  EXPECT_TRUE(at(1).partition->under_replicated());
  EXPECT_FALSE(at(1).partition->under_min_isr());

  const Answer answer = send(1, 0);
  sync(1);
  world.run_for(40s);
  at(1).partition->check_followers();
  ASSERT_EQ(proposals.sent.size(), 2u);
  EXPECT_EQ(proposals.sent[1].isr, (std::vector<IsrProposal::Member>{{BrokerId(1), -1}}));
  EXPECT_EQ(proposals.sent[1].partition_epoch, 50);
  EXPECT_FALSE(answer.there()) << "until the controller agrees, 2 may still be elected";
  at(1).partition->proposal_answered(
      proposals.sent[1], {.verdict = IsrAnswer::Verdict::committed, .partition_epoch = 51, .isr = {BrokerId(1)}});
  ASSERT_TRUE(answer.there());
  EXPECT_EQ(answer.status(), ErrorCode::not_enough_replicas_after_append);
}

TEST_F(ReplicatedPartition, ADamagedBatchIsNotStored) {
  open();
  send(1, 0);
  send(1, 2);
  sync(1);
  const FollowerStep step = fetch(2, 1 << 20, true);
  EXPECT_EQ(step.action, Action::wait);
  EXPECT_EQ(step.problem, ErrorCode::corrupt_message);
  EXPECT_EQ(at(2).partition->log().end_offset(), Offset(0)) << "not the whole batch before it, either";
  EXPECT_EQ(fetch(2).action, Action::append);
  EXPECT_EQ(at(2).partition->log().end_offset(), Offset(4));
}

TEST_F(ReplicatedPartition, OldAssignmentsChangeNothing) {
  open();
  const PartitionAssignment old = assignment;
  lead(2);
  at(1).partition->assign(old);
  EXPECT_FALSE(at(1).partition->is_leader());
  EXPECT_TRUE(at(2).partition->is_leader());
  assignment.leader = kNoBroker;
  assignment.leader_epoch = LeaderEpoch(++leader_epoch);
  at(2).partition->assign(assignment);
  EXPECT_EQ(send(2, 0).status(), ErrorCode::not_leader_or_follower);
  EXPECT_EQ(read(2, 0).status, ErrorCode::not_leader_or_follower);
}

TEST_F(ReplicatedPartition, TheStartOfTheLogFollowsTheLeaders) {
  open();
  for (int i = 0; i < 4; ++i) send(1, 2 * i);
  sync(1);
  for (const int32_t id : {2, 3}) fetch_and_sync(id);
  const auto erase = [this]() -> Task<void> {
    const auto start = co_await delete_records(at(1).partition, at(1).process->seams().scheduler, Offset(5));
    EXPECT_TRUE(start.has_value()) << start.error().to_string();
  };
  world.run_task(erase());
  fetch(2);
  EXPECT_EQ(at(2).partition->log().start_offset(), Offset(5));
  EXPECT_EQ(at(2).partition->log().end_offset(), Offset(8));
}

// Replica 3 was away for long: the leader holds nothing any more of where it is.
TEST_F(ReplicatedPartition, AFollowerWhoseRecordsTheLeaderHasDeletedBeginsAnewAtTheLeadersStart) {
  open({{"segment.bytes", "200"}});
  send(1, 0);
  sync(1);
  for (const int32_t id : {2, 3}) fetch_and_sync(id);
  assign(1, {1, 2}, false);
  for (int i = 1; i < 8; ++i) {
    send(1, 2 * i);
    sync(1);
    fetch_and_sync(2);
    // It was not behind at first, and so may come back; it has gone.
    if (i == 1) at(1).partition->proposal_answered(proposals.sent.at(0), {.verdict = IsrAnswer::Verdict::refused});
  }
  const auto erase = [this]() -> Task<void> {
    const auto start = co_await delete_records(at(1).partition, at(1).process->seams().scheduler, Offset(12));
    EXPECT_TRUE(start.has_value()) << start.error().to_string();
  };
  world.run_task(erase());
  EXPECT_EQ(fetch(3).action, Action::restart);
  EXPECT_EQ(at(3).partition->log().start_offset(), Offset(12));
  EXPECT_EQ(at(3).partition->log().end_offset(), Offset(12));
  while (at(3).partition->log().end_offset() < Offset(16)) ASSERT_EQ(fetch(3).action, Action::append);
  sync(3);
  // The same after a power cut.
  at(3).node.disk().crash(Unsynced::lost);
  at(3).partition = nullptr;
  open(at(3));
  EXPECT_EQ(at(3).partition->log().start_offset(), Offset(12));
  EXPECT_EQ(at(3).partition->log().end_offset(), Offset(16));
}

}  // namespace
}  // namespace naru
