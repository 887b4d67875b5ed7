// What committed and pending offsets take of the memory budget.
#include <set>

#include <gtest/gtest.h>

#include "consumer_groups/group_testing.h"

namespace naru {
namespace {

const GroupPartition kFirstPartition{"t", PartitionIndex(0)};
constexpr ProducerIdentity kMemoryProducer{ProducerId(100), ProducerEpoch(0)};
constexpr size_t kNoteBytes = 1000;

class NothingUnread final : public UnreadRecords {
 public:
  bool has_unread(const GroupPartition&, const CommittedOffset&) const override { return false; }
  bool topic_exists(std::string_view, const CommittedOffset&) const override { return true; }
};

CommitOffsets many_offsets(std::string group, int32_t partitions, size_t metadata_bytes = kNoteBytes) {
  CommitOffsets request{.group_id = std::move(group)};
  for (int32_t i = 0; i < partitions; ++i) {
    request.entries.push_back(
        {.partition = {"t", PartitionIndex(i)}, .offset = Offset(1), .metadata = std::string(metadata_bytes, 'x')});
  }
  return request;
}

std::vector<ErrorCode> each_is(size_t count, ErrorCode error) {
  return std::vector<ErrorCode>(count, error);
}

uint64_t state_used(const MemoryBudget& budget) {
  return budget.used(MemoryAccount::coordinator_state);
}

TEST(OffsetMemory, IsCountedUntilTheOffsetsAreDeleted) {
  MemoryBudget budget(1'000'000);
  TestCoordinator test({}, &budget);
  EXPECT_EQ(test.commit(many_offsets("g", 10)), each_is(10, ErrorCode::none));
  const uint64_t of_ten = state_used(budget);
  EXPECT_GE(of_ten, 10 * kNoteBytes);
  EXPECT_LE(of_ten, 10 * (kNoteBytes + 400));
  test.commit(many_offsets("g", 10));
  EXPECT_EQ(state_used(budget), of_ten) << "what is replaced is given back";
  test.commit(many_offsets("g", 10, 0));
  EXPECT_EQ(state_used(budget), of_ten - 10 * kNoteBytes);
  test.commit(many_offsets("h", 1));
  test.delete_offsets("g", {kFirstPartition});
  EXPECT_LT(state_used(budget), of_ten - 10 * kNoteBytes + kNoteBytes + 400);
  test.delete_group("g");
  test.topics_deleted({{"t", Uuid{1, 1}}});
  EXPECT_EQ(state_used(budget), 0u);
}

TEST(OffsetMemory, IsGivenBackWhenOffsetsExpire) {
  MemoryBudget budget(1'000'000);
  TestCoordinator test({}, &budget);
  test.commit(many_offsets("g", 10));
  test.advance(24h * 31);
  test.expire_offsets(NothingUnread());
  EXPECT_EQ(state_used(budget), 0u);
}

TEST(OffsetMemory, WhileItIsFullNoGroupGetsMoreAndNoneLosesWhatItHas) {
  MemoryBudget budget(40'000);  // of which state has a quarter
  TestCoordinator test({}, &budget);
  EXPECT_EQ(test.commit(many_offsets("g", 5)), each_is(5, ErrorCode::none));
  const uint64_t before = state_used(budget);
  const size_t logged = test.log.size();
  EXPECT_EQ(test.commit(many_offsets("h", 5)), each_is(5, ErrorCode::coordinator_not_available));
  EXPECT_EQ(test.commit(many_offsets("g", 10)), each_is(10, ErrorCode::coordinator_not_available));
  EXPECT_EQ(state_used(budget), before);
  EXPECT_EQ(test.log.size(), logged) << "a refused commit writes nothing";
  EXPECT_EQ(test.commit(many_offsets("g", 5)), each_is(5, ErrorCode::none));
  EXPECT_EQ(test.commit(many_offsets("g", 5, 10)), each_is(5, ErrorCode::none));
  EXPECT_EQ(test.commit(many_offsets("h", 5)), each_is(5, ErrorCode::none)) << "there is room again";
}

TEST(OffsetMemory, AnOffsetThatIsRefusedAnywayNeedsNone) {
  MemoryBudget budget(40'000);
  TestCoordinator test({}, &budget);
  CommitOffsets request = many_offsets("g", 2, 100'000);
  request.entries[0].metadata.clear();
  EXPECT_EQ(test.commit(request), (std::vector{ErrorCode::none, ErrorCode::offset_metadata_too_large}));
}

TEST(OffsetMemory, WhatTheLogHoldsIsCountedWhateverTheLimitSays) {
  MemoryBudget large(1'000'000);
  MemoryBudget small(10'000);
  TestCoordinator test({}, &large);
  test.commit(many_offsets("g", 50));
  test.commit_in_transaction({.offsets = many_offsets("h", 5),
                              .producer = kMemoryProducer,
                              .guard = test.begin_verification(kMemoryProducer).guard});
  {
    GroupCoordinator loaded({}, &small);
    for (const LoggedRecord& record : test.log) EXPECT_TRUE(apply_to(loaded, record).ok());
    loaded.loaded(test.time);
    EXPECT_EQ(state_used(small), state_used(large));
    loaded.unload(Status(ErrorCode::not_coordinator));
  }
  EXPECT_EQ(small.used(), 0u);
}

TEST(OffsetMemory, OfATransactionIsCountedWhileItIsPendingAndAfterItIsCommitted) {
  for (const TransactionResult result : {TransactionResult::commit, TransactionResult::abort}) {
    MemoryBudget budget(1'000'000);
    TestCoordinator test({}, &budget);
    const auto commit = [&](CommitOffsets offsets) {
      return test.commit_in_transaction({.offsets = std::move(offsets),
                                         .producer = kMemoryProducer,
                                         .guard = test.begin_verification(kMemoryProducer).guard});
    };
    EXPECT_EQ(commit(many_offsets("g", 10)), each_is(10, ErrorCode::none));
    const uint64_t pending = state_used(budget);
    EXPECT_GE(pending, 10 * kNoteBytes);
    EXPECT_EQ(commit(many_offsets("g", 10)), each_is(10, ErrorCode::none));
    EXPECT_EQ(state_used(budget), pending);
    test.write_marker({.producer = kMemoryProducer, .marker = {result, 1}});
    EXPECT_LT(state_used(budget), pending);
    EXPECT_GE(state_used(budget), result == TransactionResult::commit ? 10 * kNoteBytes : 0);
    test.delete_group("g");
    EXPECT_EQ(state_used(budget), 0u);
  }
}

TEST(OffsetMemory, WhileItIsFullNoTransactionGetsMore) {
  MemoryBudget budget(40'000);
  TestCoordinator test({}, &budget);
  test.commit(many_offsets("g", 5));
  TransactionalCommit request{.offsets = many_offsets("h", 5),
                              .producer = kMemoryProducer,
                              .guard = test.begin_verification(kMemoryProducer).guard};
  EXPECT_EQ(test.commit_in_transaction(request), each_is(5, ErrorCode::coordinator_not_available));
  EXPECT_FALSE(test.list().size() > 1) << "nothing is pending";
  test.delete_group("g");
  EXPECT_EQ(test.commit_in_transaction(request), each_is(5, ErrorCode::none));
}

}  // namespace
}  // namespace naru
