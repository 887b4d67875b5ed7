#include "replication/partition_maintenance.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "foundation/log.h"

namespace naru {
namespace {

using PartitionPtr = std::shared_ptr<Partition>;

// What the segments that are about to go say of their producers.
Task<Status> store_producers(const PartitionPtr& partition, Scheduler& scheduler) {
  uint64_t truncations = 0;
  auto begun = co_await partition->with_log(
      [&truncations](const LogAccess& access) -> Result<std::optional<ProducerSnapshotWork>> {
        truncations = access.log.truncations();
        return access.log.begin_producer_snapshot();
      });
  if (!begun) co_return begun.error();
  if (!*begun) co_return Status();
  ProducerSnapshotWork& work = **begun;
  co_await on_worker(scheduler, [&work] { work.write_aside(); });
  const auto finished = co_await partition->with_log([&work, truncations](const LogAccess& access) -> Result<Unit> {
    access.log.finish_producer_snapshot(work, truncations);
    return Unit{};
  });
  co_return finished ? Status() : finished.error();
}

Task<Result<RetentionOutcome>> remove_below_start(const PartitionPtr& partition, Scheduler& scheduler) {
  NARU_CO_TRY(co_await store_producers(partition, scheduler));
  NARU_CO_TRY_ASSIGN(const auto removed,
                     co_await partition->with_log([](const LogAccess& access) -> Result<RemovedSegments> {
                       return access.log.take_segments_below_start();
                     }));
  if (removed.empty()) co_return RetentionOutcome{};
  const Status status = co_await on_worker(scheduler, [&removed] { return removed.remove_files(); });
  if (!status.ok()) {
    log_warn("partition", "{}: files of removed segments stay until the next start: {}",
             partition->identity().to_string(), status.to_string());
  }
  co_return RetentionOutcome{.removed_segments = removed.segments, .removed_bytes = removed.bytes};
}

struct StartMove {
  Offset from;
  Offset to;
};

Result<StartMove> plan_retention_inside(const LogAccess& access, WallTimeMs now) {
  PartitionLog& log = access.log;
  NARU_TRY(log.maybe_roll_by_time(now));
  const RetentionRules rules{.by_time_and_size = access.config.deletes_old && access.leads,
                             .retention_ms = access.config.retention_ms,
                             .retention_bytes = access.config.retention_bytes};
  // What a transaction is still being written to, or was not seen to end by those who wait for that, stays.
  const Offset limit = std::min(access.last_stable_offset, log.durable_end());
  const RetentionPlan plan = plan_retention(log.segment_facts(), rules, log.start_offset(), limit, now);
  if (plan.roll_active) NARU_TRY(log.roll_active(now));
  return StartMove{log.start_offset(), plan.start_offset};
}

Task<Result<RetentionOutcome>> retain_in_turn(const PartitionPtr& partition, Clock& clock, Scheduler& scheduler) {
  co_await to_worker(scheduler);  // a new segment means new files
  const WallTimeMs now = clock.wall_now_ms();
  NARU_CO_TRY_ASSIGN(const StartMove move, co_await partition->with_log([now](const LogAccess& access) {
    return plan_retention_inside(access, now);
  }));
  if (move.to > move.from) {
    log_info("partition", "{}: retention moves the log start from {} to {}", partition->identity().to_string(),
             move.from, move.to);
    NARU_CO_TRY_ASSIGN(std::ignore, co_await move_start(partition, scheduler, move.to));
  }
  co_return co_await remove_below_start(partition, scheduler);
}

Result<Offset> check_deletion(const LogAccess& access, Offset up_to) {
  if (!access.leads) return failure(Status(ErrorCode::not_leader_or_follower));
  if (access.config.compacted && !access.config.deletes_old) {
    return failure(ErrorCode::policy_violation, "the topic is compacted only; records are deleted by their keys");
  }
  const Offset start = up_to == Offset(-1) ? access.high_watermark : up_to;
  if (start < Offset(0) || start > access.high_watermark) {
    return failure(ErrorCode::offset_out_of_range, "offset {} is outside of [0, {}]", up_to, access.high_watermark);
  }
  return start;
}

}  // namespace

Task<Result<Offset>> move_start(std::shared_ptr<Partition> partition, Scheduler& scheduler, Offset start) {
  bool safe = false;
  for (int note = 0; note < PartitionLog::kStartNotes || !safe; ++note) {
    NARU_CO_TRY_ASSIGN(const auto noted, co_await partition->with_log([start](const LogAccess& access) {
      return access.log.note_start(start);
    }));
    const Status synced = co_await on_worker(scheduler, [&noted] { return noted.checkpoint->sync_data(); });
    NARU_CO_TRY_ASSIGN(safe, co_await partition->with_log([&](const LogAccess& access) -> Result<bool> {
      NARU_TRY(access.log.start_synced(noted, synced));
      return access.log.start_is_safe(start);
    }));
  }
  co_return co_await partition->with_log([start](const LogAccess& access) -> Result<Offset> {
    NARU_TRY(access.log.adopt_start(start));
    return access.log.start_offset();
  });
}

Task<Result<Offset>> delete_records(std::shared_ptr<Partition> partition, Scheduler& scheduler, Offset up_to) {
  NARU_CO_TRY_ASSIGN(const Offset start, co_await partition->with_log([up_to](const LogAccess& access) {
    return check_deletion(access, up_to);
  }));
  NARU_CO_TRY_ASSIGN(const Offset moved, co_await move_start(partition, scheduler, start));
  if (co_await partition->begin_maintenance()) {
    static_cast<void>(co_await remove_below_start(partition, scheduler));
    co_await partition->end_maintenance();
  }
  co_return moved;
}

Task<Result<Offset>> await_deletion(std::shared_ptr<Partition> partition, Scheduler& scheduler, Offset start,
                                    MonotonicTime deadline, CancelToken cancelled) {
  const auto waiter = std::make_shared<Wakeup>();
  const auto timer = scheduler.start_timer(deadline, [waiter] { waiter->wake(); });
  {
    const CancelCallback on_cancel(cancelled, [waiter] { waiter->wake(); });
    partition->wake_when_started_at(start, waiter);
    co_await waiter->event();
  }
  scheduler.cancel_timer(timer);
  const PartitionView view = co_await partition->look(kNoLeaderEpoch);
  if (!view.status.ok()) co_return failure(view.status);
  if (view.told_start_offset < start) {
    co_return failure(ErrorCode::request_timed_out, "the records are gone here, but not at every in-sync replica");
  }
  co_return view.told_start_offset;
}

Task<Result<RetentionOutcome>> apply_retention(std::shared_ptr<Partition> partition, Clock& clock,
                                               Scheduler& scheduler) {
  if (!co_await partition->begin_maintenance()) co_return RetentionOutcome{};
  auto outcome = co_await retain_in_turn(partition, clock, scheduler);
  co_await partition->sync_soon();  // for the next time
  co_await partition->end_maintenance();
  co_return outcome;
}

}  // namespace naru
