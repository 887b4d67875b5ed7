#include "broker/coordinator_topic.h"

#include <utility>
#include <vector>

#include "coordinator_runtime/coordinator_key.h"

namespace naru {

std::optional<PartitionIndex> coordinator_index(const MetadataImage& image, std::string_view topic,
                                                std::string_view name) {
  const TopicMetadata* found = image.find_topic(topic);
  if (found == nullptr) return std::nullopt;
  return PartitionIndex(coordinator_partition(name, found->partition_count()));
}

BrokerId coordinator_broker(const MetadataImage& image, std::string_view topic, std::string_view name) {
  const auto index = coordinator_index(image, topic, name);
  return index ? image.find_topic(topic)->partition(*index)->leader : kNoBroker;
}

Task<void> serve_led_partitions(CoordinatorRuntime& runtime, const MetadataImage& image, const HostedPartitions& hosted,
                                BrokerId self) {
  std::vector<CoordinatorRuntime::Led> here;
  if (const TopicMetadata* topic = image.find_topic(runtime.topic())) {
    for (const PartitionStatePtr& state : topic->partitions) {
      if (state->leader != self) continue;
      if (auto found = hosted.find(topic->id, state->index)) {
        here.push_back({std::move(found.partition), state->leader_epoch});
      }
    }
  }
  co_await runtime.keep_only(here);
  for (const auto& [partition, leader_epoch] : here) runtime.serve(partition, leader_epoch);
}

}  // namespace naru
