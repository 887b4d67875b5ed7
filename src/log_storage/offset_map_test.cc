#include "log_storage/offset_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

constexpr SipKey kHashKey{1, 2};

TEST(OffsetMap, RemembersTheNewestOffsetOfEachKeyAsAMapDoes) {
  SimulatedRandom random(5);
  OffsetMap map(kHashKey, 1 << 20, 2000);
  std::map<std::string, Offset> expected;
  for (int64_t offset = 0; offset < 10'000; ++offset) {
    const std::string key = std::to_string(random.below(2000));
    ASSERT_TRUE(map.put(as_bytes(key), Offset(offset)));
    expected[key] = Offset(offset);
  }
  EXPECT_EQ(map.size(), expected.size());
  for (int key = 0; key < 4000; ++key) {
    const std::string text = std::to_string(key);
    const auto known = expected.find(text);
    EXPECT_EQ(map.find(as_bytes(text)), known == expected.end() ? std::nullopt : std::optional(known->second));
  }
}

TEST(OffsetMap, RefusesANewKeyWhenItIsFullAndStillTakesOldOnes) {
  OffsetMap map(kHashKey, 10 * OffsetMap::kBytesPerKey, 1'000'000);
  EXPECT_EQ(map.capacity(), 10U);
  for (int64_t i = 0; i < 10; ++i) ASSERT_TRUE(map.put(as_bytes(std::to_string(i)), Offset(i)));
  EXPECT_FALSE(map.put(as_bytes("one more"), Offset(10)));
  EXPECT_TRUE(map.put(as_bytes("3"), Offset(11)));
  EXPECT_EQ(map.find(as_bytes("3")), Offset(11));
  EXPECT_EQ(map.find(as_bytes("one more")), std::nullopt);
}

TEST(OffsetMap, AlwaysHasRoomForOneKey) {
  OffsetMap map(kHashKey, 0, 0);
  EXPECT_TRUE(map.put({}, Offset(0)));
  EXPECT_EQ(map.find({}), Offset(0));
  EXPECT_EQ(map.find(as_bytes("x")), std::nullopt);
}

}  // namespace
}  // namespace naru
