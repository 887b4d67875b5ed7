#include "broker/live_fetch_session.h"

#include <algorithm>
#include <utility>

#include "broker/fetch_sessions.h"
#include "foundation/request_canary.h"

namespace naru {
namespace {

// What a session and each of its partitions cost: the core's entry, the partition's watch, the news.
constexpr uint64_t kMemoryPerSession = 2 * 1024;
constexpr uint64_t kMemoryPerPartition = 256;
constexpr uint64_t kMemoryPerTopic = 512;

// What a later look at the same partition object will not change: it is closed, or not ours any more.
bool is_about_the_partition(ErrorCode code) {
  return code != ErrorCode::none && code != ErrorCode::offset_out_of_range && code != ErrorCode::fenced_leader_epoch &&
         code != ErrorCode::unknown_leader_epoch;
}

FetchSeen seen_in(const FetchTarget& target) {
  return {.error = target.view.status.code(),
          .high_watermark = target.view.high_watermark,
          .log_start_offset = target.view.told_start_offset,
          .diverges = target.diverges(),
          .elsewhere = target.nearer != kNoBroker,
          .asks = target.view.question != 0,
          .has_records = !target.view.slice.empty(),
          .more_to_read = target.more_to_read()};
}

}  // namespace

LiveFetchSession::LiveFetchSession(int32_t id, bool by_topic_id, uint64_t watcher_id, FetchSessions& sessions)
    : id_(id), sessions_(sessions), news_(std::make_shared<SessionNews>(watcher_id)), core_(by_topic_id) {}

LiveFetchSession::~LiveFetchSession() {
  sessions_.forget(id_);
  give_up_everything();
}

Task<bool> LiveFetchSession::enter() {
  OneShot<bool> my_turn;
  {
    const std::scoped_lock lock(gate_);
    if (evicted_) co_return false;
    if (!std::exchange(inside_, true)) co_return true;
    waiting_.push_back(&my_turn);
  }
  co_return co_await my_turn;
}

void LiveFetchSession::leave() {
  std::deque<OneShot<bool>*> told;
  bool evicted = false;
  {
    const std::scoped_lock lock(gate_);
    evicted = evicted_;
    if (evicted) {
      told.swap(waiting_);
    } else if (waiting_.empty()) {
      inside_ = false;
    } else {
      told.push_back(waiting_.front());
      waiting_.pop_front();
    }
  }
  if (evicted) give_up_everything();
  for (OneShot<bool>* next : told) next->set(!evicted);
}

void LiveFetchSession::evict() {
  {
    const std::scoped_lock lock(gate_);
    evicted_ = true;
    if (std::exchange(inside_, true)) return;  // the one who is inside does it
  }
  give_up_everything();
}

void LiveFetchSession::give_up_everything() {
  for (FetchSession::Slot slot = 0; slot < partitions_.size(); ++slot) let_go(slot);
  partitions_.clear();
  memory_.release();
}

void LiveFetchSession::let_go(FetchSession::Slot slot) {
  if (slot >= partitions_.size() || !partitions_[slot]) return;
  const auto partition = std::exchange(partitions_[slot], nullptr);
  partition->unwatch(news_->id());
}

Task<void> LiveFetchSession::update(const kafka::FetchRequest& request, Turns& turns) {
  for (const auto& topic : request.forgotten_topics_data) {
    for (const PartitionIndex index : topic.partitions) {
      if (!is_planted(RequestCanary::session_forgets_by_walk)) co_await turns.step();
      if (const auto slot = core_.forget(topic.topic, topic.topic_id, index)) let_go(*slot);
    }
  }
  for (const auto& topic : request.topics) {
    for (const auto& wanted : topic.partitions) {
      co_await turns.step();
      core_.put(topic.topic, topic.topic_id, wanted.partition,
                {.fetch_offset = wanted.fetch_offset,
                 .current_leader_epoch = wanted.current_leader_epoch,
                 .max_bytes = wanted.partition_max_bytes,
                 .last_fetched_epoch = wanted.last_fetched_epoch,
                 .flushed_offset = wanted.flushed_offset,
                 .log_start_offset = wanted.log_start_offset,
                 .answered_question = wanted.answered_question});
    }
  }
}

bool LiveFetchSession::pay(MemoryBudget& budget) {
  const uint64_t bytes = kMemoryPerSession + kMemoryPerPartition * core_.slots() + kMemoryPerTopic * core_.topics();
  if (bytes <= memory_.bytes()) {
    memory_.shrink_to(bytes);
    return true;
  }
  auto more = budget.try_reserve(MemoryAccount::sessions, bytes - memory_.bytes());
  if (more) memory_.merge(std::move(*more));
  return more.has_value();
}

// News of a partition that may have gone: look it up again, because a new one may have its name.
void LiveFetchSession::take_news() {
  for (const SessionNews::Item& item : news_->take()) {
    if (item.state_changed) let_go(item.slot);
    core_.news(item.slot);
  }
}

Task<std::vector<FetchTarget>> LiveFetchSession::due_targets(const BrokerServices& services,
                                                             const RequestContext& context, const FetchTerms& terms,
                                                             Turns& turns) {
  take_news();
  partitions_.resize(core_.slots());
  std::vector<FetchTarget> targets;
  targets.reserve(core_.due().size());
  for (const FetchSession::Slot slot : core_.due()) {
    co_await turns.step();
    const FetchSession::Place place = core_.place(slot);
    FetchTarget& target =
        targets.emplace_back(FetchTarget{.topic = place.topic,
                                         .topic_id = place.topic_id,
                                         .index = place.index,
                                         .slot = slot,
                                         .offset = place.position.fetch_offset,
                                         .current_leader_epoch = place.position.current_leader_epoch,
                                         .last_fetched_epoch = place.position.last_fetched_epoch,
                                         .flushed_offset = place.position.flushed_offset,
                                         .log_start_offset = place.position.log_start_offset,
                                         .answered_question = place.position.answered_question,
                                         .max_bytes = static_cast<uint32_t>(std::max(place.position.max_bytes, 0))});
    find_partition(services, context, terms, target);
    if (target.partition == partitions_[slot]) continue;
    let_go(slot);
    partitions_[slot] = target.partition;
    // Before it is read: whatever the read does not see is news. Everything so far is not.
    if (target.partition) target.partition->watch(news_, slot, UINT64_MAX, terms.audience());
  }
  co_return targets;
}

bool LiveFetchSession::has_other_start(const std::vector<FetchTarget>& targets) const {
  return std::ranges::any_of(targets, [this](const FetchTarget& target) {
    return core_.has_other_start(target.slot, target.view.told_start_offset);
  });
}

std::vector<FetchTarget*> LiveFetchSession::commit(std::vector<FetchTarget>& targets, MonotonicTime now) {
  answered_at_ = now;
  std::vector<FetchTarget*> told;
  std::vector<FetchSession::Look> looks;
  looks.reserve(targets.size());
  for (FetchTarget& target : targets) {
    const FetchSeen seen = seen_in(target);
    if (core_.must_tell(target.slot, seen)) told.push_back(&target);
    if (is_about_the_partition(seen.error)) let_go(target.slot);
    looks.push_back({.slot = target.slot, .seen = seen});
  }
  core_.commit(looks);
  return told;
}

}  // namespace naru
