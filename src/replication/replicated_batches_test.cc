#include "replication/replicated_batches.h"

#include <gtest/gtest.h>

#include "record_format/batch_builder.h"
#include "record_format/batch_rewriter.h"

namespace naru {
namespace {

Bytes stored_batch(int64_t base, int records, int32_t epoch) {
  BatchBuilder builder;
  for (int i = 0; i < records; ++i) builder.add(1000, std::nullopt, "value");
  Bytes batch = builder.build().value();
  const StoredHeader header =
      make_stored_header(batch, Offset(base), LeaderEpoch(epoch), {TimestampType::create_time, 1000});
  std::ranges::copy(header, batch.begin());
  return batch;
}

Result<std::vector<ReplicatedBatch>> check(const std::vector<Bytes>& batches, int64_t from, int32_t leader_epoch = 5) {
  Bytes all;
  for (const Bytes& batch : batches) append_bytes(all, batch);
  return check_replicated_batches(SharedBytes(std::move(all)), Offset(from), LeaderEpoch(leader_epoch));
}

TEST(ReplicatedBatches, AreTakenOneBehindTheOther) {
  const auto batches = check({stored_batch(10, 3, 2), stored_batch(13, 1, 4)}, 10);
  ASSERT_TRUE(batches.has_value()) << batches.error().to_string();
  ASSERT_EQ(batches->size(), 2u);
  EXPECT_EQ((*batches)[1].header.base_offset, Offset(13));
  EXPECT_TRUE(check({}, 10)->empty());
}

TEST(ReplicatedBatches, WhatDoesNotFitIsRefusedAsAWhole) {
  EXPECT_EQ(check({stored_batch(11, 3, 2)}, 10).error(), ErrorCode::corrupt_message) << "a gap";
  EXPECT_EQ(check({stored_batch(8, 2, 2)}, 10).error(), ErrorCode::corrupt_message) << "records that are here already";
  EXPECT_EQ(check({stored_batch(10, 3, 2), stored_batch(12, 3, 2)}, 10).error(), ErrorCode::corrupt_message)
      << "they overlap";
  EXPECT_EQ(check({stored_batch(10, 1, 3), stored_batch(11, 1, 2)}, 10).error(), ErrorCode::corrupt_message)
      << "epochs go back";
  EXPECT_EQ(check({stored_batch(10, 1, 6)}, 10).error(), ErrorCode::corrupt_message) << "of a later leader";
  Bytes cut = stored_batch(10, 1, 2);
  cut.pop_back();
  EXPECT_EQ(check({cut}, 10).error(), ErrorCode::corrupt_message);
  EXPECT_FALSE(check({Bytes(5)}, 10).has_value());
}

TEST(ReplicatedBatches, TheFirstOneMayBeginBeforeWhatWasAskedFor) {
  const auto batches = check({stored_batch(8, 4, 2), stored_batch(12, 1, 2)}, 10);
  ASSERT_TRUE(batches.has_value()) << batches.error().to_string();
  EXPECT_EQ((*batches)[0].header.base_offset, Offset(8));
}

TEST(ReplicatedBatches, EveryFlippedBitUnderTheCrcIsNoticed) {
  const Bytes batch = stored_batch(10, 2, 2);
  for (size_t at = batch_field::kCrc; at < batch.size(); ++at) {
    Bytes damaged = batch;
    damaged[at] ^= std::byte{4};
    EXPECT_FALSE(check({damaged}, 10).has_value()) << at;
  }
}

TEST(ReplicatedBatches, TheFirstOneMayBeginEarlierWhereTheLeadersLogBeginsInTheMiddleOfIt) {
  const auto batches = check({stored_batch(9, 3, 2), stored_batch(12, 1, 2)}, 10);
  ASSERT_TRUE(batches.has_value()) << batches.error().to_string();
  EXPECT_EQ((*batches)[0].header.base_offset, Offset(9));
  EXPECT_FALSE(check({stored_batch(9, 1, 2), stored_batch(9, 3, 2)}, 9).has_value()) << "only the first";
}

TEST(ReplicatedBatches, OfAFillerTheRestIsTaken) {
  const auto batches = check({make_filler_batch(Offset(4), Offset(20), LeaderEpoch(1)), stored_batch(20, 2, 1)}, 10);
  ASSERT_TRUE(batches.has_value()) << batches.error().to_string();
  EXPECT_EQ((*batches)[0].header.base_offset, Offset(10));
  EXPECT_EQ((*batches)[0].header.next_offset(), Offset(20));
  EXPECT_TRUE(is_filler((*batches)[0].header));
  EXPECT_TRUE(batch_crc_matches((*batches)[0].bytes.view()));
}

}  // namespace
}  // namespace naru
