// For tests: consumers that behave well or badly, and a model of what may come of it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "consumer_groups/group_testing.h"

namespace naru {

inline constexpr int kModelPartitions = 8;

inline GroupPartition model_partition(int partition) {
  return {"t", PartitionIndex(partition)};
}

// What is true whatever the members do. It knows only answers, nothing of how they come about.
class GroupModel {
 public:
  // A member of the generation has been told that it owns these partitions.
  void granted(const std::string& member_id, const std::optional<std::string>& instance_id, int32_t generation,
               const std::set<int>& partitions) {
    EXPECT_GE(generation, newest_) << "a generation after a later one";
    if (generation > newest_) owners_.clear();
    newest_ = generation;
    for (const int partition : partitions) {
      const auto [owner, is_first] = owners_.try_emplace(partition, Owner{member_id, instance_id});
      const bool is_same = owner->second.member_id == member_id;
      // A static member's successor takes over; the model does not let the predecessor commit any more.
      const bool is_successor = instance_id && owner->second.instance_id == instance_id;
      EXPECT_TRUE(is_first || is_same || is_successor)
          << "partition " << partition << " has two owners in generation " << generation << ": "
          << owner->second.member_id << " and " << member_id;
      owner->second.member_id = member_id;
    }
  }
  // A commit has been accepted.
  void accepted(const MemberClaim& claim, int partition, int64_t offset) {
    if (claim.generation >= 0) {
      EXPECT_EQ(claim.generation, newest_) << "a commit of an old generation";
      const auto owner = owners_.find(partition);
      ASSERT_NE(owner, owners_.end());
      EXPECT_EQ(owner->second.member_id, claim.member_id) << "a commit by somebody who is not the owner";
    }
    offsets_[partition] = offset;
  }
  void forgotten(int partition) { offsets_.erase(partition); }
  void all_forgotten() { offsets_.clear(); }
  // The group was deleted or removed: its generations begin anew.
  void begin_anew() {
    newest_ = 0;
    owners_.clear();
  }

  void expect_offsets(const FetchOffsetsAnswer& answer) const {
    std::map<int, int64_t> stored;
    for (const FetchedOffset& each : answer.offsets) {
      stored[each.partition.partition.value()] = each.committed->offset.value();
    }
    EXPECT_EQ(stored, offsets_);
  }

 private:
  struct Owner {
    std::string member_id;
    std::optional<std::string> instance_id;
  };
  int32_t newest_ = 0;           // of which anybody owns something
  std::map<int, Owner> owners_;  // in that generation
  std::map<int, int64_t> offsets_;
};

// The rules of commits as a table, applied to what the group says about itself.
inline ErrorCode expected_commit(const DescribedGroup& group, const MemberClaim& claim) {
  const bool no_generation = claim.generation < 0;
  if (group.error != ErrorCode::none) return no_generation ? ErrorCode::none : ErrorCode::illegal_generation;
  if (group.state == "Empty" && no_generation) return ErrorCode::none;
  if (no_generation && claim.member_id.empty() && !claim.instance_id) return ErrorCode::unknown_member_id;
  const DescribedMember* by_id = nullptr;
  const DescribedMember* by_instance = nullptr;
  for (const DescribedMember& member : group.members) {
    if (member.member_id == claim.member_id) by_id = &member;
    if (claim.instance_id && member.instance_id == claim.instance_id) by_instance = &member;
  }
  if (claim.instance_id && by_instance == nullptr) return ErrorCode::unknown_member_id;
  if (by_instance != nullptr && by_instance->member_id != claim.member_id) return ErrorCode::fenced_instance_id;
  if (by_id == nullptr) return ErrorCode::unknown_member_id;
  if (claim.generation != group.generation) return ErrorCode::illegal_generation;
  return group.state == "CompletingRebalance" ? ErrorCode::rebalance_in_progress : ErrorCode::none;
}

// A consumer: knows what it was told, and forgets nothing, so that it can come back as a ghost of itself.
class ModelConsumer {
 public:
  struct Belief {
    MemberClaim claim;
    std::set<int> owned;
  };

  ModelConsumer(TestCoordinator& test, GroupModel& model, std::string group, std::string name,
                std::optional<std::string> instance_id)
      : test_(test),
        model_(model),
        group_(std::move(group)),
        name_(std::move(name)),
        instance_id_(std::move(instance_id)) {}

