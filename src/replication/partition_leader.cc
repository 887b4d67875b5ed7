#include "replication/partition_leader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "foundation/assert.h"

namespace naru {

PartitionLeader::PartitionLeader(BrokerId self, LeaderRules rules, std::vector<BrokerId> in_sync, ReplicaProgress own)
    : self_(self), rules_(rules), in_sync_(std::move(in_sync)), own_(own) {
  NARU_ASSERT(std::ranges::find(in_sync_, self) != in_sync_.end(), "leader {} is not in the in-sync set", self);
  NARU_ASSERT(own.synced_end <= own.log_end, "synced up to {} beyond the log's end {}", own.synced_end, own.log_end);
  maybe_advance_high_watermark();
}

bool PartitionLeader::enough_replicas() const {
  return static_cast<int64_t>(in_sync_.size()) >= rules_.min_insync_replicas;
}

Status PartitionLeader::all_in_sync_verdict() const {
  return enough_replicas() ? Status() : Status(ErrorCode::not_enough_replicas_after_append);
}

void PartitionLeader::set_rules(LeaderRules rules) {
  rules_ = rules;
  maybe_advance_high_watermark();
}

void PartitionLeader::set_in_sync(std::vector<BrokerId> in_sync) {
  NARU_ASSERT(std::ranges::find(in_sync, self_) != in_sync.end(), "leader {} is not in the in-sync set", self_);
  in_sync_ = std::move(in_sync);
  maybe_advance_high_watermark();
}

void PartitionLeader::appended(Offset end, uint64_t bytes) {
  NARU_ASSERT(end > own_.log_end, "append to {} does not grow a log that ends at {}", end, own_.log_end);
  own_.log_end = end;
  uncommitted_.push_back({end, bytes});
  maybe_advance_high_watermark();
}

void PartitionLeader::synced(Offset end) {
  NARU_ASSERT(end <= own_.log_end, "synced up to {} beyond the log's end {}", end, own_.log_end);
  own_.synced_end = std::max(own_.synced_end, end);
  maybe_advance_high_watermark();
}

void PartitionLeader::follower_progress(BrokerId follower, ReplicaProgress progress) {
  NARU_ASSERT(follower != self_, "leader {} reported to itself", self_);
  followers_[follower] = progress;
  maybe_advance_high_watermark();
}

void PartitionLeader::truncated(Offset end) {
  NARU_ASSERT(end >= high_watermark_, "cut to {} below the high watermark {}", end, high_watermark_);
  own_.log_end = std::min(own_.log_end, end);
  own_.synced_end = std::min(own_.synced_end, end);
  std::erase_if(uncommitted_, [end](const UncommittedBatch& batch) { return batch.end > end; });
}

Offset PartitionLeader::counted_end(const ReplicaProgress& progress) const {
  return rules_.sync_before_ack ? std::min(progress.synced_end, progress.log_end) : progress.log_end;
}

void PartitionLeader::maybe_advance_high_watermark() {
  Offset lowest = own_.log_end;
  for (const BrokerId replica : in_sync_) {
    const auto known = followers_.find(replica);
    if (replica != self_ && known == followers_.end()) return;  // one that has not reported yet holds everything
    lowest = std::min(lowest, counted_end(replica == self_ ? own_ : known->second));
  }
  if (lowest <= high_watermark_) return;  // never backwards
  high_watermark_ = lowest;
  auto batch = uncommitted_.begin();
  for (; batch != uncommitted_.end() && batch->end <= high_watermark_; ++batch) committed_bytes_ += batch->bytes;
  uncommitted_.erase(uncommitted_.begin(), batch);
}

std::optional<Status> PartitionLeader::verdict(Offset end, Acks acks) const {
  switch (acks) {
    case Acks::none:
      return Status();
    case Acks::leader:
      return counted_end(own_) >= end ? std::optional(Status()) : std::nullopt;
    case Acks::all_in_sync:
      return high_watermark_ >= end ? std::optional(all_in_sync_verdict()) : std::nullopt;
  }
  return Status(ErrorCode::invalid_required_acks);
}

void PartitionLeader::wait_for(Offset end, Acks acks, std::shared_ptr<AckWaiter> waiter) {
  NARU_ASSERT(!verdict(end, acks), "a waiter for {}, which is due", end);
  park(acks == Acks::leader ? for_own_sync_ : for_high_watermark_, end, std::move(waiter));
}

// Behind the others, because appends ascend; a producer's repeated batch waits for an earlier offset than the last.
void PartitionLeader::park(Waiters& waiters, Offset end, std::shared_ptr<AckWaiter> waiter) {
  auto at = waiters.end();
  while (at != waiters.begin() && std::prev(at)->first > end) --at;
  waiters.emplace(at, end, std::move(waiter));
}

std::vector<PartitionLeader::DueAck> PartitionLeader::take_due() {
  std::vector<DueAck> due;
  const auto take = [&due](Waiters& waiters, Offset reached, const Status& status) {
    auto waiter = waiters.begin();
    for (; waiter != waiters.end() && waiter->first <= reached; ++waiter) {
      due.push_back({std::move(waiter->second), status});
    }
    waiters.erase(waiters.begin(), waiter);
  };
  take(for_own_sync_, counted_end(own_), Status());
  take(for_high_watermark_, high_watermark_, all_in_sync_verdict());
  return due;
}

std::vector<std::shared_ptr<AckWaiter>> PartitionLeader::take_all() {
  std::vector<std::shared_ptr<AckWaiter>> all;
  for (Waiters* waiters : {&for_own_sync_, &for_high_watermark_}) {
    for (auto& [end, waiter] : *waiters) all.push_back(std::move(waiter));
    waiters->clear();
  }
  return all;
}

}  // namespace naru
