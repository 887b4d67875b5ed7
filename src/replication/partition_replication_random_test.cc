// Three partitions with real logs on simulated disks: appends, fetches, elections that some hear of late, changes of
// the in-sync set, power cuts, deletions. Whatever was acknowledged with acks=all is in the log of every leader that is
// elected later unless it was deleted, no later leader tells an earlier start, and in the end all replicas are the
// same.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "foundation/log.h"
#include "foundation/sanitized_testing.h"
#include "record_format/record_reader.h"
#include "replication/replicated_partition_testing.h"

namespace naru {
namespace {

class RandomReplication : private ReplicaSet {
 public:
  explicit RandomReplication(uint64_t seed) : random_(seed) { open({{"segment.bytes", "400"}}); }

  void step() {
    contact.heard(world.now());
    const int32_t who = one_of_three();
    switch (below(13)) {
      case 0:
      case 1:
      case 2:
        return produce(who);
      case 3:
      case 4:
        return sync_if_asked(who);
      case 5:
      case 6:
      case 7:
        fetch(who, below(2) == 0 ? 1 : 1 << 20);
        return answer_proposals();
      case 8:
        for (Replica& replica : replicas) {
          if (below(3) != 0) replica.partition->assign(assignment);
        }
        return;
      case 9:
        world.run_for(std::chrono::seconds(below(20)));
        at(who).partition->check_followers();
        return answer_proposals();
      case 10:
        return below(8) == 0 ? elect() : void();
      case 11:
        return below(4) == 0 ? erase_some(who) : void();
      default:
        return below(8) == 0 ? lose_power(who) : void();
    }
  }

  // Everybody hears everything, and all is well again.
  void heal() {
    elect();
    for (int round = 0; round < 100; ++round) {
      for (int32_t id = 1; id <= 3; ++id) {
        at(id).partition->assign(assignment);
        sync_if_asked(id);
        fetch(id);
        answer_proposals();
      }
      world.run_for(2s);
    }
    note_acknowledged();
    look_at_starts();
    const auto leaders = values(assignment.leader.value());
    for (int32_t id = 1; id <= 3; ++id) {
      // Some may have followed a leader that had begun to delete and was replaced; then they begin later.
      const int64_t start = at(id).partition->log().start_offset().value();
      ASSERT_GE(Offset(start), told_starts_.rbegin()->second) << "replica " << id;
      const auto expected = std::map(leaders.lower_bound(start), leaders.end());
      ASSERT_EQ(values(id), expected) << "replica " << id;
    }
    ASSERT_EQ(high_watermark(assignment.leader.value()), at(assignment.leader.value()).partition->log().end_offset());
    ASSERT_EQ(assignment.isr.size(), 3u);
  }
  size_t acknowledged() const { return acknowledged_.size(); }
  void look_at_starts() {
    for (int32_t id = 1; id <= 3; ++id) {
      const PartitionView view = read(id, at(id).partition->log().start_offset().value(), true);
      if (!view.status.ok() || view.told_start_offset == kNoOffset) continue;
      for (const auto& [epoch, before] : told_starts_) {
        if (epoch <= view.leader_epoch) ASSERT_GE(view.told_start_offset, before) << "told in epoch " << epoch.value();
      }
      told_starts_[view.leader_epoch] = view.told_start_offset;
    }
  }

 private:
  uint64_t below(uint64_t n) { return random_() % n; }
  int32_t one_of_three() { return static_cast<int32_t>(1 + below(3)); }

  void produce(int32_t who) {
    BatchBuilder builder;
    const std::string value = std::to_string(next_value_++);
    builder.add(1000, std::nullopt, value);
    waiting_.emplace_back(value, send(who, builder.build().value(), Acks::all_in_sync));
    note_acknowledged();
  }
  void sync_if_asked(int32_t id) {
    if (at(id).durability().asked > 0) sync(id);
    note_acknowledged();
  }
  void note_acknowledged() {
    std::erase_if(waiting_, [this](const auto& entry) {
      if (!entry.second.there()) return false;
      const AppendResult result = entry.second.group->result(0);
      if (result.status.ok()) acknowledged_.emplace(result.base_offset.value(), entry.first);
      return true;
    });
  }

  void erase_some(int32_t who) {
    if (!at(who).partition->is_leader()) return;
    const auto most = static_cast<uint64_t>(high_watermark(who).value());
    erase(who, static_cast<int64_t>(below(most + 1)));
  }

