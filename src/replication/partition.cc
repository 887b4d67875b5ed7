#include "replication/partition.h"

#include <algorithm>
#include <utility>

#include "foundation/canary.h"
#include "foundation/log.h"

namespace naru {
namespace {

Status replaced_perhaps() {
  return Status(ErrorCode::not_leader_or_follower, "no contact to the cluster: another broker may lead by now");
}

// A producer does not send a batch again that was refused so.
bool is_about_earlier_batches(ErrorCode code) {
  return code == ErrorCode::out_of_order_sequence_number || code == ErrorCode::unknown_producer_id;
}

// Refusals that wait for followers; with more of them, clients have to ask again.
constexpr size_t kRefusalsToProve = 1000;

std::string_view until_when(const Status& cause, bool passes) {
  if (!passes) return "the broker is restarted";
  if (cause == ErrorCode::corrupt_data) return "another replica leads, and is repaired from there";
  return "there is room and a file descriptor for it, and is tried again every few seconds";
}

// flush.ms beyond this is "never": the clock could not express the moment.
constexpr int64_t kNeverByTime = 365LL * 24 * 3'600'000;

}  // namespace

LogConfig log_config_of(const TopicConfig& config) {
  return {
      .segment_bytes = static_cast<uint64_t>(config.segment_bytes),
      // A compacted record must not wait for its segment to be sealed longer than for its compaction.
      .segment_ms = config.compacted ? std::min(config.segment_ms, config.max_compaction_lag_ms) : config.segment_ms,
      .segment_jitter_ms = config.segment_jitter_ms,
      .index_interval_bytes = static_cast<uint32_t>(config.index_interval_bytes),
      .segment_index_bytes = static_cast<uint64_t>(config.segment_index_bytes)};
}

// Ties one waiting acknowledgement to its slot of the request.
class Partition::AckSlot final : public AckWaiter {
 public:
  AckSlot(std::shared_ptr<AppendGroup> group, size_t slot, AppendResult result)
      : group_(std::move(group)), slot_(slot), result_(std::move(result)) {}

  void acknowledged(const Status& status) override {
    result_.status = status;
    group_->finish(slot_, std::move(result_));
  }

