#include "broker/log_maintenance.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "foundation/log.h"
#include "replication/partition_maintenance.h"

namespace naru {
namespace {

// A log whose compaction failed is left alone for so long: trying means to read all of it.
constexpr Duration kPatienceAfterFailure = 10min;

// The first look at retention comes soon after the start, as in Kafka: a broker that is restarted more often than the
// interval says would never remove anything, and the partitions that it leads would grow on all of their replicas.
constexpr Duration kFirstRetention = 30s;

constexpr Duration kUnusedFilesInterval = 60s;

// The partition is on its way out: whoever closes it has the say.
bool is_expected(const Status& status) {
  return status == ErrorCode::unknown_topic_or_partition || status == ErrorCode::shutting_down ||
         status == ErrorCode::log_offline || status == ErrorCode::cancelled;
}

struct Candidate {
  std::shared_ptr<Partition> partition;
  CompactionPlan plan;
};

}  // namespace

LogMaintenance::Metrics::Metrics(MetricsRegistry& registry)
    : removed_segments(
          registry.counter("naru_log_retention_segments_deleted_total", "Segments that retention removed")),
      removed_bytes(
          registry.counter("naru_log_retention_bytes_deleted_total", "Bytes of segments that retention removed")),
      compactions(registry.counter("naru_log_cleaner_runs_total", "Compactions of a log")),
      compaction_failures(registry.counter("naru_log_cleaner_failures_total", "Compactions that failed")),
      compaction_read_bytes(
          registry.counter("naru_log_cleaner_read_bytes_total", "Bytes that compactions have gone over")),
      compaction_replaced_bytes(registry.counter("naru_log_cleaner_replaced_bytes_total",
                                                 "Bytes of segments that compacted ones took the place of")),
      compaction_written_bytes(
          registry.counter("naru_log_cleaner_written_bytes_total", "Bytes of the compacted segments")),
      compaction_removed_records(
          registry.counter("naru_log_cleaner_removed_records_total", "Records that compactions removed")),
      dirtiest_percent(registry.gauge("naru_log_cleaner_max_dirty_percent",
                                      "Share of uncompacted bytes of the log that has the largest one")),
      log_bytes(registry.gauge("naru_log_size_bytes", "Bytes of all logs, without their indexes")),
      log_segments(registry.gauge("naru_log_segments", "Segments of all logs")) {}

LogMaintenance::LogMaintenance(Seams seams, const BrokerConfig& config, const LiveConfig& live_config,
                               const HostedPartitions& hosted, OpenFiles& open_files, MetricsRegistry& metrics)
    : seams_(seams),
      config_(config),
      live_config_(live_config),
      hosted_(hosted),
      open_files_(open_files),
      metrics_(metrics),
      hash_key_{.low = seams.random.next(), .high = seams.random.next()},
      throttle_(seams.clock, seams.scheduler,
                [&live_config] { return live_config.current()->log_cleaner_io_bytes_per_second; }) {}

void LogMaintenance::start() {
  tasks_.spawn(retain_forever());
  tasks_.spawn(close_unused_files_forever());
  obey_config();
}

void LogMaintenance::obey_config() {
  const auto wanted = static_cast<size_t>(live_config_.current()->log_cleaner_threads);
  const std::scoped_lock lock(mutex_);
  for (size_t i = 0; config_.log_cleaner_enable && !stopped_ && i < wanted; ++i) {
    if (compacting_.insert(i).second) tasks_.spawn(compact_forever(i));
  }
}

size_t LogMaintenance::compactions() const {
  const std::scoped_lock lock(mutex_);
  return compacting_.size();
}

Task<void> LogMaintenance::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  tasks_.cancel();
  co_await tasks_.join();
}

// --- Retention ------------------------------------------------------------------------------------------------------

Task<void> LogMaintenance::retain_forever() {
  const CancelToken stopped = tasks_.token();
  Duration pause = std::min<Duration>(kFirstRetention, config_.log_retention_check_interval);
  for (;;) {
    const Status slept = co_await sleep_until(seams_.scheduler, seams_.clock.now() + pause, stopped);
    if (!slept.ok()) co_return;
    pause = config_.log_retention_check_interval;
    for (const auto& partition : hosted_.all()) {
      if (stopped.cancelled()) co_return;
      co_await retain(partition);
    }
    co_await measure();
  }
}

Task<void> LogMaintenance::retain(PartitionPtr partition) {
  const auto outcome = co_await apply_retention(partition, seams_.clock, seams_.scheduler);
  if (outcome) {
    metrics_.removed_segments.add(outcome->removed_segments);
    metrics_.removed_bytes.add(outcome->removed_bytes);
  } else if (!is_expected(outcome.error())) {
    log_warn("maintenance", "{}: retention could not be applied: {}", partition->identity().to_string(),
             outcome.error().to_string());
  }
}

