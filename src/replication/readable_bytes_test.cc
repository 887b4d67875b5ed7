#include "replication/readable_bytes.h"

#include <gtest/gtest.h>

namespace naru {
namespace {

TEST(ReadableBytes, AreCountedOnceAppendedCommittedAndStable) {
  ReadableBytes bytes;
  for (int64_t i = 0; i < 4; ++i) bytes.append(Offset(1000 + i), Offset(1001 + i), 10);
  EXPECT_EQ(bytes.appended(), 40u);
  bytes.commit(Offset(1001), Offset(1001));
  EXPECT_EQ(bytes.stable(), 10u);
  bytes.commit(Offset(1004), Offset(1001));  // a transaction is open from 1001 on
  EXPECT_EQ(bytes.committed(), 40u);
  EXPECT_EQ(bytes.stable(), 10u);
  bytes.commit(Offset(1004), Offset(1003));
  EXPECT_EQ(bytes.stable(), 30u);
  bytes.commit(Offset(1004), Offset(1004));
  EXPECT_EQ(bytes.stable(), 40u);
}

TEST(ReadableBytes, NothingOfAnOpenTransactionAtTheBeginIsStable) {
  ReadableBytes bytes;
  bytes.append(Offset(1000), Offset(1001), 10);
  bytes.commit(Offset(1001), Offset(1000));
  EXPECT_EQ(bytes.stable(), 0u);
}

TEST(ReadableBytes, ManyBatchesBehindAnOpenTransactionTakeBoundedMemoryAndAreAllCounted) {
  ReadableBytes bytes;
  constexpr int64_t kBatches = 10 * ReadableBytes::kMaxPieces;
  for (int64_t i = 0; i < kBatches; ++i) {
    bytes.append(Offset(i), Offset(i + 1), 10);
    bytes.commit(Offset(i + 1), Offset(0));
  }
  EXPECT_EQ(bytes.stable(), 0u);
  uint64_t before = 0;
  for (int64_t stable = 100; stable < kBatches; stable += 100) {
    bytes.commit(Offset(kBatches), Offset(stable));
    EXPECT_GT(bytes.stable(), before) << "whoever waits is told each time";
    before = bytes.stable();
  }
  bytes.commit(Offset(kBatches), Offset(kBatches));
  EXPECT_EQ(bytes.stable(), 10u * kBatches);
}

TEST(ReadableBytes, WhatWasCutIsNeverCounted) {
  ReadableBytes bytes;
  for (int64_t i = 0; i < 4; ++i) bytes.append(Offset(i), Offset(i + 1), 10);
  bytes.commit(Offset(3), Offset(1));
  bytes.truncate(Offset(2));
  bytes.append(Offset(2), Offset(3), 7);
  bytes.commit(Offset(3), Offset(3));
  EXPECT_EQ(bytes.committed(), 37u);
  EXPECT_EQ(bytes.stable(), 27u);
}

}  // namespace
}  // namespace naru
