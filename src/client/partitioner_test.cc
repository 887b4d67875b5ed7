#include "client/partitioner.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "platform/simulated/simulated_random.h"

namespace naru::client {
namespace {

int32_t signed_murmur2(std::string_view text) {
  return static_cast<int32_t>(murmur2(as_bytes(text)));
}

TEST(Murmur2, GivesTheNumbersThatJavaClientsGive) {
  EXPECT_EQ(signed_murmur2("21"), -973932308);
  EXPECT_EQ(signed_murmur2("foobar"), -790332482);
  EXPECT_EQ(signed_murmur2("a-little-bit-long-string"), -985981536);
  EXPECT_EQ(signed_murmur2("abc"), 479470107);
  EXPECT_EQ(signed_murmur2(""), 275646681);
}

TEST(PartitionOfKey, IsThatOfJavaClients) {
  EXPECT_EQ(partition_of_key(as_bytes("foobar"), 12), PartitionIndex(6));
  EXPECT_EQ(partition_of_key(as_bytes("21"), 12), PartitionIndex(0));
  EXPECT_EQ(partition_of_key(as_bytes("a"), 12), PartitionIndex(4));
  EXPECT_EQ(partition_of_key(as_bytes("anything"), 1), PartitionIndex(0));
}

TEST(StickyPartitioner, StaysUntilABatchIsFullAndThenMoves) {
  SimulatedRandom random(7);
  StickyPartitioner partitioner;
  std::set<PartitionIndex> seen;
  for (int batch = 0; batch < 100; ++batch) {
    const PartitionIndex chosen = partitioner.choose(4, random);
    for (int record = 0; record < 10; ++record) EXPECT_EQ(partitioner.choose(4, random), chosen);
    seen.insert(chosen);
    partitioner.batch_is_full();
    EXPECT_NE(partitioner.choose(4, random), chosen);
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST(StickyPartitioner, KnowsOnlyPartitionsThatExist) {
  SimulatedRandom random(7);
  StickyPartitioner partitioner;
  for (int i = 0; i < 50; ++i) {
    partitioner.batch_is_full();
    EXPECT_LT(partitioner.choose(10, random), PartitionIndex(10));
  }
  EXPECT_EQ(partitioner.choose(1, random), PartitionIndex(0));
  partitioner.batch_is_full();
  EXPECT_EQ(partitioner.choose(1, random), PartitionIndex(0));
}

}  // namespace
}  // namespace naru::client
