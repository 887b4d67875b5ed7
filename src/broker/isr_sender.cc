#include "broker/isr_sender.h"

#include "foundation/canary.h"

namespace naru {
namespace {

// A member of which the leader has not heard, or the leader itself, stays a member in the epoch of its registration: if
// that is a new one, the controller has already decided whether it may.
int64_t epoch_of(const IsrProposal::Member& member, const MetadataImage& image) {
  const BrokerMetadata* broker = image.find_broker(member.id);
  return member.broker_epoch == -1 && broker != nullptr ? broker->epoch : member.broker_epoch;
}

IsrChange change_of(const Partition& partition, const IsrProposal& proposal, const MetadataImage& image) {
  IsrChange change{.topic_id = partition.identity().topic_id,
                   .index = partition.identity().index,
                   .leader_epoch = proposal.leader_epoch,
                   .partition_epoch = proposal.partition_epoch};
  for (const IsrProposal::Member& member : proposal.isr) change.isr.push_back({member.id, epoch_of(member, image)});
  return change;
}

// The controller may have done it, or may still: only what it says itself settles a proposal.
IsrAnswer unanswered(Canary canary) {
  using Verdict = IsrAnswer::Verdict;
  return {.verdict = is_planted(canary) ? Verdict::refused : Verdict::unknown};
}

IsrAnswer answer_of(const AlterPartitionResult& result) {
  using Verdict = IsrAnswer::Verdict;
  if (result.status.ok()) {
    return {.verdict = Verdict::committed, .partition_epoch = result.now.partition_epoch, .isr = result.now.isr};
  }
  switch (result.status.code()) {
    case ErrorCode::invalid_update_version:
    case ErrorCode::fenced_leader_epoch:
    case ErrorCode::unknown_topic_id:
      return {.verdict = Verdict::overtaken};
    case ErrorCode::ineligible_replica:
    case ErrorCode::invalid_request:
      return {.verdict = Verdict::refused};
    default:
      return unanswered(Canary::unclear_is_refused);
  }
}

}  // namespace

void IsrSender::propose(std::shared_ptr<Partition> partition, IsrProposal proposal) {
  const std::scoped_lock lock(mutex_);
  if (stopped_) return;
  waiting_.push_back({std::move(partition), std::move(proposal)});
  if (!std::exchange(sending_, true)) tasks_.spawn(send_all());
}

Task<void> IsrSender::send_all() {
  co_await to_loop(seams_.scheduler);  // out of the partition's strand, and of the lock
  for (;;) {
    std::vector<Asked> asked = take();
    if (asked.empty()) co_return;
    co_await send(std::move(asked));
  }
}

std::vector<IsrSender::Asked> IsrSender::take() {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty()) sending_ = false;
  return std::exchange(waiting_, {});
}

Task<void> IsrSender::send(std::vector<Asked> asked) {
  std::vector<IsrChange> changes;
  const MetadataImagePtr image = metadata_.current();
  for (const Asked& one : asked) changes.push_back(change_of(*one.partition, one.proposal, *image));
  const auto results = co_await alter_(std::move(changes));
  std::vector<std::shared_ptr<Partition>> unsettled;
  for (size_t i = 0; i < asked.size(); ++i) {
    const IsrAnswer answer =
        results && i < results->size() ? answer_of((*results)[i]) : unanswered(Canary::silence_is_refused);
    const bool settled =
        answer.verdict == IsrAnswer::Verdict::committed || answer.verdict == IsrAnswer::Verdict::overtaken;
    asked[i].partition->proposal_answered(asked[i].proposal, answer);
    if (!settled) unsettled.push_back(std::move(asked[i].partition));
  }
  if (!unsettled.empty()) tasks_.spawn(look_again(std::move(unsettled)));
}

// A follower with nothing to fetch does not remind its leader: one that was not eligible, because the controller had
// not yet heard of its return, would have to wait for the next look at all partitions.
Task<void> IsrSender::look_again(std::vector<std::shared_ptr<Partition>> partitions) {
  const Status slept = co_await sleep_until(seams_.scheduler, seams_.clock.now() + kProposalBackoff, tasks_.token());
  if (!slept.ok()) co_return;
  for (const auto& partition : partitions) partition->check_followers();
}

Task<void> IsrSender::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    waiting_.clear();
  }
  tasks_.cancel();
  return tasks_.join();
}

}  // namespace naru