  // The controller.
  void answer_proposals() {
    for (const IsrProposal& proposal : std::exchange(proposals.sent, {})) {
      IsrAnswer answer{.verdict = IsrAnswer::Verdict::overtaken};
      if (proposal.leader_epoch == assignment.leader_epoch && proposal.partition_epoch == assignment.partition_epoch) {
        answer.verdict = is_eligible(proposal) ? IsrAnswer::Verdict::committed : IsrAnswer::Verdict::refused;
      }
      if (answer.verdict == IsrAnswer::Verdict::committed) {
        assignment.isr.clear();
        for (const auto& member : proposal.isr) assignment.isr.push_back(member.id);
        answer.partition_epoch = assignment.partition_epoch = ++partition_epoch;
        answer.isr = assignment.isr;
      }
      if (below(4) == 0) answer = {};  // no answer
      for (Replica& replica : replicas) {
        if (replica.partition->is_leader()) replica.partition->proposal_answered(proposal, answer);
      }
    }
    note_acknowledged();
  }
  bool is_eligible(const IsrProposal& proposal) {
    return std::ranges::all_of(proposal.isr, [this](const IsrProposal::Member& member) {
      const bool joins = std::ranges::find(assignment.isr, member.id) == assignment.isr.end();
      return !joins || at(member.id.value()).broker_epoch == member.broker_epoch;
    });
  }
  void elect() {
    assignment.leader = assignment.isr[below(assignment.isr.size())];
    assignment.leader_epoch = LeaderEpoch(++leader_epoch);
    assignment.partition_epoch = ++partition_epoch;
    const auto found = values(assignment.leader.value());
    const Offset start = at(assignment.leader.value()).partition->log().start_offset();
    for (const auto& [offset, value] : acknowledged_) {
      if (Offset(offset) < start) continue;
      const auto at_offset = found.find(offset);
      ASSERT_TRUE(at_offset != found.end()) << "offset " << offset << " is gone from " << assignment.leader.value();
      ASSERT_EQ(at_offset->second, value) << "offset " << offset;
    }
  }
  void lose_power(int32_t who) {
    cut_power(at(who), Unsynced::mixed);
    if (assignment.leader == BrokerId(who)) elect();
  }

  // By offset.
  std::map<int64_t, std::string> values(int32_t id) {
    std::map<int64_t, std::string> found;
    PartitionLog& log = at(id).partition->log();
    for (Offset from = log.start_offset(); from < log.end_offset();) {
      const auto slice = log.read(from, log.end_offset(), 1 << 20, true);
      EXPECT_TRUE(slice.has_value()) << slice.error().to_string();
      if (!slice) break;
      Bytes bytes(slice->bytes);
      EXPECT_TRUE(slice->file->read_at(slice->position, bytes).has_value());
      for (BytesView rest = bytes; !rest.empty();) {
        const BatchHeader header = parse_batch_header(rest).value();
        Decompressor decompressor;
        auto reader = open_records(header, rest.first(header.total_size), decompressor, 1 << 20).value();
        for (RecordView record; reader.next(record);) {
          found.emplace(record.offset.value(), std::string(as_text(*record.value)));
        }
        rest = rest.subspan(header.total_size);
      }
      from = slice->next_offset;
    }
    return found;
  }

  std::mt19937_64 random_;
  int next_value_ = 0;
  std::vector<std::pair<std::string, Answer>> waiting_;
  std::map<int64_t, std::string> acknowledged_;
  std::map<LeaderEpoch, Offset> told_starts_;
};

TEST(RandomReplication, WhatWasAcknowledgedSurvivesElectionsAndPowerCuts) {
  set_log_level(LogLevel::error);
  constexpr uint64_t kSeeds = kSanitized ? 100 : 1000;
  size_t acknowledged = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    RandomReplication run(seed);
    for (int step = 0; step < 600; ++step) {
      run.step();
      run.look_at_starts();
      if (testing::Test::HasFatalFailure()) return;
    }
    run.heal();
    if (testing::Test::HasFatalFailure()) return;
    acknowledged += run.acknowledged();
  }
  EXPECT_GT(acknowledged, 5 * kSeeds) << "too little happened";
}

}  // namespace
}  // namespace naru
