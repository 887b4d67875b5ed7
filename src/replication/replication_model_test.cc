// Three replicas as the two cores see them, with logs that are lists of (epoch, value): elections, proposals, fetches
// and answers that come late or never, power cuts, records that are deleted. What was committed once must be in every
// later leader's log, and what was told to be deleted must not come back.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "replication/partition_follower.h"
#include "replication/partition_leader.h"

namespace naru {
namespace {

struct Entry {
  LeaderEpoch epoch;
  int value = 0;
  bool operator==(const Entry&) const = default;
};
using EntryLog = std::vector<Entry>;

EpochHistory epochs_of(const EntryLog& log) {
  EpochHistory history;
  for (size_t i = 0; i < log.size(); ++i) history.assign(log[i].epoch, Offset(static_cast<int64_t>(i)));
  return history;
}

Offset end_of(const EntryLog& log) {
  return Offset(static_cast<int64_t>(log.size()));
}

struct Replica {
  BrokerId id;
  int64_t broker_epoch = 1;
  EntryLog log;     // what lies below `start` is not there any more, and not looked at
  Offset start{0};  // durable at once
  Offset synced{0};
  PartitionAssignment assignment;  // as it has heard
  std::optional<PartitionLeader> leader;
  PartitionFollower follower{Offset(0)};

  Offset high_watermark() const { return leader ? leader->high_watermark() : follower.high_watermark(); }
  ReplicaProgress progress() const { return {end_of(log), synced, start}; }
};

struct FetchOnItsWay {
  size_t from = 0;
  int64_t broker_epoch = 0;
  BrokerId leader;
  LeaderEpoch leader_epoch;
  Offset offset;
  LeaderEpoch last_epoch;
  Offset flushed;
  Offset start;
};
struct AnswerOnItsWay {
  size_t to = 0;
  int64_t broker_epoch = 0;
  LeaderAnswer answer;
  EntryLog entries;
};
struct ProposalOnItsWay {
  size_t from = 0;
  IsrProposal proposal;
};

class ReplicationModel {
 public:
  explicit ReplicationModel(uint64_t seed) : random_(seed), strict_(below(2) == 0) {
    for (int32_t id = 1; id <= 3; ++id) replicas_.push_back({.id = BrokerId(id)});
    decided_ = {.leader = BrokerId(1),
                .leader_epoch = LeaderEpoch(0),
                .partition_epoch = 0,
                .replicas = {BrokerId(1), BrokerId(2), BrokerId(3)},
                .isr = {BrokerId(1), BrokerId(2), BrokerId(3)}};
  }

  void step() {
    now_ += std::chrono::milliseconds(below(300));
    const size_t who = below(replicas_.size());
    switch (below(17)) {
      case 0:
      case 1:
        return append(replicas_[who]);
      case 2:
      case 3:
        return sync(replicas_[who]);
      case 4:
      case 5:
      case 6:
        return send_fetch(who);
      case 7:
      case 8:
      case 9:
        return deliver(fetches_, [this](FetchOnItsWay fetch) { serve(fetch); });
      case 10:
      case 11:
        return deliver(answers_, [this](AnswerOnItsWay answer) { follow(std::move(answer)); });
      case 12:
        return hear(replicas_[who]);
      case 13:
        if (replicas_[who].leader) send(who, replicas_[who].leader->check_followers(now_));
        return;
      case 14:
        return deliver(proposals_, [this](ProposalOnItsWay proposal) { decide(proposal); });
      case 15:
        return delete_records(replicas_[who]);
      default:
        return below(3) == 0 ? elect() : below(4) == 0 ? power_cut(who) : void();
    }
  }

  int64_t committed() const { return static_cast<int64_t>(committed_.size()); }
  int elections() const { return elections_; }
  Offset deleted() const { return told_starts_.empty() ? Offset(0) : told_starts_.rbegin()->second; }

 private:
  uint64_t below(uint64_t n) { return random_() % n; }