 private:
  std::shared_ptr<AppendGroup> group_;
  size_t slot_;
  AppendResult result_;
};

// Nothing is known to be committed: a leader with followers learns it from them.
Partition::Partition(PartitionIdentity identity, std::unique_ptr<PartitionLog> log, BrokerId self,
                     const TopicConfig& config, PartitionServices services)
    : identity_(std::move(identity)),
      services_(services),
      self_(self),
      config_(config),
      log_(std::move(log)),
      follower_(log_->start_offset()),
      told_log_start_(log_->start_offset()) {}

LeaderRules Partition::rules() const {
  const auto replicas = static_cast<int32_t>(assignment_.replicas.size());
  return {.sync_before_ack = config_.acknowledges_after_sync(),
          .min_insync_replicas = config_.effective_min_insync_replicas(replicas),
          .lag_time_max = services_.replica_lag_time_max,
          .lag_max_messages = config_.replica_lag_max_messages};
}

// One that has not fetched for long, or is not known yet, holds nothing: it may never come.
LogAccess Partition::log_access() const {
  LogAccess access{*log_, high_watermark(), config_, leader_.has_value(), last_stable_offset()};
  if (!leader_) return access;
  const auto slowest = leader_->slowest_since(services_.clock.now() - services_.replica_lag_time_max);
  if (slowest) access.fetched_from = *slowest;
  return access;
}

void Partition::append(AppendRequest request, std::shared_ptr<AppendGroup> group, size_t slot) {
  strand_.run([self = shared_from_this(), request = std::move(request), group = std::move(group), slot] {
    self->append_inside(request, group, slot);
  });
}

void Partition::refuse(Status refused, std::shared_ptr<AppendGroup> group, size_t slot) {
  strand_.run([self = shared_from_this(), refused = std::move(refused), group = std::move(group), slot]() mutable {
    // A replica that does not lead says so: its configuration may be older than the leader's.
    if (Status elsewhere = self->why_not_deciding(kNoLeaderEpoch); !elsewhere.ok()) refused = std::move(elsewhere);
    group->finish(slot, {.status = std::move(refused), .log_start_offset = self->common_start()});
  });
}

Status Partition::why_not_appending(LeaderEpoch leader_epoch, Acks acks) const {
  if (Status status = why_not_deciding(leader_epoch); !status.ok()) return status;
  if (acks == Acks::all_in_sync && !leader_->enough_replicas()) return Status(ErrorCode::not_enough_replicas);
  return Status();
}

void Partition::append_inside(const AppendRequest& request, const std::shared_ptr<AppendGroup>& group, size_t slot) {
  const auto refuse = [&](Status status) {
    group->finish(slot, {.status = std::move(status), .log_start_offset = common_start()});
  };
  if (Status status = why_not_appending(request.leader_epoch, request.acks); !status.ok()) {
    return refuse(std::move(status));
  }
  const SequenceCheck sequence = check_producer(request);
  // With acks=0 nobody is told what was wrong, and the request waits for no more than the append.
  if (request.acks != Acks::none && is_about_earlier_batches(sequence.refused.code())) {
    return refuse_when_proven(sequence.refused, group, slot);
  }
  if (!sequence.refused.ok()) return refuse(sequence.refused);
  if (sequence.duplicate && !is_planted(Canary::duplicates_stored))
    return acknowledge_duplicate(*sequence.duplicate, request.acks, group, slot);
  if (request.validated.header.is_transactional()) note_transactional(request);
  store(request.batch, request.validated, request.acks, group, slot);
}

// A leader that was replaced, and does not know it yet, lacks what the producer has sent to its successor since.
void Partition::refuse_when_proven(Status refused, const std::shared_ptr<AppendGroup>& group, size_t slot) {
  if (waiting_for_proof_.size() >= kRefusalsToProve) {
    return group->finish(slot, {.status = Status(ErrorCode::not_leader_or_follower, "the followers are being asked")});
  }
  prove_leadership(kNoLeaderEpoch, [this, refused = std::move(refused), group, slot](const Status& proven) {
    group->finish(slot, {.status = proven.ok() ? refused : proven, .log_start_offset = common_start()});
  });
}

bool Partition::store(const SharedBytes& batch, const ValidatedBatch& validated, Acks acks,
                      const std::shared_ptr<AppendGroup>& group, size_t slot) {
  const auto appended = log_->append(batch.view(), validated, assignment_.leader_epoch, services_.clock.wall_now_ms());
  if (!appended) {
    report_write(appended.error());
    group->finish(slot, {.status = appended.error()});
    tell_unsynced_files();
    if (log_->offline()) go_offline(appended.error());
    return false;
  }

  if (!config_.acknowledges_after_sync()) report_write(Status());
  const Offset end = appended->last_offset + 1;
  readable_.append(appended->base_offset, end, appended->bytes);
  leader_->appended(appended->base_offset, end, services_.clock.now());
  AppendResult result{.base_offset = appended->base_offset,
                      .log_append_time_ms = appended->log_append_time_ms,
                      .log_start_offset = common_start()};
  acknowledge_when_due(end, acks, group, slot, std::move(result));
  arrange_sync(*appended, batch);
  tell_acks_and_readers();
  tell_unsynced_files();
  return true;
}

bool Partition::acknowledge_when_due(Offset end, Acks acks, const std::shared_ptr<AppendGroup>& group, size_t slot,
                                     AppendResult result) {
  if (auto verdict = leader_->verdict(end, acks)) {
    result.status = std::move(*verdict);
    group->finish(slot, std::move(result));
    return true;
  }
  leader_->wait_for(end, acks, std::make_shared<AckSlot>(group, slot, std::move(result)));
  return false;
}

// The original may not be committed yet, or its sync may have failed when the disk was full: its repetition is told
// nothing that the original would not be told.
void Partition::acknowledge_duplicate(const ProducerBatch& original, Acks acks,
                                      const std::shared_ptr<AppendGroup>& group, size_t slot) {
  AppendResult result{.base_offset = original.base_offset,
                      .log_append_time_ms = original.log_append_time_ms,
                      .log_start_offset = common_start()};
  if (acknowledge_when_due(original.next_offset(), acks, group, slot, std::move(result))) return;
  if (config_.acknowledges_after_sync()) {
    services_.durability.make_durable(shared_from_this(), original.next_offset());
  }
}

void Partition::arrange_sync(const AppendOutcome& appended, const SharedBytes& batch) {
  unsynced_records_ += appended.last_offset - appended.base_offset + 1;
  if (config_.acknowledges_after_sync()) {
    // acks=0 promises nothing, yet readers only see what is synced: so it is synced too, in the same rounds.
    services_.durability.make_durable(
        shared_from_this(), StoredBatch{.header = appended.header,
                                        .records = batch.slice(kBatchHeaderSize, batch.size() - kBatchHeaderSize),
                                        .base_offset = appended.base_offset,
                                        .end_offset = appended.last_offset + 1,
                                        .leader_epoch = assignment_.leader_epoch});
  } else {
    arrange_sync_by_rules();
  }
  sync_what_waits();
}

// Where no acknowledgement waits for a sync.
void Partition::arrange_sync_by_rules() {
  if (unsynced_records_ >= config_.flush_messages) {
    services_.durability.make_durable(shared_from_this(), log_->end_offset());
  } else if (config_.flush_ms < kNeverByTime && !flush_timer_running_) {
    flush_timer_running_ = true;
    services_.scheduler.start_timer(services_.clock.now() + Milliseconds(config_.flush_ms), [weak = weak_from_this()] {
      // Weak: a timer of hours must not keep a deleted topic's files open.
      if (const auto self = weak.lock()) self->strand_.run([self] { self->flush_by_time(); });
    });
  }
}

void Partition::sync_what_waits() {
  if (log_->wants_sync()) services_.durability.sync_lazily(shared_from_this());
}

void Partition::flush_by_time() {
  flush_timer_running_ = false;
  if (availability_.ok()) services_.durability.make_durable(shared_from_this(), log_->end_offset());
}

// One line when the disk begins to refuse writes and one when it ends, however many clients try meanwhile: an append
// that still waits for its sync proves nothing. What a client did wrong is said to the client alone.
void Partition::report_write(const Status& status) {
  const bool disk_trouble = !status.ok() && describe(status.code()).level == LogLevel::error;
  if (status.code() == reported_trouble_ || (!status.ok() && !disk_trouble)) return;
  reported_trouble_ = status.code();
  if (status.ok()) {
    log_info("partition", "{}: takes records again", identity_.to_string());
  } else {
    log_error("partition", "{}: takes no records: {}", identity_.to_string(), status.to_string());
  }
}

void Partition::on_durable(Offset end) {
  report_write(Status());
  if (leader_) leader_->synced(end);
  if (log_->durable_end() == log_->end_offset()) unsynced_records_ = 0;
  maybe_end_of_syncs();
  tell_acks_and_readers();
  if (leader_) return;
  tell_follower_observer();
}

// A sync may run although everything is durable: it frees a commit journal.
void Partition::maybe_end_of_syncs() {
  if (log_->durable_end() == log_->end_offset() && !log_->sync_running()) let_close_go_on();
}

void Partition::let_close_go_on() {
  if (!all_synced_) return;
  end_syncs();
  all_synced_->wake();
}

void Partition::on_sync_failed(const Status& reason) {
  if (log_->offline()) return go_offline(reason);
  // No space for a checkpoint or an index, say. What was appended may become durable later; nobody is promised it now.
  report_write(reason);
  fail_waiters(reason);
  for (const auto& [end, waiter] : std::exchange(waiting_for_commit_, {})) waiter->wake();
  let_close_go_on();
}

void Partition::note_offline_damage() {
  const std::scoped_lock lock(damage_mutex_);
  if (log_->offline_reason() != ErrorCode::corrupt_data) return offline_damage_.reset();
  const LogDamage* damage = log_->damage();
  offline_damage_ = OfflineDamage{damage == nullptr ? kNoOffset : damage->offset, assignment_.leader_epoch};
}

void Partition::go_offline(const Status& cause) {
  const bool passes = log_->may_be_reopened();
  const bool passed_before = may_be_reopened_.exchange(passes, std::memory_order_relaxed);
  if (!offline_.exchange(true, std::memory_order_relaxed) || passed_before != passes) {
    log_error("partition", "{} goes offline until {}: {}", identity_.to_string(),
              until_when(log_->offline_reason(), passes), cause.to_string());
  }
  note_offline_damage();
  const Status reason(ErrorCode::log_offline, cause.message());
  stop_serving(reason);
  fail_waiters(reason);
  tell_unsynced_files();
  let_close_go_on();
  if (services_.offline_logs != nullptr) services_.offline_logs->offline_logs_changed();
}

// acks=1 rests on this leader alone: a sync may have taken so long that another one leads by now. What the in-sync set
// has is committed, whoever leads.
void Partition::tell_due_acks() {
  for (auto& due : leader_->take_due()) {
    const bool in_doubt = due.acks == Acks::leader && may_be_replaced();
    due.waiter->acknowledged(in_doubt ? replaced_perhaps() : due.status);
  }
}

void Partition::tell_acks_and_readers() {
  if (leader_) tell_due_acks();
  tell_log_start();
  log_->committed(high_watermark());
  const Offset stable = last_stable_offset();
  note_stable(stable);
  readable_.commit(high_watermark(), stable);
  tell_readers();
  tell_committed();
  tell_proven();
}

void Partition::note_stable(Offset stable) {
  const bool moved = std::exchange(last_stable_, stable) != stable;
  const bool stands = told_unstable_since_.load(std::memory_order_relaxed) != kStable;
  if (stable >= high_watermark()) {
    if (stands) told_unstable_since_.store(kStable, std::memory_order_relaxed);
  } else if (moved || !stands) {
    told_unstable_since_.store(services_.clock.now().time_since_epoch().count(), std::memory_order_relaxed);
  }
}

std::optional<MonotonicTime> Partition::unstable_since() const {
  const Duration::rep since = told_unstable_since_.load(std::memory_order_relaxed);
  if (since == kStable) return std::nullopt;
  return MonotonicTime(Duration(since));
}

uint64_t Partition::readable_bytes(Audience audience) const {
  switch (audience) {
    case Audience::followers:
      return readable_.appended();
    case Audience::committed_consumers:
      return readable_.stable();
    case Audience::consumers:
      break;
  }
  return readable_.committed();
}

void Partition::tell_readers() {
  const bool appended = std::exchange(told_appended_bytes_, readable_.appended()) != readable_.appended();
  const bool committed = std::exchange(told_committed_bytes_, readable_.committed()) != readable_.committed();
  const bool stable = std::exchange(told_stable_bytes_, readable_.stable()) != readable_.stable();
  if (!appended && !committed && !stable) return;
  for (auto& [id, watch] : watches_) {
    if (committed && watch.audience == Audience::followers) watch.watcher->high_watermark_moved(watch.slot);
    const uint64_t readable = readable_bytes(watch.audience);
    if (readable == watch.seen_bytes) continue;
    watch.watcher->more_to_read(watch.slot, readable - watch.seen_bytes);
    watch.seen_bytes = readable;
  }
}

void Partition::tell_committed() {
  std::erase_if(waiting_for_commit_, [this](const auto& waiting) {
    const auto& [end, waiter] = waiting;
    if (!waiter->event().is_set() && availability_.ok() && leader_ && high_watermark() < end) return false;
    waiter->wake();
    return true;
  });
}

void Partition::wake_when_committed(Offset end, std::shared_ptr<Wakeup> waiter) {
  strand_.run([self = shared_from_this(), end, waiter = std::move(waiter)]() mutable {
    self->waiting_for_commit_.emplace_back(end, std::move(waiter));
    self->tell_committed();
    if (self->waiting_for_commit_.empty() || !self->config_.acknowledges_after_sync()) return;
    if (self->log_->durable_end() < end) self->services_.durability.make_durable(self, end);
  });
}

void Partition::tell_log_start() {
  const Offset start = log_->start_offset();
  if (leader_) leader_->begins_at(start, services_.clock.now());
  const Offset common = common_start();
  const bool moved = std::exchange(told_log_start_, start) != start;
  const bool common_moved = std::exchange(told_common_start_, common) != common;
  tell_start_waiters();
  if (!moved && !common_moved) return;
  for (auto& [id, watch] : watches_) {
    const bool concerned = watch.audience == Audience::followers ? moved : common_moved;
    if (concerned) watch.watcher->log_start_moved(watch.slot, watch.audience);
  }
}

void Partition::tell_start_waiters() {
  std::erase_if(waiting_for_start_, [this](const auto& waiting) {
    const auto& [start, waiter] = waiting;
    if (!waiter->event().is_set() && availability_.ok() && leader_ && common_start() < start) return false;
    waiter->wake();
    return true;
  });
}

void Partition::wake_when_started_at(Offset start, std::shared_ptr<Wakeup> waiter) {
  strand_.run([self = shared_from_this(), start, waiter = std::move(waiter)]() mutable {
    self->waiting_for_start_.emplace_back(start, std::move(waiter));
    self->tell_start_waiters();
  });
}

void Partition::tell_unsynced_files() {
  const size_t files = log_->unsynced_files();
  if (std::exchange(told_unsynced_files_, files) != files) services_.unsynced_logs.holds(shared_from_this(), files);
}

void Partition::on_file_sync_ended(bool well) {
  tell_unsynced_files();
  services_.unsynced_logs.sync_ended(*this, well);
}

void Partition::stop_serving(const Status& reason) {
  if (!availability_.ok()) return;
  availability_ = reason;
  for (auto& [id, watch] : watches_) watch.watcher->state_changed(watch.slot);
  tell_committed();
  tell_start_waiters();
  tell_proven();
}

void Partition::fail_waiters(const Status& reason) {
  if (!leader_) return;
  for (const auto& waiter : leader_->take_all()) waiter->acknowledged(reason);
}

Status Partition::why_not_leading() const {
  if (!availability_.ok()) return availability_;
  return leader_ ? Status() : Status(ErrorCode::not_leader_or_follower);
}

Status Partition::why_not_deciding(LeaderEpoch leader_epoch) const {
  if (Status status = why_not_leading(); !status.ok()) return status;
  if (may_be_replaced()) return replaced_perhaps();
  const bool is_meant = leader_epoch == kNoLeaderEpoch || leader_epoch == assignment_.leader_epoch;
  return is_meant || is_planted(Canary::stale_coordinator_writes) ? Status()
                                                                  : Status(ErrorCode::not_leader_or_follower);
}

void Partition::confirm_leadership(LeaderEpoch leader_epoch, UniqueFunction<void(const Status&)> told) {
  strand_.run([self = shared_from_this(), leader_epoch, told = std::move(told)]() mutable {
    told(self->why_not_deciding(leader_epoch));
  });
}

void Partition::prove_leadership(LeaderEpoch leader_epoch, UniqueFunction<void(const Status&)> told) {
  strand_.run([self = shared_from_this(), leader_epoch, told = std::move(told)]() mutable {
    if (const Status refused = self->why_not_deciding(leader_epoch); !refused.ok()) return told(refused);
    const int64_t question = self->leader_->ask_followers(self->services_.clock.now());
    self->waiting_for_proof_.emplace_back(question, std::move(told));
    self->tell_proven();
    if (self->waiting_for_proof_.empty()) return;
    for (auto& [id, watch] : self->watches_) {
      if (watch.audience == Audience::followers) watch.watcher->asked(watch.slot);
    }
  });
}

void Partition::tell_proven() {
  if (waiting_for_proof_.empty()) return;
  const Status refused = why_not_deciding(kNoLeaderEpoch);
  auto waiting = std::exchange(waiting_for_proof_, {});
  for (auto& [question, told] : waiting) {
    if (!refused.ok() || leader_->is_followed_since(question)) {
      told(refused);
    } else {
      waiting_for_proof_.emplace_back(question, std::move(told));
    }
  }
}

// Whoever was elected was in the maximal in-sync set (an answer of the controller may have been lost), and does not
// fetch from this broker any more. As long as all of it does, or nobody else is in it, this is the leader, whatever has
// happened to the controller.
bool Partition::may_be_replaced() const {
  if (services_.contact == nullptr) return false;
  const MonotonicTime now = services_.clock.now();
  if (!services_.contact->lost(now)) return false;
  const MonotonicTime moment = now - services_.contact->patience();
  return std::ranges::any_of(leader_->silent_since(moment),
                             [&](BrokerId member) { return !is_in_session_since(member, moment); });
}

bool Partition::is_in_session_since(BrokerId follower, MonotonicTime moment) const {
  return std::ranges::any_of(watches_,
                             [&](const auto& entry) { return entry.second.watcher->followed_at(follower) >= moment; });
}

void Partition::watch(std::shared_ptr<FetchWatcher> watcher, uint32_t slot, uint64_t seen_bytes, Audience audience) {
  strand_.run([self = shared_from_this(), watcher = std::move(watcher), slot, seen_bytes, audience] {
    const uint64_t readable = self->readable_bytes(audience);
    if (!self->availability_.ok()) watcher->state_changed(slot);
    if (readable > seen_bytes) watcher->more_to_read(slot, readable - seen_bytes);
    const uint64_t id = watcher->id();
    self->watches_.insert_or_assign(id, Watch{watcher, slot, readable, audience});
  });
}

void Partition::unwatch(uint64_t watcher_id) {
  strand_.run([self = shared_from_this(), watcher_id] { self->watches_.erase(watcher_id); });
}

void Partition::set_config(const TopicConfig& config) {
  strand_.run([self = shared_from_this(), config] {
    if (!self->availability_.ok()) return;
    self->config_ = config;
    self->log_->set_config(log_config_of(config));
    if (self->leader_) self->leader_->set_rules(self->rules());
    // Going from the loose rule to flush.messages=1: readers keep what they could see, the tail is synced now.
    if (config.acknowledges_after_sync() && self->log_->durable_end() < self->log_->end_offset()) {
      self->services_.durability.make_durable(self, self->log_->end_offset());
    }
    self->tell_acks_and_readers();
    self->publish_role();
  });
}

Task<Status> Partition::close(Status reason, LogFate fate) {
  // New requests are refused from here on; what was appended before still gets its acknowledgement.
  const auto synced = std::make_shared<Wakeup>();
  const auto undisturbed = std::make_shared<Wakeup>();
  maintenance_cancel_.cancel();
  co_await in_strand(strand_, [this, &synced, &undisturbed, &reason] {
    stop_serving(reason);
    if (maintenance_running_) {
      maintenance_ended_ = undisturbed;
    } else {
      undisturbed->wake();
    }
    begin_closing();
    all_synced_ = synced;
    if (log_->offline()) {
      if (!log_->sync_running()) let_close_go_on();
    } else if (log_->durable_end() < log_->end_offset()) {
      services_.durability.make_durable(shared_from_this(), log_->end_offset());
    } else {
      maybe_end_of_syncs();
    }
    return Unit{};
  });
  co_await synced->event();
  co_await undisturbed->event();
  co_await to_worker(services_.scheduler);  // closing writes checkpoints and syncs them
  co_return co_await in_strand(strand_, [this, fate] {
    // They were appended: "not here" would be a lie that makes a client send them twice.
    fail_waiters(Status(ErrorCode::request_timed_out, "the broker stopped before the records were durable"));
    Status closed;
    if (fate == LogFate::kept) closed = log_->offline() ? log_->offline_reason() : log_->close();
    if (fate == LogFate::reopened) closed = log_->sync_before_reopening();
    may_be_reopened_.store(log_->may_be_reopened(), std::memory_order_relaxed);
    log_->abandon();
    tell_unsynced_files();
    if (closed.ok() && fate != LogFate::reopened) services_.durability.closed(*this);
    return closed;
  });
}

}  // namespace naru
