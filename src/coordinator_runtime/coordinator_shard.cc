#include "coordinator_runtime/coordinator_shard.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <utility>

#include "async/in_strand.h"
#include "async/one_shot.h"
#include "coordinator_runtime/shard_loader.h"
#include "foundation/assert.h"
#include "foundation/canary.h"
#include "foundation/log.h"
#include "foundation/request_canary.h"
#include "record_format/batch_builder.h"
#include "record_format/batch_validator.h"
#include "replication/append_group.h"

namespace naru {
namespace {

// More than this waits for a batch only if the disk is in trouble. Requests are refused then.
constexpr size_t kGatheredMaxBytes = 16 << 20;
// A disk that is full now is so for a while.
constexpr Duration kReloadDelay = 1s;
constexpr Duration kStopPatience = 2s;
// Between one attempt to read a log and the next, after several in vain.
constexpr Duration kReloadDelayMax = 5s;
// Larger writes are put together by a worker.
constexpr size_t kWriteMaxBytesOnLoop = 256 << 10;

using Records = std::vector<CoordinatorRecord>;

size_t size_of(const CoordinatorRecord& record) {
  constexpr size_t kOverhead = 32;
  return kOverhead + record.key.size() + (record.value ? record.value->size() : 0);
}

size_t size_of(const Records& records) {
  size_t bytes = 0;
  for (const CoordinatorRecord& record : records) bytes += size_of(record);
  return bytes;
}

Result<AppendRequest> append_request(const Records& records, const std::optional<ProducerIdentity>& transaction,
                                     LeaderEpoch leader_epoch, WallTimeMs now) {
  BatchOptions options;
  if (transaction) {
    options.transactional = true;
    options.producer_id = transaction->id;
    options.producer_epoch = transaction->epoch;
  }
  BatchBuilder builder(options);
  for (const CoordinatorRecord& record : records) {
    builder.add({.timestamp = now,
                 .key = BytesView(record.key),
                 .value = record.value ? std::optional<BytesView>(*record.value) : std::nullopt,
                 .headers = {}});
  }
  NARU_TRY_ASSIGN(Bytes batch, builder.build());
  // Our own records: only the log's own limits hold for them.
  NARU_TRY_ASSIGN(
      ValidatedBatch validated,
      validate_produced_batch(
          batch, {.max_message_bytes = std::numeric_limits<int32_t>::max(), .sequence_required = false}, now));
  return AppendRequest{.batch = SharedBytes(std::move(batch)),
                       .validated = validated,
                       .acks = Acks::all_in_sync,
                       .leader_epoch = leader_epoch,
                       .by_coordinator = transaction.has_value()};
}

// This broker does not lead in the shard's epoch: not yet, or not any more.
bool is_about_leadership(const Status& status) {
  return status == ErrorCode::not_leader_or_follower || status == ErrorCode::fenced_leader_epoch ||
         status == ErrorCode::unknown_leader_epoch;
}

// In words that every client knows how to go on with.
Status to_client(const Status& failed) {
  const bool gone = is_about_leadership(failed) || failed == ErrorCode::unknown_topic_or_partition ||
                    failed == ErrorCode::log_offline || failed == ErrorCode::kafka_storage_error;
  return Status(gone ? ErrorCode::not_coordinator : ErrorCode::coordinator_not_available, failed.message());
}

bool is_long(size_t elements) {
  const bool on_loops =
      is_planted(RequestCanary::long_steps_on_loops) || is_planted(RequestCanary::producer_ids_by_walk);
  return elements > CoordinatorShard::kElementsOnLoop && !on_loops;
}

void tell(std::vector<UniqueFunction<void(const Status&)>> replies, const Status& status) {
  for (auto& reply : replies) reply(status);
}

// A hundred thousand groups take a tenth of a second.
Task<void> destroy_on_worker(Scheduler& scheduler, std::unique_ptr<StateShard> state) {
  co_await to_worker(scheduler);
  state.reset();
}

}  // namespace

CoordinatorShard::CoordinatorShard(std::shared_ptr<Partition> partition, LeaderEpoch leader_epoch,
                                   StateShardFactory& factory, CoordinatorServices services)
    : partition_(std::move(partition)), leader_epoch_(leader_epoch), factory_(factory), services_(services) {}

CoordinatorTime CoordinatorShard::time() const {
  return {.now = services_.clock.now(), .wall_ms = services_.clock.wall_now_ms()};
}

// --- Loading ---------------------------------------------------------------------------------------------------------

void CoordinatorShard::start() {
  services_.tasks.spawn(load(shared_from_this()));
}

Task<void> CoordinatorShard::load([[maybe_unused]] Self self) {
  const MonotonicTime begun = services_.clock.now();
  std::unique_ptr<StateShard> state = factory_.make(partition_->identity().index, leader_epoch_);
  const Status loaded = co_await load_shard(partition_, leader_epoch_, *state, services_.scheduler, stopping_.token());
  partition_->suspect_damage(loaded);
  if (loaded.ok()) services_.metrics.load_seconds.record(services_.clock.now() - begun);
  co_await in_strand(strand_, [this, &state, &loaded] {
    install(std::move(state), loaded);
    return Unit{};
  });
}

void CoordinatorShard::install(std::unique_ptr<StateShard> state, const Status& loaded) {
  if (stage_ == Stage::stopped) return;
  if (is_about_leadership(loaded)) {
    // The next metadata says who leads. If this broker does after all, it has not heard of that yet.
    stage_ = Stage::loading;
    load_later(kReloadDelay);
    return;
  }
  if (!loaded.ok()) {
    could_not_load(loaded);
    return;
  }
  failed_loads_ = 0;
  state_ = std::move(state);
  stage_ = Stage::serving;
  finish(state_->elements(), [this] {
    state_->loaded(time());
    decide(
        [this](const CoordinatorTime& time, CoordinatorOutcome& outcome) { factory_.loaded(*state_, time, outcome); });
  });
}

void CoordinatorShard::could_not_load(const Status& why) {
  if (why == ErrorCode::cancelled) return;  // stop() is about to say so itself
  services_.metrics.load_failures.add();
  // What the log says does not get better by reading it again; a disk or a process that is short of something may.
  if (why == ErrorCode::corrupt_data || why == ErrorCode::unsupported_format) {
    log_error("coordinator", "{} cannot be read, so its coordinator is not available until a restart: {}",
              partition_->identity().to_string(), why.to_string());
    stage_ = Stage::unreadable;
    return;
  }
  const Duration delay = std::min(kReloadDelay * (1 << std::min(failed_loads_++, 10)), kReloadDelayMax);
  log_warn("coordinator", "{} cannot be read now, and will be read again in {} s: {}",
           partition_->identity().to_string(), std::chrono::duration_cast<std::chrono::seconds>(delay).count(),
           why.to_string());
  load_later(delay);
}

void CoordinatorShard::load_later(Duration delay) {
  timer_ = {services_.clock.now() + delay, 0};
  timer_->id = services_.scheduler.start_timer(timer_->deadline, [self = shared_from_this()] {
    self->strand_.run([self] {
      self->timer_.reset();
      if (self->stage_ == Stage::loading) self->services_.tasks.spawn(self->load(self));
    });
  });
}

// --- Steps -----------------------------------------------------------------------------------------------------------

void CoordinatorShard::run(Step step) {
  strand_.run([self = shared_from_this(), step = std::move(step)]() mutable {
    Status refused = self->why_not_serving();
    if (step.only_in != kNoLeaderEpoch && step.only_in != self->leader_epoch_) {
      refused = Status(ErrorCode::not_leader_or_follower, "asked for another leader epoch");
    }
    if (refused.ok() && !step.is_news && self->gathered_.bytes > kGatheredMaxBytes) {
      refused = Status(ErrorCode::coordinator_not_available, "too much waits for the disk");
    }
    if (!refused.ok()) {
      step.refuse(refused);
      return;
    }
    const size_t of_state = step.elements_of_state ? step.elements_of_state(*self->state_) : 0;
    const auto decide = [](CoordinatorShard& shard, Step& taken) {
      shard.decide(
          [&](const CoordinatorTime& time, CoordinatorOutcome& outcome) { taken.run(*shard.state_, time, outcome); });
    };
    if (!is_long(step.elements + of_state)) return decide(*self, step);  // nearly always, and then nothing is allocated
    self->on_worker([decide, &shard = *self, step = std::move(step)]() mutable { decide(shard, step); });
  });
}

void CoordinatorShard::finish(size_t elements, UniqueFunction<void()> rest) {
  if (is_long(elements)) return on_worker(std::move(rest));
  rest();
}

// The strand stays taken meanwhile: nothing happens to the shard before the rest has run.
void CoordinatorShard::on_worker(UniqueFunction<void()> rest) {
  struct Carry final : StrandEvent {
    Self shard;
    UniqueFunction<void()> rest;
  };
  auto* carry = new Carry;
  carry->shard = shared_from_this();
  carry->rest = std::move(rest);
  carry->run = [](StrandEvent* event) {
    const std::unique_ptr<Carry> carried(static_cast<Carry*>(event));
    Scheduler& scheduler = carried->shard->services_.scheduler;
    scheduler.run_blocking([shard = std::move(carried->shard), rest = std::move(carried->rest)]() mutable {
      shard->strand_.go_on(std::move(rest));
    });
  };
  strand_.hand_over(carry);
}

Status CoordinatorShard::why_not_serving() const {
  switch (stage_) {
    case Stage::loading:
      return Status(ErrorCode::coordinator_load_in_progress);
    case Stage::unreadable:
      return Status(ErrorCode::coordinator_not_available, "its log cannot be read");
    case Stage::stopped:
      return Status(ErrorCode::not_coordinator);
    case Stage::serving:
      break;
  }
  return Status();
}

template <class Decide>
void CoordinatorShard::decide(Decide&& decide) {
  CoordinatorOutcome outcome;
  decide(time(), outcome);
  take(std::move(outcome));
  arm_timer();
}

void CoordinatorShard::take(CoordinatorOutcome outcome) {
  const bool writes = !outcome.records.empty() || outcome.marker.has_value();
  if (!writes && gathered_.parts.empty() && !writing_) {
    answer(std::move(outcome.replies), outcome.proves_leadership);
    return;
  }
  gathered_.proves_leadership |= outcome.proves_leadership;
  gathered_.bytes += size_of(outcome.records);
  if (writes) std::ranges::move(parts_of(outcome, services_.batch_max_bytes), std::back_inserter(gathered_.parts));
  if (is_planted(Canary::early_coordinator_reply)) {
    tell(std::move(outcome.replies), Status());
    outcome.replies.clear();
  }
  std::ranges::move(outcome.replies, std::back_inserter(gathered_.replies));
  if (!writing_) write_gathered();
}

// To those who have looked at what is committed.
void CoordinatorShard::answer(Replies replies, bool proves_leadership) {
  if (replies.empty()) return;
  const bool proves = proves_leadership && !is_planted(Canary::stale_positions_told);
  if (!proves && partition_->has_contact()) return tell(std::move(replies), Status());
  auto answer = [self = shared_from_this(), replies = std::move(replies)](const Status& leads) mutable {
    self->strand_.run([self, replies = std::move(replies), leads]() mutable {
      const size_t count = replies.size();
      self->finish(count, [replies = std::move(replies), leads]() mutable {
        tell(std::move(replies), leads.ok() ? leads : to_client(leads));
      });
    });
  };
  if (proves) {
    partition_->prove_leadership(leader_epoch_, std::move(answer));
  } else {
    partition_->confirm_leadership(leader_epoch_, std::move(answer));
  }
}

// --- Writing ---------------------------------------------------------------------------------------------------------

// The parts of a step that have to be in one batch each.
std::vector<CoordinatorShard::Part> CoordinatorShard::parts_of(CoordinatorOutcome& outcome, size_t max_bytes) {
  NARU_ASSERT(!outcome.transaction || !outcome.marker, "a step inside of a transaction ends none");
  std::vector<Part> parts;
  if (outcome.transaction || size_of(outcome.records) <= max_bytes) outcome.cuts.clear();
  outcome.cuts.push_back(outcome.records.size());
  auto from = outcome.records.begin();
  for (const size_t cut : outcome.cuts) {
    const auto to = outcome.records.begin() + static_cast<ptrdiff_t>(cut);
    if (from != to) {
      parts.push_back({.records = Records(std::move_iterator(from), std::move_iterator(to)),
                       .transaction = outcome.transaction,
                       .marker = std::nullopt});
    }
    from = to;
  }
  if (outcome.marker) parts.push_back({.records = {}, .transaction = std::nullopt, .marker = outcome.marker});
  return parts;
}

// One after the other, as many in a batch as fit and may.
std::vector<CoordinatorShard::Part> CoordinatorShard::batches_of(std::vector<Part> parts, size_t max_bytes) {
  std::vector<Part> batches;
  size_t bytes = 0;
  for (Part& part : parts) {
    const size_t added = size_of(part.records);
    const bool joins = !batches.empty() && batches.back().is_plain() && part.is_plain() && bytes + added <= max_bytes;
    if (joins) {
      bytes += added;
      std::ranges::move(part.records, std::back_inserter(batches.back().records));
    } else {
      bytes = added;
      batches.push_back(std::move(part));
    }
  }
  return batches;
}

void CoordinatorShard::write_gathered() {
  Gathered gathered = std::exchange(gathered_, {});
  if (gathered.parts.empty()) return answer(std::move(gathered.replies), gathered.proves_leadership);
  writing_ = std::move(gathered.replies);
  services_.tasks.spawn(write(shared_from_this(), std::move(gathered.parts)));
}

Status CoordinatorShard::append(const Part& batch, const std::shared_ptr<AppendGroup>& group, size_t slot) {
  if (batch.marker) {
    partition_->append_marker({.producer = batch.marker->producer,
                               .marker = batch.marker->marker,
                               .transaction_version = batch.marker->transaction_version,
                               .leader_epoch = leader_epoch_},
                              group, slot);
    return Status();
  }
  NARU_TRY_ASSIGN(AppendRequest request,
                  append_request(batch.records, batch.transaction, leader_epoch_, services_.clock.wall_now_ms()));
  partition_->append(std::move(request), group, slot);
  return Status();
}

Task<void> CoordinatorShard::write([[maybe_unused]] Self self, std::vector<Part> parts) {
  const MonotonicTime begun = services_.clock.now();
  size_t bytes = 0;
  for (const Part& part : parts) bytes += size_of(part.records);
  const std::vector<Part> batches = batches_of(std::move(parts), services_.batch_max_bytes);
  const auto group = std::make_shared<AppendGroup>(batches.size());
  on_its_way_ = group;  // still in the strand
  if (bytes > kWriteMaxBytesOnLoop) co_await to_worker(services_.scheduler);
  for (size_t i = 0; i < batches.size(); ++i) {
    if (Status built = append(batches[i], group, i); !built.ok()) group->finish(i, {.status = std::move(built)});
  }
  co_await group->settled();
  Status status;
  for (size_t i = 0; i < batches.size(); ++i) {
    if (status.ok()) status = group->result(i).status;
    services_.metrics.write_records.record(batches[i].marker ? 1 : batches[i].records.size());
  }
  if (status.ok()) services_.metrics.write_seconds.record(services_.clock.now() - begun);
  OneShot<> told;  // the task is waited for before what the answers use is gone
  strand_.run([this, &status, &told] {
    finish(writing_->size() + gathered_.replies.size(), [this, &status, &told] {
      written(status);
      told.set();
    });
  });
  co_await told;
}

void CoordinatorShard::written(const Status& status) {
  NARU_ASSERT(writing_.has_value(), "a batch was written that nobody waits for");
  auto replies = std::move(*writing_);
  writing_.reset();
  on_its_way_.reset();
  if (status.ok() || (is_planted(Canary::failed_write_kept) && stage_ == Stage::serving)) {
    tell(std::move(replies), status.ok() ? Status() : to_client(status));
    write_gathered();
    return;
  }
  const Status reason = to_client(status);
  tell(std::move(replies), reason);
  abandon_state(reason);
  if (stage_ == Stage::stopped) return;
  services_.metrics.write_failures.add();
  log_warn("coordinator", "{}: records were not committed: {}", partition_->identity().to_string(), status.to_string());
  stage_ = Stage::loading;
  load_later(kReloadDelay);
}

void CoordinatorShard::abandon_state(const Status& reason) {
  tell(std::exchange(gathered_, {}).replies, reason);
  disarm_timer();
  if (!state_) return;
  state_->unload(reason);
  if (is_long(state_->elements())) {
    services_.tasks.spawn(destroy_on_worker(services_.scheduler, std::move(state_)));
  }
  state_.reset();
}

Task<void> CoordinatorShard::stop() {
  stopping_.cancel();
  co_await in_strand(strand_, [this] {
    const Status reason(ErrorCode::not_coordinator);
    stage_ = Stage::stopped;
    // What was applied and is not on its way to the log never happened.
    abandon_state(reason);
    // What is on its way is waited for, but not for followers that may never come.
    if (on_its_way_) {
      services_.scheduler.start_timer(services_.clock.now() + kStopPatience,
                                      [group = on_its_way_] { group->give_up(); });
    }
    return Unit{};
  });
}

// --- Timers ----------------------------------------------------------------------------------------------------------

// A timer that fires too early costs less than setting it anew with every heartbeat.
void CoordinatorShard::arm_timer() {
  const auto deadline = state_->next_deadline();
  if (!deadline || (timer_ && timer_->deadline <= *deadline)) return;
  disarm_timer();
  const auto id = services_.scheduler.start_timer(*deadline, [self = shared_from_this()] {
    self->strand_.run([self] {
      self->timer_.reset();
      if (self->stage_ != Stage::serving) return;
      self->finish(self->state_->elements(), [&shard = *self] { shard.on_timer(); });
    });
  });
  timer_ = Timer{.deadline = *deadline, .id = id};
}

void CoordinatorShard::on_timer() {
  decide([this](const CoordinatorTime& time, CoordinatorOutcome& outcome) { state_->on_timer(time, outcome); });
}

void CoordinatorShard::disarm_timer() {
  if (timer_) services_.scheduler.cancel_timer(timer_->id);
  timer_.reset();
}

}  // namespace naru
