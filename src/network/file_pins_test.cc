#include "network/file_pins.h"

#include <gtest/gtest.h>

namespace naru {
namespace {

PinnedFiles connection() {
  return std::make_shared<std::atomic<size_t>>(0);
}

TEST(FilePins, NoConnectionHasMoreThanItsShare) {
  FilePins pins(100, 10);
  const PinnedFiles deaf = connection();
  const FilePinLease first = pins.take(deaf, 7);
  const FilePinLease second = pins.take(deaf, 7);
  EXPECT_EQ(first.files(), 7u);
  EXPECT_EQ(second.files(), 3u);
  EXPECT_EQ(pins.take(deaf, 7).files(), 0u);
  EXPECT_EQ(pins.take(connection(), 7).files(), 7u) << "others are not concerned";
  EXPECT_EQ(deaf->load(), 10u);
  EXPECT_EQ(pins.used(), 10u);
}

TEST(FilePins, AllTogetherHaveNoMoreThanTheTotal) {
  FilePins pins(15, 10);
  const PinnedFiles one = connection();
  const PinnedFiles two = connection();
  FilePinLease first = pins.take(one, 10);
  FilePinLease second = pins.take(two, 10);
  EXPECT_EQ(second.files(), 5u);
  EXPECT_EQ(two->load(), 5u) << "what the total refuses is not counted";
  first.shrink_to(4);
  EXPECT_EQ(pins.used(), 9u);
  EXPECT_EQ(one->load(), 4u);
  second = FilePinLease();
  EXPECT_EQ(two->load(), 0u);
  first = pins.take(two, 2);
  EXPECT_EQ(pins.used(), 2u) << "the former ones were given back";
}

TEST(FilePins, BrokersMayExceedThem) {
  FilePins pins(4, 2);
  const PinnedFiles follower = connection();
  const FilePinLease all = pins.take_beyond(follower, 50);
  EXPECT_EQ(all.files(), 50u);
  EXPECT_EQ(pins.take(connection(), 1).files(), 0u);
}

}  // namespace
}  // namespace naru