  // It joins; if it waits for an answer already, it has lost patience and asks again.
  void join(bool as_new_client) {
    sync_.reset();
    JoinGroup request = joining(group_, fmt::format("{}-{}", name_, ++ids_));
    request.member_id = member_id_;
    request.instance_id = instance_id_;
    request.must_come_back_with_id = as_new_client;
    request.can_skip_assignment = as_new_client;
    request.rebalance_timeout = 20s;
    request.protocols = {{"range", test_bytes("all")}};
    join_ = test_.join(std::move(request));
  }
  // Does what the answers that have arrived call for.
  void look_at_answers() {
    if (join_ && join_->arrived()) on_joined();
    if (sync_ && sync_->arrived()) on_synced();
  }
  void heartbeat() {
    if (generation_ < 0 || join_ || sync_) return;
    on_error(test_.heartbeat(group_, claim()));
  }
  void leave() {
    test_.leave(group_, {{member_id_, instance_id_}});
    forget();
  }
  // The process ends without a word, and another one begins in its place.
  void forget() {
    join_.reset();
    sync_.reset();
    member_id_.clear();
    generation_ = -1;
  }
  // As it is now, or as it was once.
  void commit(size_t beliefs_ago, int64_t offset) {
    if (beliefs_.size() <= beliefs_ago) return;
    const Belief belief = beliefs_[beliefs_.size() - 1 - beliefs_ago];
    for (const int partition : belief.owned) {
      const ErrorCode expected = expected_commit(test_.describe(group_), belief.claim);
      const ErrorCode code = test_.commit(group_, belief.claim, model_partition(partition), offset);
      EXPECT_EQ(code, expected) << describe(code).name << " instead of " << describe(expected).name;
      if (code == ErrorCode::none) model_.accepted(belief.claim, partition, offset);
    }
  }
  bool is_settled() const { return !join_ && !sync_ && generation_ >= 0; }
  bool is_waiting() const { return join_ || sync_; }
  int32_t generation() const { return generation_; }
  const std::set<int>& owned() const { return beliefs_.back().owned; }

 private:
  MemberClaim claim() const { return {member_id_, instance_id_, generation_}; }
  void on_joined() {
    if (!join_->failure_status().ok()) return forget();
    const JoinAnswer answer = join_->value();
    join_.reset();
    if (answer.error == ErrorCode::member_id_required) {
      member_id_ = answer.member_id;
      join(true);
      return;
    }
    if (answer.error != ErrorCode::none) return on_error(answer.error);
    member_id_ = answer.member_id;
    generation_ = answer.generation;
    SyncGroup request{.group_id = group_, .member = claim()};
    if (answer.leader == member_id_ && !answer.skip_assignment)
      request.assignments = assign(answer.members, ids_ % 3 == 0);
    sync_ = sync(std::move(request));
  }
  // The model learns of the answer when it leaves the coordinator, however late we look at it.
  Awaited<SyncAnswer> sync(SyncGroup request) {
    return test_.ask<SyncAnswer>([&](Reply<SyncAnswer> reply, CoordinatorOutcome& outcome) {
      auto observed = [this, member = request.member, reply = std::move(reply)](Result<SyncAnswer> result) mutable {
        if (result && result->error == ErrorCode::none) {
          model_.granted(member.member_id, member.instance_id, member.generation, partitions_in(result->assignment));
        }
        reply(std::move(result));
      };
      test_.coordinator->sync(std::move(request), std::move(observed), test_.time, outcome);
    });
  }
  static std::set<int> partitions_in(BytesView assignment) {
    std::set<int> partitions;
    for (const char digit : as_text(assignment)) partitions.insert(digit - '0');
    return partitions;
  }
  // A leader may be greedy, and name nobody but itself.
  std::vector<std::pair<std::string, Bytes>> assign(const std::vector<JoinedMember>& members, bool greedy) const {
    if (greedy) return {{member_id_, test_bytes("01234567")}};
    std::vector<std::string> texts(members.size());
    for (int i = 0; i < kModelPartitions; ++i)
      texts[static_cast<size_t>(i) % members.size()] += static_cast<char>('0' + i);
    std::vector<std::pair<std::string, Bytes>> assignments;
    for (size_t i = 0; i < members.size(); ++i) assignments.emplace_back(members[i].member_id, test_bytes(texts[i]));
    return assignments;
  }
  void on_synced() {
    if (!sync_->failure_status().ok()) return forget();
    const SyncAnswer answer = sync_->value();
    sync_.reset();
    if (answer.error != ErrorCode::none) return on_error(answer.error);
    beliefs_.push_back({claim(), partitions_in(answer.assignment)});
  }
  void on_error(ErrorCode code) {
    switch (code) {
      case ErrorCode::none:
        return;
      case ErrorCode::unknown_member_id:
      case ErrorCode::fenced_instance_id:
        return forget();
      default:
        join(false);
    }
  }

  TestCoordinator& test_;
  GroupModel& model_;
  const std::string group_;
  const std::string name_;
  const std::optional<std::string> instance_id_;
  int ids_ = 0;
  std::string member_id_;
  int32_t generation_ = -1;
  std::optional<Awaited<JoinAnswer>> join_;
  std::optional<Awaited<SyncAnswer>> sync_;
  std::vector<Belief> beliefs_;
};

}  // namespace naru