  template <class Message, class Handle>
  void deliver(std::vector<Message>& messages, Handle handle) {
    if (messages.empty()) return;
    const auto at = messages.begin() + static_cast<ptrdiff_t>(below(messages.size()));
    Message message = *at;
    if (below(8) != 0) messages.erase(at);  // else it comes again, much later perhaps
    if (below(10) != 0) handle(std::move(message));
    if (messages.size() > 20) messages.erase(messages.begin());
  }

  void append(Replica& replica) {
    if (!replica.leader) return;
    const Offset base = end_of(replica.log);
    replica.log.push_back({replica.assignment.leader_epoch, next_value_++});
    replica.leader->appended(base, end_of(replica.log), now_);
    note_committed(replica);
  }
  void sync(Replica& replica) {
    replica.synced += static_cast<int64_t>(below(static_cast<uint64_t>(end_of(replica.log) - replica.synced) + 1));
    if (!replica.leader) return;
    replica.leader->synced(replica.synced);
    note_committed(replica);
  }
  void delete_records(Replica& replica) {
    if (!replica.leader || below(3) != 0) return;
    const auto most = static_cast<uint64_t>(replica.high_watermark() - replica.start);
    replica.start = std::min(replica.start + static_cast<int64_t>(below(most + 1)), replica.high_watermark());
    replica.leader->begins_at(replica.start, now_);
    note_committed(replica);
  }
  void send_fetch(size_t who) {
    const Replica& replica = replicas_[who];
    if (replica.leader || replica.assignment.leader == kNoBroker) return;
    fetches_.push_back({.from = who,
                        .broker_epoch = replica.broker_epoch,
                        .leader = replica.assignment.leader,
                        .leader_epoch = replica.assignment.leader_epoch,
                        .offset = end_of(replica.log),
                        .last_epoch = epochs_of(replica.log).latest(),
                        .flushed = replica.synced,
                        .start = replica.start});
  }
  void serve(const FetchOnItsWay& fetch) {
    const auto leader = std::ranges::find(replicas_, fetch.leader, &Replica::id);
    if (!leader->leader || leader->assignment.leader_epoch != fetch.leader_epoch) return;
    AnswerOnItsWay told{.to = fetch.from,
                        .broker_epoch = fetch.broker_epoch,
                        .answer = {.leader = fetch.leader,
                                   .leader_epoch = fetch.leader_epoch,
                                   .fetch_offset = fetch.offset,
                                   .last_fetched_epoch = fetch.last_epoch,
                                   .log_start = leader->start},
                        .entries = {}};
    const EpochHistory epochs = epochs_of(leader->log);
    if (const auto parted = divergence({epochs, end_of(leader->log)}, fetch.offset, fetch.last_epoch)) {
      told.answer.diverging = *parted;
    } else if (fetch.offset < leader->start) {
      told.answer.error = ErrorCode::offset_out_of_range;
    } else {
      if (!leader->leader->follower_fetched(replicas_[fetch.from].id, {fetch.broker_epoch},
                                            {fetch.offset, fetch.flushed, fetch.start}, now_)) {
        return;
      }
      send(static_cast<size_t>(leader - replicas_.begin()), leader->leader->maybe_expand(now_));
      note_committed(*leader);
      const auto from = leader->log.begin() + static_cast<ptrdiff_t>(fetch.offset.value());
      const auto count = std::min<ptrdiff_t>(leader->log.end() - from, static_cast<ptrdiff_t>(below(4)));
      told.entries.assign(from, from + count);
    }
    told.answer.high_watermark = leader->leader->high_watermark();
    answers_.push_back(std::move(told));
  }
  void follow(AnswerOnItsWay told) {
    Replica& replica = replicas_[told.to];
    if (replica.broker_epoch != told.broker_epoch || replica.leader) return;  // a connection ends with the process
    const EpochHistory epochs = epochs_of(replica.log);
    const FollowerDecision decision =
        replica.follower.decide(told.answer, replica.start, {epochs, end_of(replica.log)});
    switch (decision.action) {
      case FollowerDecision::Action::append:
        replica.log.insert(replica.log.end(), told.entries.begin(), told.entries.end());
        replica.follower.adopt(told.answer, end_of(replica.log));
        replica.start = std::max(replica.start, std::min(told.answer.log_start, replica.follower.high_watermark()));
        check_prefix(replica, replica.follower.high_watermark(), "a follower shows");
        break;
      case FollowerDecision::Action::truncate:
        replica.log.resize(static_cast<size_t>(decision.offset.value()));
        replica.synced = std::min(replica.synced, decision.offset);
        ASSERT_FALSE(replica.follower.truncated(decision.offset)) << "cut below the high watermark";
        break;
      case FollowerDecision::Action::restart:
        // Whatever was below is gone; in its place stands what it was, for what looks at whole logs here.
        ASSERT_LE(decision.offset, Offset(committed()));
        replica.start = replica.synced = decision.offset;
        replica.log.assign(committed_.begin(), committed_.begin() + static_cast<ptrdiff_t>(decision.offset.value()));
        replica.follower.restarted(decision.offset);
        break;
      case FollowerDecision::Action::wait:
        FAIL() << decision.why;
        break;
      case FollowerDecision::Action::drop:
        break;
    }
  }

