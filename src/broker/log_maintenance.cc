#include "broker/log_maintenance.h"

#include <utility>

#include "foundation/log.h"
#include "replication/partition_maintenance.h"

namespace naru {
namespace {

// The partition is on its way out: whoever closes it has the say.
bool is_expected(const Status& status) {
  return status == ErrorCode::unknown_topic_or_partition || status == ErrorCode::shutting_down ||
         status == ErrorCode::log_offline || status == ErrorCode::cancelled;
}

}  // namespace

LogMaintenance::LogMaintenance(Seams seams, const BrokerConfig& config, const HostedPartitions& hosted,
                               MetricsRegistry& metrics)
    : seams_(seams),
      config_(config),
      hosted_(hosted),
      removed_segments_(metrics.counter("naru_log_retention_segments_deleted_total",
                                        "Segments that retention or DeleteRecords removed")),
      removed_bytes_(metrics.counter("naru_log_retention_bytes_deleted_total",
                                     "Bytes of segments that retention or DeleteRecords removed")) {}

void LogMaintenance::start() {
  tasks_.spawn(retain_forever());
}

Task<void> LogMaintenance::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> LogMaintenance::retain_forever() {
  const CancelToken stopped = tasks_.token();
  for (;;) {
    const auto next = seams_.clock.now() + config_.log_retention_check_interval;
    const Status slept = co_await sleep_until(seams_.scheduler, next, stopped);
    if (!slept.ok()) co_return;
    for (const auto& partition : hosted_.all()) {
      if (stopped.cancelled()) co_return;
      co_await retain(partition);
    }
  }
}

Task<void> LogMaintenance::retain(std::shared_ptr<Partition> partition) {
  const auto outcome = co_await apply_retention(partition, seams_.clock, seams_.scheduler);
  if (outcome) {
    removed_segments_.add(outcome->removed_segments);
    removed_bytes_.add(outcome->removed_bytes);
  } else if (!is_expected(outcome.error())) {
    log_warn("maintenance", "{}: retention could not be applied: {}", partition->identity().to_string(),
             outcome.error().to_string());
  }
}

}  // namespace naru
