// Arbitrary keys and values as the contents of the coordination store: loading refuses them or gives a consistent
// image.
#include <string>
#include <string_view>

#include "cluster_control/metadata_image_builder.h"
#include "foundation/assert.h"
#include "foundation/byte_reader.h"

using namespace naru;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static constexpr std::string_view kKeys[] = {"cluster",
                                               "controller_epoch",
                                               "generation",
                                               "topics/a",
                                               "topics/b",
                                               "topic_configs/a",
                                               "broker_configs/1",
                                               "broker_configs/default",
                                               "partition_states/0",
                                               "partition_states/1",
                                               "brokers/1",
                                               "brokers/x",
                                               "deleted_topics/AAAAAAAAAAAAAAAAAAAAAQ"};
  ByteReader reader({reinterpret_cast<const std::byte*>(data), size});
  const MetadataImage nothing;
  MetadataImageBuilder builder(nothing);
  while (reader.ok() && !reader.at_end()) {
    const std::string_view key = kKeys[reader.read_int<uint8_t>() % std::size(kKeys)];
    const auto length = reader.read_int<uint8_t>();
    const BytesView value = reader.read_bytes(length);
    if (!reader.ok() || !builder.put(key, value, 1).ok()) return 0;
  }
  const auto image = builder.build();
  if (!image) return 0;
  int32_t partitions = 0;
  for (const TopicMetadataPtr& topic : (*image)->topics()) {
    NARU_ASSERT((*image)->find_topic(std::string_view(topic->name)) == topic.get(), "a topic is not found by name");
    NARU_ASSERT((*image)->find_topic(topic->id) == topic.get(), "a topic is not found by id");
    for (const PartitionStatePtr& partition : topic->partitions) {
      NARU_ASSERT(partition != nullptr && partition->topic_id == topic->id, "a partition is missing or strange");
    }
    partitions += topic->partition_count();
  }
  NARU_ASSERT(partitions == (*image)->partition_count(), "partitions are counted wrongly");
  return 0;
}
