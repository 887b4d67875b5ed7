// What the controller shows of the cluster in /metrics. Zero on brokers that are not the controller.
#pragma once

#include <vector>

#include "cluster_control/metadata_publisher.h"
#include "foundation/function.h"
#include "observability/metrics_registry.h"

namespace naru {

// Transactions that came to nothing because the office had ended. Once for each registry.
Counter& fenced_counter(MetricsRegistry& registry);

// The registry, the publisher and what `in_office` looks at outlive it.
class ControllerMetrics {
 public:
  // `in_office` is called by whoever renders the metrics, on any thread.
  ControllerMetrics(MetricsRegistry& registry, const MetadataPublisher& publisher, UniqueFunction<bool()> in_office);

 private:
  double if_in_office(double (*read)(const MetadataImage&));

  const MetadataPublisher& publisher_;
  UniqueFunction<bool()> in_office_;
  std::vector<GaugeCallback> gauges_;
};

}  // namespace naru
