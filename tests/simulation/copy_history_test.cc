#include "simulation/copy_history.h"

#include <gtest/gtest.h>

namespace naru::simulation {
namespace {

const PartitionName kFrom{"from", PartitionIndex(0)};
const PartitionName kTo{"to", PartitionIndex(0)};

// Two records of a source, copied in a transaction each.
class CopyHistoryTest : public testing::Test {
 protected:
  CopyHistoryTest() {
    for (const std::string& value : originals_) {
      history_.source_sent(kFrom, value);
      history_.source_acknowledged(value);
    }
    history_.sent(1, kTo, "1/1");
    history_.sent(2, kTo, "2/2");
  }

  bool objects() {
    history_.final_content(kFrom, {{Offset(0), originals_[0]}, {Offset(1), originals_[1]}});
    history_.final_content(kTo, to_);
    history_.check_chain({"from", "to"}, 1);
    return history_.violation().has_value();
  }

  const std::vector<std::string> originals_{"1/0", "2/0"};
  CopyHistory history_;
  CopyHistory::Records to_{{Offset(0), "1/1"}, {Offset(2), "2/2"}};
};

TEST_F(CopyHistoryTest, AcceptsACopyOfEverything) {
  for (const uint64_t transaction : {1, 2}) {
    history_.commit_asked(transaction);
    history_.committed(transaction);
  }
  history_.seen(kTo, Offset(0), "1/1");
  history_.stable(kTo, Offset(2), Offset(2));
  EXPECT_FALSE(objects()) << *history_.violation();
  EXPECT_EQ(history_.commits(), 2u);
}

TEST_F(CopyHistoryTest, ObjectsToWhatNobodyHasCommitted) {
  history_.seen(kTo, Offset(0), "1/1");
  EXPECT_TRUE(history_.violation());
}

TEST_F(CopyHistoryTest, ObjectsToACopyThatIsMissing) {
  history_.commit_asked(1);
  to_.pop_back();
  EXPECT_TRUE(objects());
}

TEST_F(CopyHistoryTest, ObjectsToACopyThatIsThereTwice) {
  for (const uint64_t transaction : {1, 2, 3}) history_.commit_asked(transaction);
  history_.sent(3, kTo, "2/3");
  to_.emplace_back(Offset(4), "2/3");
  EXPECT_TRUE(objects());
}

TEST_F(CopyHistoryTest, ObjectsToAnotherOrder) {
  for (const uint64_t transaction : {1, 2}) history_.commit_asked(transaction);
  to_ = {{Offset(0), "2/2"}, {Offset(2), "1/1"}};
  EXPECT_TRUE(objects());
}

TEST_F(CopyHistoryTest, ObjectsToATornTransaction) {
  history_.sent(2, kTo, "3/2");
  for (const uint64_t transaction : {1, 2}) history_.commit_asked(transaction);
  EXPECT_TRUE(objects());
}

TEST_F(CopyHistoryTest, ObjectsToWhatTheCoordinatorHasRefused) {
  for (const uint64_t transaction : {1, 2}) history_.commit_asked(transaction);
  history_.refused(2);
  EXPECT_TRUE(objects());
}

TEST_F(CopyHistoryTest, ObjectsToRecordsThatWereReadAndAreGone) {
  for (const uint64_t transaction : {1, 2, 3}) history_.commit_asked(transaction);
  history_.sent(3, kTo, "2/3");
  history_.seen(kTo, Offset(1), "2/3");
  EXPECT_TRUE(objects());
}

TEST_F(CopyHistoryTest, ObjectsToRecordsAboveTheLastStableOffset) {
  history_.stable(kTo, Offset(2), Offset(3));
  EXPECT_TRUE(history_.violation());
}

TEST_F(CopyHistoryTest, ObjectsToALostSource) {
  for (const uint64_t transaction : {1, 2}) history_.commit_asked(transaction);
  history_.source_sent(kTo, "3/0");
  history_.source_acknowledged("3/0");
  EXPECT_TRUE(objects());
}

TEST_F(CopyHistoryTest, ReadsWhatItHasWritten) {
  const auto value = CopiedValue::parse(CopiedValue{.number = 12, .transaction = 7}.to_string(3));
  ASSERT_TRUE(value);
  EXPECT_EQ(value->number, 12u);
  EXPECT_EQ(value->transaction, 7u);
  EXPECT_FALSE(CopiedValue::parse("12"));
  EXPECT_FALSE(CopiedValue::parse("topic/1"));
}

}  // namespace
}  // namespace naru::simulation
