#include "replication/partition_compaction.h"

#include <algorithm>
#include <utility>

#include "foundation/canary.h"

namespace naru {
namespace {

using PartitionPtr = std::shared_ptr<Partition>;
using CompactionPtr = std::unique_ptr<LogCompaction>;

CompactionPlan plan_compaction_inside(const LogAccess& access, WallTimeMs now) {
  if (!access.config.compacted) return {};
  const CompactionPolicy policy{.min_cleanable_dirty_ratio = access.config.min_cleanable_dirty_ratio,
                                .min_compaction_lag_ms = access.config.min_compaction_lag_ms,
                                .max_compaction_lag_ms = access.config.max_compaction_lag_ms};
  const Offset synced = is_planted(Canary::compacts_unsynced) ? access.log.end_offset() : access.log.synced_end();
  const Offset limit = std::min(access.last_stable_offset, synced);
  return plan_compaction(access.log.segment_facts(), access.log.compaction_progress(), policy, limit, now);
}

// Nothing: it is not wanted any more.
Result<CompactionPtr> begin_inside(const LogAccess& access, CompactionSettings settings) {
  const CompactionPlan plan = plan_compaction_inside(access, settings.now);
  if (!plan.wanted) return CompactionPtr();
  settings.delete_retention_ms = access.config.delete_retention_ms;
  settings.drop_limit = access.fetched_from;
  return access.log.begin_compaction(plan.segments, settings);
}

// From the commit on it goes to its end, also when the partition is being closed: the log stays open until then.
Task<Status> swap(const PartitionPtr& partition, LogCompaction& compaction, Scheduler& scheduler) {
  const auto valid = co_await partition->with_log(
      [&compaction](const LogAccess& access) -> Result<bool> { return access.log.begin_swap(compaction); });
  if (!valid || !*valid) {
    co_await on_worker(scheduler, [&compaction] { compaction.discard(); });
    co_return valid ? Status(ErrorCode::cancelled) : valid.error();
  }
  if (const Status stored = co_await on_worker(scheduler, [&compaction] { return compaction.store_horizon(); });
      !stored.ok()) {
    co_await on_worker(scheduler, [&compaction] { compaction.discard(); });
    NARU_CO_TRY(co_await partition->with_log_to_the_end([](const LogAccess& access) {
      access.log.give_up_swap();
      return Status();
    }));
    co_return stored;
  }
  const Status committed = co_await on_worker(scheduler, [&compaction] { return compaction.commit_swap(); });
  NARU_CO_TRY(co_await partition->with_log_to_the_end(
      [&compaction, &committed](const LogAccess& access) { return access.log.adopt_swap(compaction, committed); }));
  const Status finished = co_await on_worker(scheduler, [&compaction] { return compaction.finish_swap(); });
  co_return co_await partition->with_log_to_the_end(
      [&compaction, &finished](const LogAccess& access) { return access.log.end_swap(compaction, finished); });
}

Task<Result<CompactionStatistics>> compact_in_turn(const PartitionPtr& partition, const CompactionServices& services) {
  CancelSource cancel;
  const auto forward = [cancel]() mutable { cancel.cancel(); };
  const CancelCallback on_close(partition->closing(), forward);
  const CancelCallback on_stop(services.stopped, forward);
  const CompactionSettings settings{.now = services.clock.wall_now_ms(),
                                    .map_bytes = services.map_bytes,
                                    .hash_key = services.hash_key,
                                    .cancelled = cancel.token(),
                                    .throttle = services.throttle};
  co_await to_worker(services.scheduler);  // which transactions were aborted is read from disk
  NARU_CO_TRY_ASSIGN(const CompactionPtr compaction, co_await partition->with_log([&settings](const LogAccess& access) {
    return begin_inside(access, settings);
  }));
  if (!compaction) co_return CompactionStatistics{};
  co_await to_worker(services.scheduler);
  NARU_CO_TRY(co_await compaction->read_keys());
  for (;;) {
    co_await to_worker(services.scheduler);
    NARU_CO_TRY_ASSIGN(const bool more, co_await compaction->clean_next());
    if (!more) break;
    NARU_CO_TRY(co_await swap(partition, *compaction, services.scheduler));
  }
  NARU_CO_TRY(co_await on_worker(services.scheduler, [&compaction] { return compaction->write_progress(); }));
  NARU_CO_TRY(co_await partition->with_log_to_the_end([&compaction](const LogAccess& access) {
    access.log.end_compaction(*compaction);
    return Status();
  }));
  co_return compaction->statistics();
}

}  // namespace

Task<Result<CompactionPlan>> look_for_compaction(std::shared_ptr<Partition> partition, Clock& clock) {
  const WallTimeMs now = clock.wall_now_ms();
  co_return co_await partition->with_log(
      [now](const LogAccess& access) -> Result<CompactionPlan> { return plan_compaction_inside(access, now); });
}

Task<Result<CompactionStatistics>> compact_partition(std::shared_ptr<Partition> partition,
                                                     CompactionServices services) {
  if (!co_await partition->begin_maintenance()) co_return CompactionStatistics{};
  auto statistics = co_await compact_in_turn(partition, services);
  co_await partition->end_maintenance();
  co_return statistics;
}

}  // namespace naru
