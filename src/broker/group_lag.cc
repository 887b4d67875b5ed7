#include "broker/group_lag.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "consumer_groups/group_coordinator.h"
#include "record_format/record_batch.h"

namespace naru {
namespace {

// Whoever has more groups than that looks at single ones with `naru group describe`.
constexpr size_t kMaxSeries = 10'000;

}  // namespace

struct GroupLag::Series {
  std::atomic<int64_t> records{0};
  std::atomic<int64_t> oldest_ms{0};
  GaugeCallback records_gauge;
  GaugeCallback seconds_gauge;
};

GroupLag::GroupLag(const HostedPartitions& hosted, Clock& clock, Scheduler& scheduler, MetricsRegistry& metrics)
    : hosted_(hosted), clock_(clock), scheduler_(scheduler), metrics_(metrics) {}
GroupLag::~GroupLag() = default;

Task<void> GroupLag::measure(const CoordinatorRuntime& runtime) {
  co_await to_worker(scheduler_);  // thousands of groups take a while
  std::map<GroupAndTopic, Lag> lags;
  for (const auto& shard : runtime.shards()) co_await measure_shard(shard, lags);
  publish(lags);
}

Task<void> GroupLag::measure_shard(std::shared_ptr<CoordinatorShard> shard, std::map<GroupAndTopic, Lag>& lags) {
  for (ListGroups page{.max = kGroupsPerStep};;) {
    const auto groups = co_await ask_shard<GroupCoordinator, std::vector<ListedGroup>>(
        shard, [page](GroupCoordinator& coordinator, Reply<std::vector<ListedGroup>> reply, const CoordinatorTime& time,
                      CoordinatorOutcome& outcome) { coordinator.list_groups(page, std::move(reply), time, outcome); });
    if (!groups) co_return;
    for (const ListedGroup& group : *groups) {
      if (lags.size() >= kMaxSeries) co_return;
      co_await measure_group(shard, group.group_id, lags);
    }
    if (groups->size() < page.max) co_return;
    page.after = groups->back().group_id;
  }
}

Task<void> GroupLag::measure_group(std::shared_ptr<CoordinatorShard> shard, std::string group,
                                   std::map<GroupAndTopic, Lag>& lags) {
  const auto fetched = co_await ask_shard<GroupCoordinator, FetchOffsetsAnswer>(
      shard, [group](GroupCoordinator& coordinator, Reply<FetchOffsetsAnswer> reply, const CoordinatorTime& time,
                     CoordinatorOutcome& outcome) {
        coordinator.fetch_offsets({.group_id = group}, std::move(reply), time, outcome);
      });
  if (!fetched) co_return;
  for (const FetchedOffset& entry : fetched->offsets) {
    const HostedPartition hosted = hosted_.find(entry.partition.topic, entry.partition.partition);
    if (!hosted || !entry.committed) continue;
    if (!entry.committed->belongs_to(hosted.partition->identity().topic_id)) continue;
    const PartitionView view = co_await hosted.partition->look(kNoLeaderEpoch);
    if (!view.status.ok()) continue;
    Lag& lag = lags[{group, entry.partition.topic}];
    const Offset next = std::max(entry.committed->offset, view.log_start_offset);
    if (next >= view.high_watermark) continue;
    lag.records += view.high_watermark - next;
    lag.oldest_ms = std::max(lag.oldest_ms, co_await age_of_record(hosted.partition, next));
  }
}

// To the batch: its records are rarely more than a moment apart.
Task<int64_t> GroupLag::age_of_record(std::shared_ptr<Partition> partition, Offset offset) {
  const PartitionView view = co_await partition->read({.from = offset, .max_bytes = 1, .at_least_one_batch = true});
  if (!view.status.ok() || view.slice.empty()) co_return 0;
  co_return co_await on_worker(scheduler_, [this, &view]() -> int64_t {
    Bytes bytes(kBatchHeaderSize);
    const auto got = view.slice.file->read_at(view.slice.position, bytes);
    if (!got || *got != bytes.size()) return 0;
    const auto header = parse_batch_header(bytes);
    if (!header || header->max_timestamp == kNoTimestamp) return 0;
    return std::max<int64_t>(clock_.wall_now_ms() - header->max_timestamp, 0);
  });
}

void GroupLag::publish(const std::map<GroupAndTopic, Lag>& lags) {
  std::erase_if(series_, [&lags](const auto& entry) { return !lags.contains(entry.first); });
  for (const auto& [key, lag] : lags) {
    std::unique_ptr<Series>& series = series_[key];
    if (!series) {
      series = std::make_unique<Series>();
      const MetricLabels labels{{"group", key.first}, {"topic", key.second}};
      series->records_gauge = metrics_.computed_gauge(
          "naru_group_lag_records", "Records that the group has not read yet", labels,
          [at = series.get()] { return static_cast<double>(at->records.load(std::memory_order_relaxed)); });
      series->seconds_gauge = metrics_.computed_gauge(
          "naru_group_lag_seconds", "Age of the oldest record that the group has not read yet", labels,
          [at = series.get()] { return static_cast<double>(at->oldest_ms.load(std::memory_order_relaxed)) / 1000; });
    }
    series->records.store(lag.records, std::memory_order_relaxed);
    series->oldest_ms.store(lag.oldest_ms, std::memory_order_relaxed);
  }
}

}  // namespace naru