  // --- The controller: one state, changed by compare and set.
  void hear(Replica& replica) {
    if (!decided_.is_newer_than(replica.assignment)) return;
    const bool same_leader = decided_.leader_epoch == replica.assignment.leader_epoch;
    const Offset known = replica.high_watermark();
    replica.assignment = decided_;
    if (decided_.leader != replica.id) {
      if (!same_leader || replica.leader) replica.follower.follow(decided_.leader, decided_.leader_epoch, known);
      replica.leader.reset();
    } else if (replica.leader && same_leader) {
      replica.leader->set_assignment(decided_, now_);
    } else {
      const LeaderRules rules{.sync_before_ack = strict_, .min_insync_replicas = 1, .lag_time_max = 3s};
      replica.leader.emplace(replica.id, rules, decided_, replica.progress(), known, now_);
    }
    if (replica.leader) note_committed(replica);
  }
  void send(size_t from, const std::optional<IsrProposal>& proposal) {
    if (proposal) proposals_.push_back({from, *proposal});
  }
  void decide(const ProposalOnItsWay& asked) {
    const Replica& from = replicas_[asked.from];
    IsrAnswer answer{.verdict = IsrAnswer::Verdict::overtaken};
    if (asked.proposal.leader_epoch == decided_.leader_epoch &&
        asked.proposal.partition_epoch == decided_.partition_epoch && decided_.leader == from.id) {
      answer.verdict = eligible(asked.proposal) ? IsrAnswer::Verdict::committed : IsrAnswer::Verdict::refused;
    }
    if (answer.verdict == IsrAnswer::Verdict::committed) {
      decided_.isr.clear();
      for (const auto& member : asked.proposal.isr) decided_.isr.push_back(member.id);
      answer.partition_epoch = ++decided_.partition_epoch;
      answer.isr = decided_.isr;
    }
    if (below(4) == 0) answer = {.verdict = IsrAnswer::Verdict::unknown};
    Replica& leader = replicas_[asked.from];
    if (leader.leader && leader.assignment.leader_epoch == asked.proposal.leader_epoch) {
      leader.leader->proposal_answered(asked.proposal, answer, now_);
      note_committed(leader);
    }
  }
  bool eligible(const IsrProposal& proposal) const {
    return std::ranges::all_of(proposal.isr, [this](const IsrProposal::Member& member) {
      const bool joins = std::ranges::find(decided_.isr, member.id) == decided_.isr.end();
      const auto replica = std::ranges::find(replicas_, member.id, &Replica::id);
      return !joins || replica->broker_epoch == member.broker_epoch;
    });
  }
  void elect() {
    decided_.leader = decided_.isr[below(decided_.isr.size())];
    decided_.leader_epoch = LeaderEpoch(decided_.leader_epoch.value() + 1);
    ++decided_.partition_epoch;
    // Whoever was leader may be gone, and then it is not in sync any more.
    if (below(3) == 0 && decided_.isr.size() > 1) {
      const BrokerId gone = decided_.isr[below(decided_.isr.size())];
      if (gone != decided_.leader) std::erase(decided_.isr, gone);
    }
    ++elections_;
    const auto leader = std::ranges::find(replicas_, decided_.leader, &Replica::id);
    check_prefix(*leader, Offset(committed()), "a leader lacks");
  }
  // Only where acknowledgements wait for syncs: else whoever loses something has to leave the in-sync set first.
  void power_cut(size_t who) {
    if (!strict_) return;
    Replica& replica = replicas_[who];
    replica.synced = std::max(replica.synced, replica.start);
    replica.log.resize(static_cast<size_t>(replica.synced.value()));
    ++replica.broker_epoch;
    replica.leader.reset();
    replica.follower = PartitionFollower(replica.start);
    replica.assignment = {};
    if (decided_.leader == replica.id) elect();
  }