Task<void> LogMaintenance::measure() {
  int64_t bytes = 0;
  int64_t segments = 0;
  for (const auto& partition : hosted_.all()) {
    const auto size = co_await partition->with_log([](const LogAccess& access) -> Result<std::pair<uint64_t, size_t>> {
      return std::pair(access.log.size_bytes(), access.log.segment_count());
    });
    if (!size) continue;
    bytes += static_cast<int64_t>(size->first);
    segments += static_cast<int64_t>(size->second);
  }
  metrics_.log_bytes.set(bytes);
  metrics_.log_segments.set(segments);
}

// --- Files ----------------------------------------------------------------------------------------------------------

Task<void> LogMaintenance::close_unused_files_forever() {
  const CancelToken stopped = tasks_.token();
  while ((co_await sleep_until(seams_.scheduler, seams_.clock.now() + kUnusedFilesInterval, stopped)).ok()) {
    co_await on_worker(seams_.scheduler, [this] {
      open_files_.close_unused();
      return Unit{};
    });
  }
}

// --- Compaction -----------------------------------------------------------------------------------------------------

Task<void> LogMaintenance::compact_forever(size_t index) {
  const CancelToken stopped = tasks_.token();
  for (;;) {
    const auto next = seams_.clock.now() + live_config_.current()->log_cleaner_backoff;
    const Status slept = co_await sleep_until(seams_.scheduler, next, stopped);
    if (!slept.ok()) co_return;
    do {
      if (is_surplus(index)) co_return;
    } while (!stopped.cancelled() && co_await compact_dirtiest());
  }
}

bool LogMaintenance::is_surplus(size_t index) {
  const std::scoped_lock lock(mutex_);
  if (index < static_cast<size_t>(live_config_.current()->log_cleaner_threads)) return false;
  compacting_.erase(index);
  return true;
}

Task<bool> LogMaintenance::compact_dirtiest() {
  std::vector<Candidate> candidates;
  double dirtiest = 0;
  for (auto& partition : hosted_.all()) {
    const auto plan = co_await look_for_compaction(partition, seams_.clock);
    if (!plan) continue;
    dirtiest = std::max(dirtiest, plan->dirty_ratio);
    if (plan->wanted && !is_given_up(*partition)) candidates.push_back({std::move(partition), *plan});
  }
  metrics_.dirtiest_percent.set(static_cast<int64_t>(dirtiest * 100));
  std::ranges::sort(candidates, std::ranges::greater(), [](const Candidate& candidate) {
    return std::tuple(candidate.plan.overdue, candidate.plan.dirty_ratio);
  });
  // One that another thread is at does nothing; then it is the next one's turn.
  for (const Candidate& candidate : candidates) {
    if (co_await compact(candidate.partition)) co_return true;
  }
  co_return false;
}

bool LogMaintenance::is_given_up(const Partition& partition) {
  const std::scoped_lock lock(mutex_);
  const auto found = given_up_until_.find({partition.identity().topic_id, partition.identity().index});
  if (found == given_up_until_.end()) return false;
  if (found->second > seams_.clock.now()) return true;
  given_up_until_.erase(found);
  return false;
}

Task<bool> LogMaintenance::compact(PartitionPtr partition) {
  const auto done =
      co_await compact_partition(partition, {.clock = seams_.clock,
                                             .scheduler = seams_.scheduler,
                                             .hash_key = hash_key_,
                                             .map_bytes = live_config_.current()->log_cleaner_dedupe_buffer_bytes,
                                             .stopped = tasks_.token(),
                                             .throttle = &throttle_});
  if (!done) {
    if (is_expected(done.error())) co_return false;
    metrics_.compaction_failures.add();
    const bool damaged = done.error() == ErrorCode::corrupt_message || done.error() == ErrorCode::corrupt_data;
    if (damaged && tell_damaged_) tell_damaged_(partition->id());
    log_warn("maintenance", "{} could not be compacted, and is left as it is for some minutes: {}",
             partition->identity().to_string(), done.error().to_string());
    const std::scoped_lock lock(mutex_);
    given_up_until_[{partition->identity().topic_id, partition->identity().index}] =
        seams_.clock.now() + kPatienceAfterFailure;
    co_return false;
  }
  if (done->read_bytes == 0) co_return false;
  metrics_.compactions.add();
  metrics_.compaction_read_bytes.add(done->read_bytes);
  metrics_.compaction_replaced_bytes.add(done->replaced_bytes);
  metrics_.compaction_written_bytes.add(done->written_bytes);
  metrics_.compaction_removed_records.add(done->removed_records);
  log_info("maintenance", "compacted {}: {} bytes of {} segments became {} of {}, {} records went",
           partition->identity().to_string(), done->replaced_bytes, done->replaced_segments, done->written_bytes,
           done->new_segments, done->removed_records);
  // Retention passes over a partition while it is compacted.
  co_await retain(partition);
  co_return true;
}

}  // namespace naru
