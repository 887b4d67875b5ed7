// What a ReplicaFetcher asks its leader, and what it does with the answers.
#include <algorithm>
#include <utility>

#include "broker/replica_fetcher_entry.h"
#include "fetch_sessions/fetch_session.h"
#include "foundation/log.h"
#include "replication/partition_following.h"

namespace naru {

// --- Requests --------------------------------------------------------------------------------------------------------

// True: it says something.
Task<bool> ReplicaFetcher::fill_request(kafka::FetchRequest& request) {
  request.replica_state.replica_id = parts_.self;
  request.replica_state.replica_epoch = broker_epoch_;
  request.min_bytes = parts_.config.fetch_min_bytes;
  request.max_bytes = parts_.config.fetch_response_max_bytes;
  request.session_id = session_id_;
  request.session_epoch = session_epoch_;
  const MonotonicTime now = parts_.seams.clock.now();
  std::vector<EntryPtr> resting;
  for (const EntryPtr& entry : std::exchange(dirty_, {})) {
    entry->is_dirty = false;
    if (entry->not_before > now) {
      resting.push_back(entry);
    } else if (co_await position(entry)) {
      add(request, *entry, parts_.config.fetch_max_bytes);
      if (!std::exchange(entry->in_session, true)) ++in_session_;
    }
  }
  for (const EntryPtr& entry : resting) make_dirty(entry);
  for (const Key& key : std::exchange(removed_, {})) forget(request, key);
  co_return !request.topics.empty() || !request.forgotten_topics_data.empty();
}

// True: the leader has to be told.
Task<bool> ReplicaFetcher::position(EntryPtr entry) {
  FollowerPosition position = co_await entry->partition->follower_position();
  if (!position.status.ok() || position.leader != leader_.id) {
    // Not any more, or not yet: the partition tells us when it does.
    leave_session(*entry);
    entry->sent = {};
    co_return false;
  }
  if (position.wants_producers && leader_tells_producers_) {
    leave_session(*entry);
    entry->sent = std::move(position);
    lacking_.push_back(std::move(entry));
    co_return false;
  }
  const FollowerPosition before = std::exchange(entry->sent, std::move(position));
  const FollowerPosition& now = entry->sent;
  entry->lag.store(std::max<int64_t>(entry->leaders_high_watermark - now.offset, 0), std::memory_order_relaxed);
  if (entry->waits_for_sync() && !std::exchange(entry->in_syncing, true)) syncing_.push_back(entry);
  const bool same = !std::exchange(entry->says_it_again, false) && entry->in_session &&
                    now.leader_epoch == before.leader_epoch && now.offset == before.offset &&
                    now.last_fetched_epoch == before.last_fetched_epoch && now.flushed_end == before.flushed_end &&
                    now.log_start == before.log_start;
  co_return !same;
}

void ReplicaFetcher::add(kafka::FetchRequest& request, Entry& entry, int32_t max_bytes) {
  const auto [topic_id, index] = entry.key();
  if (request.topics.empty() || request.topics.back().topic_id != topic_id) {
    request.topics.emplace_back().topic_id = topic_id;
  }
  auto& wanted = request.topics.back().partitions.emplace_back();
  wanted.partition = index;
  wanted.current_leader_epoch = entry.sent.leader_epoch;
  wanted.fetch_offset = entry.sent.offset;
  wanted.last_fetched_epoch = entry.sent.last_fetched_epoch;
  wanted.log_start_offset = entry.sent.log_start;
  wanted.partition_max_bytes = max_bytes;
  wanted.flushed_offset = entry.sent.flushed_end;
  // The position was taken after the question had come, by a partition that follows.
  wanted.answered_question = std::exchange(entry.question, 0);
}

void ReplicaFetcher::forget(kafka::FetchRequest& request, const Key& key) {
  auto& forgotten = request.forgotten_topics_data;
  if (forgotten.empty() || forgotten.back().topic_id != key.first) forgotten.emplace_back().topic_id = key.first;
  forgotten.back().partitions.push_back(key.second);
}

// --- Answers ---------------------------------------------------------------------------------------------------------

Task<Status> ReplicaFetcher::take_answer(std::shared_ptr<const kafka::FetchResponse> response) {
  const ErrorCode code = response->error_code;
  if (code == ErrorCode::fetch_session_id_not_found || code == ErrorCode::invalid_fetch_session_epoch) {
    reset_session();
    co_return Status();
  }
  if (code != ErrorCode::none) co_return Status(code, "the leader refuses the fetch");
  session_id_ = response->session_id;
  session_epoch_ =
      session_id_ == FetchSession::kNoSession ? FetchSession::kInitialEpoch : FetchSession::epoch_after(session_epoch_);
  answer_had_data_ = false;
  for (const auto& topic : response->responses) {
    for (const auto& partition : topic.partitions) {
      const auto found = entries_.find({topic.topic_id, partition.partition_index});
      if (found == entries_.end()) continue;
      const BytesView bytes = partition.records.bytes();
      answer_had_data_ |= !bytes.empty();
      parts_.fetched_bytes.add(bytes.size());
      co_await apply(found->second, partition, SharedBytes(response, bytes));
    }
  }
  // A leader that has no session for us wants to hear everything each time.
  if (session_id_ == FetchSession::kNoSession) reset_session();
  co_return Status();
}

Task<void> ReplicaFetcher::apply(EntryPtr entry, const kafka::FetchResponse::PartitionData& answer,
                                 SharedBytes records) {
  using Action = FollowerDecision::Action;
  const bool had_records = !records.empty();
  const LeaderAnswer told{.leader = leader_.id,
                          .leader_epoch = entry->sent.leader_epoch,
                          .fetch_offset = entry->sent.offset,
                          .last_fetched_epoch = entry->sent.last_fetched_epoch,
                          .error = answer.error_code,
                          .high_watermark = answer.high_watermark,
                          .log_start = answer.log_start_offset,
                          .diverging = {answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset},
                          .tombstones = {answer.tombstones.horizon, answer.tombstones.drops}};
  const FollowerStep step = co_await follow_leader(entry->partition, parts_.seams.scheduler, told, std::move(records));
  entry->question = answer.question;
  if (step.action == Action::wait) {
    retry_later(*entry, step.problem);
  } else {
    entry->pause = kFirstPause;
    entry->reported = ErrorCode::none;
    if (answer.error_code == ErrorCode::none) entry->leaders_high_watermark = answer.high_watermark;
    const bool start_moved = step.move_start_to >= Offset(0);
    const bool asked = entry->question != 0;
    entry->says_it_again |= asked;
    if (step.action == Action::append && !had_records && !start_moved && !asked) co_return;  // nothing to tell
    // What the leader has told counts as told in its session, and was not taken.
    if (step.action == Action::drop) leave_session(*entry);
  }
  make_dirty(entry);
}

// The leader is new and does not know yet, or is none any more; or it cannot be stored here. In the session it would be
// told again and again.
void ReplicaFetcher::retry_later(Entry& entry, const Status& problem) {
  entry.not_before = parts_.seams.clock.now() + entry.pause;
  entry.pause = std::min<Duration>(2 * entry.pause, std::max<Duration>(parts_.config.fetch_backoff, kFirstPause));
  leave_session(entry);
  parts_.failures.add();
  if (std::exchange(entry.reported, problem.code()) == problem.code()) return;
  log_info("replication", "{}: cannot follow leader {} now: {}", entry.partition->identity().to_string(), leader_.id,
           problem.to_string());
}

}  // namespace naru
