#include "foundation/sip_hash.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>

namespace naru {
namespace {

constexpr SipKey kPublishedKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};

TEST(SipHash, GivesThePublishedValues) {
  Bytes input(1, std::byte{0});
  EXPECT_EQ(sip_hash(kPublishedKey, {}), (Hash128{0xe6a825ba047f81a3, 0x930255c71472f66d}));
  EXPECT_EQ(sip_hash(kPublishedKey, input), (Hash128{0x44af996bd8c187da, 0x45fc229b11597634}));
}

TEST(SipHash, DependsOnEveryByteOnTheLengthAndOnTheKey) {
  std::set<std::pair<uint64_t, uint64_t>> seen;
  const auto is_new = [&seen](const Hash128& hash) { return seen.emplace(hash.low, hash.high).second; };
  for (size_t length = 0; length <= 40; ++length) {
    Bytes input(length, std::byte{0});
    EXPECT_TRUE(is_new(sip_hash(kPublishedKey, input)));
    EXPECT_TRUE(is_new(sip_hash({1, 2}, input)));
    for (size_t i = 0; i < length; ++i) {
      input[i] = std::byte{1};
      EXPECT_TRUE(is_new(sip_hash(kPublishedKey, input)));
      input[i] = std::byte{0};
    }
  }
}

}  // namespace
}  // namespace naru
