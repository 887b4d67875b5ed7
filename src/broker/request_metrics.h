// Per API: how many requests, how long they took, how many bytes in and out.
#pragma once

#include <map>

#include "foundation/time.h"
#include "kafka_protocol/api_table.h"
#include "observability/metrics_registry.h"

namespace naru {

// Thread-safe after construction.
class RequestMetrics {
 public:
  explicit RequestMetrics(MetricsRegistry& registry) {
    for (const kafka::ApiRow& api : kafka::kApiTable) {
      const MetricLabels labels{{"api", std::string(api.name)}};
      rows_.emplace(api.key,
                    Row{registry.histogram("naru_request_seconds", "Time from a request's last byte to its answer",
                                           kLatencyScale, labels),
                        registry.counter("naru_request_bytes_total", "Bytes of requests", labels),
                        registry.counter("naru_response_bytes_total", "Bytes of responses", labels)});
    }
  }

  void record(const kafka::ApiRow& api, Duration took, uint64_t bytes_in, uint64_t bytes_out) {
    const Row& row = rows_.at(api.key);
    row.seconds.record(took);
    row.bytes_in.add(bytes_in);
    row.bytes_out.add(bytes_out);
  }

 private:
  struct Row {
    Histogram& seconds;
    Counter& bytes_in;
    Counter& bytes_out;
  };
  std::map<kafka::ApiKey, Row> rows_;
};

}  // namespace naru
