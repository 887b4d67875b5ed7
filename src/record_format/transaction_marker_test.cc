#include "record_format/transaction_marker.h"

#include <gtest/gtest.h>

#include "record_format/batch_builder.h"
#include "record_format/record_batch.h"

namespace naru {
namespace {

constexpr ProducerIdentity kProducer{.id = ProducerId(77), .epoch = ProducerEpoch(5)};

TEST(TransactionMarker, IsReadAsItWasBuilt) {
  for (const TransactionResult result : {TransactionResult::abort, TransactionResult::commit}) {
    const TransactionMarker marker{.result = result, .coordinator_epoch = 12};
    const Bytes batch = build_marker_batch(kProducer, marker, 1000);
    EXPECT_TRUE(batch_crc_matches(batch));
    const auto header = parse_batch_header(batch);
    ASSERT_TRUE(header.has_value());
    EXPECT_TRUE(header->is_control());
    EXPECT_TRUE(header->is_transactional());
    EXPECT_EQ(header->producer_id, kProducer.id);
    EXPECT_EQ(header->producer_epoch, kProducer.epoch);
    EXPECT_EQ(header->base_sequence, -1);
    const auto read = parse_marker_batch(batch);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, marker);
  }
}

TEST(TransactionMarker, IsNothingElse) {
  BatchBuilder data({.transactional = true, .producer_id = kProducer.id, .producer_epoch = kProducer.epoch});
  data.add(1000, "key", "value");
  EXPECT_EQ(parse_marker_batch(*data.build()).error().code(), ErrorCode::invalid_record);

  BatchBuilder short_key({.transactional = true, .control = true, .producer_id = kProducer.id});
  short_key.add(1000, std::string_view("\0\0\0", 3), std::string_view("\0\0\0\0\0\1", 6));
  EXPECT_EQ(parse_marker_batch(*short_key.build()).error().code(), ErrorCode::invalid_record);

  BatchBuilder other_type({.transactional = true, .control = true, .producer_id = kProducer.id});
  other_type.add(1000, std::string_view("\0\0\0\2", 4), std::string_view("\0\0\0\0\0\1", 6));
  EXPECT_EQ(parse_marker_batch(*other_type.build()).error().code(), ErrorCode::invalid_record);
}

}  // namespace
}  // namespace naru