  // --- What must hold.
  void note_committed(const Replica& leader) {
    const auto high_watermark = static_cast<size_t>(leader.leader->high_watermark().value());
    ASSERT_LE(high_watermark, leader.log.size());
    check_prefix(leader, Offset(std::min<int64_t>(committed(), leader.leader->high_watermark().value())),
                 "two leaders differ below their high watermarks:");
    for (size_t i = committed_.size(); i < high_watermark; ++i) committed_.push_back(leader.log[i]);
    note_told_start(leader);
  }
  // A leader that was replaced and does not know it may tell an old start, but no leader after it does.
  void note_told_start(const Replica& leader) {
    const Offset told = leader.leader->common_start();
    ASSERT_LE(told, leader.start);
    if (told == kNoOffset) return;
    for (const auto& [epoch, before] : told_starts_) {
      if (epoch <= leader.assignment.leader_epoch) ASSERT_GE(told, before) << "told in epoch " << epoch.value();
    }
    told_starts_[leader.assignment.leader_epoch] = told;
  }
  void check_prefix(const Replica& replica, Offset end, const char* what) {
    const auto count = static_cast<size_t>(std::min<int64_t>(end.value(), committed()));
    ASSERT_GE(replica.log.size(), count) << what << " replica " << replica.id.value();
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(replica.log[i], committed_[i]) << what << " offset " << i << " replica " << replica.id.value();
    }
  }

  std::mt19937_64 random_;
  const bool strict_;
  MonotonicTime now_{};
  int next_value_ = 0;
  int elections_ = 0;
  PartitionAssignment decided_;
  std::vector<Replica> replicas_;
  std::vector<FetchOnItsWay> fetches_;
  std::vector<AnswerOnItsWay> answers_;
  std::vector<ProposalOnItsWay> proposals_;
  EntryLog committed_;
  std::map<LeaderEpoch, Offset> told_starts_;
};

TEST(ReplicationModel, WhatWasCommittedIsInEveryLaterLeadersLog) {
  int64_t committed = 0;
  int elections = 0;
  int64_t deleted = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(seed);
    ReplicationModel model(seed);
    for (int step = 0; step < 500; ++step) {
      model.step();
      if (testing::Test::HasFatalFailure()) return;
    }
    committed += model.committed();
    elections += model.elections();
    deleted += model.deleted().value();
  }
  // So that it does not pass because nothing happens.
  EXPECT_GT(committed, 10'000);
  EXPECT_GT(elections, 5'000);
  EXPECT_GT(deleted, 2'000);
}

}  // namespace
}  // namespace naru
