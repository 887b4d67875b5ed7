// Which partition a record goes to when its producer does not say: by its key as Kafka's clients do it, so that records
// of one key stay together whoever sends them; without a key, to one partition until a batch is full.
#pragma once

#include <cstdint>
#include <optional>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "platform/random.h"

namespace naru::client {

// The 32-bit MurmurHash2 with the seed that Kafka's Java client uses.
uint32_t murmur2(BytesView bytes);

// partitions > 0.
PartitionIndex partition_of_key(BytesView key, int32_t partitions);

// For one topic. A pure function of the calls and of the random numbers.
class StickyPartitioner {
 public:
  // The current partition; another one is drawn at first, after batch_is_full(), and when it no longer exists.
  PartitionIndex choose(int32_t partitions, Random& random);
  void batch_is_full() { full_ = true; }

 private:
  PartitionIndex draw(int32_t partitions, Random& random);

  std::optional<PartitionIndex> current_;
  bool full_ = false;
};

}  // namespace naru::client
