#include "client/partitioner.h"

#include "foundation/assert.h"

namespace naru::client {
namespace {

constexpr uint32_t kSeed = 0x9747b28c;
constexpr uint32_t kMultiplier = 0x5bd1e995;
constexpr int kShift = 24;

uint32_t byte_at(BytesView bytes, size_t position) {
  return std::to_integer<uint32_t>(bytes[position]);
}

}  // namespace

uint32_t murmur2(BytesView bytes) {
  uint32_t hash = kSeed ^ static_cast<uint32_t>(bytes.size());
  const size_t whole = bytes.size() & ~size_t{3};
  for (size_t at = 0; at < whole; at += 4) {
    // Little-endian, whatever the machine is.
    uint32_t word =
        byte_at(bytes, at) | byte_at(bytes, at + 1) << 8 | byte_at(bytes, at + 2) << 16 | byte_at(bytes, at + 3) << 24;
    word *= kMultiplier;
    word ^= word >> kShift;
    word *= kMultiplier;
    hash *= kMultiplier;
    hash ^= word;
  }
  const size_t rest = bytes.size() - whole;
  if (rest >= 3) hash ^= byte_at(bytes, whole + 2) << 16;
  if (rest >= 2) hash ^= byte_at(bytes, whole + 1) << 8;
  if (rest >= 1) {
    hash ^= byte_at(bytes, whole);
    hash *= kMultiplier;
  }
  hash ^= hash >> 13;
  hash *= kMultiplier;
  hash ^= hash >> 15;
  return hash;
}

PartitionIndex partition_of_key(BytesView key, int32_t partitions) {
  NARU_ASSERT(partitions > 0, "a topic without partitions");
  return PartitionIndex(static_cast<int32_t>(murmur2(key) & 0x7fffffff) % partitions);
}

PartitionIndex StickyPartitioner::choose(int32_t partitions, Random& random) {
  NARU_ASSERT(partitions > 0, "a topic without partitions");
  if (!current_ || full_ || current_->value() >= partitions) current_ = draw(partitions, random);
  full_ = false;
  return *current_;
}

// Never the same one twice in a row, or two full batches would wait for each other.
PartitionIndex StickyPartitioner::draw(int32_t partitions, Random& random) {
  if (!current_ || partitions == 1 || current_->value() >= partitions) {
    return PartitionIndex(static_cast<int32_t>(random.below(static_cast<uint64_t>(partitions))));
  }
  const auto others = static_cast<int32_t>(random.below(static_cast<uint64_t>(partitions) - 1));
  return PartitionIndex(others < current_->value() ? others : others + 1);
}

}  // namespace naru::client
