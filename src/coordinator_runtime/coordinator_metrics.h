// What a coordinator counts; docs/metrics.md says what each means.
#pragma once

#include <string>

#include "observability/metrics_registry.h"

namespace naru {

struct CoordinatorMetrics {
  // `topic`: the internal topic whose shards these are.
  CoordinatorMetrics(MetricsRegistry& registry, const std::string& topic)
      : load_seconds(registry.histogram("naru_coordinator_load_seconds", "Time to read a shard from its log",
                                        kLatencyScale, {{"topic", topic}})),
        load_failures(registry.counter("naru_coordinator_load_failures_total", "Shards that could not be read",
                                       {{"topic", topic}})),
        write_seconds(registry.histogram("naru_coordinator_write_seconds", "Time until a batch of records is committed",
                                         kLatencyScale, {{"topic", topic}})),
        write_records(registry.histogram("naru_coordinator_write_records", "Records in a batch", kRecordsScale,
                                         {{"topic", topic}})),
        write_failures(registry.counter("naru_coordinator_write_failures_total",
                                        "Batches that were not committed; the shard was read again",
                                        {{"topic", topic}})) {}

  Histogram& load_seconds;
  Counter& load_failures;
  Histogram& write_seconds;
  Histogram& write_records;
  Counter& write_failures;

 private:
  static constexpr HistogramScale kRecordsScale{1, 14, 1};  // 1 to 8192
};

}  // namespace naru
