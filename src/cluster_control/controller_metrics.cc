#include "cluster_control/controller_metrics.h"

#include <algorithm>
#include <utility>

namespace naru {
namespace {

template <class Predicate>
double count_partitions(const MetadataImage& image, Predicate predicate) {
  int64_t count = 0;
  for (const TopicMetadataPtr& topic : image.topics()) {
    count +=
        std::ranges::count_if(topic->partitions, [&](const PartitionStatePtr& state) { return predicate(*state); });
  }
  return static_cast<double>(count);
}

double active_controllers(const MetadataImage&) {
  return 1;
}
double active_brokers(const MetadataImage& image) {
  return static_cast<double>(image.brokers().size());
}
double offline_partitions(const MetadataImage& image) {
  return count_partitions(image, [](const PartitionState& state) { return state.leader == kNoBroker; });
}
double imbalanced_leaders(const MetadataImage& image) {
  return count_partitions(image, [](const PartitionState& state) { return state.leader != state.replicas.front(); });
}

}  // namespace

Counter& fenced_counter(MetricsRegistry& registry) {
  return registry.counter("naru_controller_fenced_total",
                          "Transactions of this broker as controller that were refused because it no longer was");
}

ControllerMetrics::ControllerMetrics(MetricsRegistry& registry, const MetadataPublisher& publisher,
                                     UniqueFunction<bool()> in_office)
    : publisher_(publisher), in_office_(std::move(in_office)) {
  gauges_.push_back(registry.computed_gauge("naru_controller_active", "1 on the controller in office", {},
                                            [this] { return if_in_office(active_controllers); }));
  gauges_.push_back(registry.computed_gauge("naru_controller_brokers", "Registered brokers", {},
                                            [this] { return if_in_office(active_brokers); }));
  gauges_.push_back(registry.computed_gauge("naru_controller_offline_partitions", "Partitions without a leader", {},
                                            [this] { return if_in_office(offline_partitions); }));
  gauges_.push_back(registry.computed_gauge("naru_controller_preferred_replica_imbalance",
                                            "Partitions that another replica than the preferred one leads, or none", {},
                                            [this] { return if_in_office(imbalanced_leaders); }));
}

double ControllerMetrics::if_in_office(double (*read)(const MetadataImage&)) {
  return in_office_() ? read(*publisher_.current()) : 0;
}

}  // namespace naru
