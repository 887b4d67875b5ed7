// Per API: how many requests, where their time went, how many bytes in and out.
#pragma once

#include <vector>

#include "foundation/time.h"
#include "kafka_protocol/api_table.h"
#include "observability/metrics_registry.h"
#include "observability/slow_request_log.h"

namespace naru {

// Thread-safe after construction.
class RequestMetrics {
 public:
  explicit RequestMetrics(MetricsRegistry& registry) {
    const auto stage = [&registry](const kafka::ApiRow& api, std::string_view name) -> Histogram& {
      return registry.histogram("naru_request_stage_seconds", "Where the time of requests went", kLatencyScale,
                                {{"api", std::string(api.name)}, {"stage", std::string(name)}});
    };
    for (const kafka::ApiRow& api : kafka::kApiTable) {
      const MetricLabels labels{{"api", std::string(api.name)}};
      rows_.push_back({registry.histogram("naru_request_seconds", "Time from a request's last byte to its answer",
                                          kLatencyScale, labels),
                       stage(api, "queue"), stage(api, "local"), stage(api, "wait"), stage(api, "send"),
                       registry.counter("naru_request_bytes_total", "Bytes of requests", labels),
                       registry.counter("naru_response_bytes_total", "Bytes of responses", labels)});
    }
  }

  void record(const kafka::ApiRow& api, const RequestTimes& times, uint64_t bytes_in, uint64_t bytes_out) {
    const Row& row = row_of(api);
    const Duration wait = times.charged(RequestStage::committed) + times.waited();
    row.total.record(times.total() + times.waited());
    row.queue.record(times.charged(RequestStage::queued));
    row.local.record(times.charged(RequestStage::handled));
    row.wait.record(wait);
    row.bytes_in.add(bytes_in);
    row.bytes_out.add(bytes_out);
  }

  // For the time between the answer and the socket, which the connection knows.
  Histogram& send_seconds(const kafka::ApiRow& api) { return row_of(api).send; }

 private:
  struct Row {
    Histogram& total;
    Histogram& queue;
    Histogram& local;
    Histogram& wait;
    Histogram& send;
    Counter& bytes_in;
    Counter& bytes_out;
  };
  const Row& row_of(const kafka::ApiRow& api) const { return rows_[&api - kafka::kApiTable.data()]; }

  std::vector<Row> rows_;  // as in the API table
};

}  // namespace naru
