// A checker that cannot fail proves nothing: each anomaly is shown to it once.
#include "simulation/producer_watch.h"

#include <gtest/gtest.h>

namespace naru::simulation {
namespace {

BatchHeader batch_of(int64_t producer, int16_t epoch, int32_t sequence, int64_t offset) {
  BatchHeader header;
  header.producer_id = ProducerId(producer);
  header.producer_epoch = ProducerEpoch(epoch);
  header.base_sequence = sequence;
  header.base_offset = Offset(offset);
  header.records_count = 1;
  return header;
}

ProducerState state_of(const std::vector<BatchHeader>& batches) {
  ProducerState state;
  for (const BatchHeader& batch : batches) state.apply(batch, 0);
  return state;
}

// Everything below 2 survives.
ProducerMemory with_two_producers() {
  ProducerMemory memory;
  memory.note(state_of({batch_of(7, 0, 0, 0), batch_of(8, 0, 0, 1), batch_of(7, 0, 1, 2), batch_of(9, 0, 0, 3)}),
              Offset(2));
  return memory;
}

TEST(ProducerWatch, AcceptsWhatFits) {
  const ProducerMemory memory = with_two_producers();
  EXPECT_EQ(memory.missing_in(state_of({batch_of(7, 0, 0, 0), batch_of(8, 0, 0, 1)})), std::nullopt);
  EXPECT_EQ(memory.missing_in(state_of({batch_of(7, 1, 0, 5), batch_of(8, 0, 4, 6)})), std::nullopt) << "later ones";
}

TEST(ProducerWatch, FindsAForgottenProducer) {
  const ProducerMemory memory = with_two_producers();
  EXPECT_NE(memory.missing_in(state_of({batch_of(7, 0, 0, 0)})), std::nullopt);
}

TEST(ProducerWatch, FindsAForgottenBatchAndAnEpochThatWentBack) {
  ProducerMemory memory = with_two_producers();
  const ProducerState later = state_of({batch_of(7, 1, 0, 4), batch_of(7, 1, 1, 5), batch_of(8, 0, 0, 1)});
  memory.note(later, Offset(6));
  EXPECT_EQ(memory.missing_in(later), std::nullopt);
  EXPECT_NE(memory.missing_in(state_of({batch_of(7, 1, 0, 4), batch_of(8, 0, 0, 1)})), std::nullopt);
  EXPECT_NE(memory.missing_in(state_of({batch_of(7, 0, 9, 9), batch_of(8, 0, 0, 1)})), std::nullopt);
}

}  // namespace
}  // namespace naru::simulation
