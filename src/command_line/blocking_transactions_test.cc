#include "command_line/blocking_transactions.h"

#include <gtest/gtest.h>

#include "command_line/scripted_transactions_testing.h"
#include "record_format/batch_builder.h"

namespace naru::command_line {
namespace {

// orders-0 is stable up to 17 and ends at 20, and its one member has committed what the test says.
class BlockingTransactionsTest : public testing::Test {
 protected:
  BlockingTransactionsTest() {
    cluster_.ends[cluster_.orders(0)] = {.last_stable = Offset(17), .high_watermark = Offset(20)};
    cluster_.producers[cluster_.orders(0)] = {cluster_.open_producer(8, 19), cluster_.open_producer(7, 17)};
    cluster_.transactions["copier"] = {.id = "copier", .state = "Ongoing", .producer = {ProducerId(7)}, .timeout = 60s};
    EXPECT_TRUE(run_in(world_, client_.refresh({"orders"})).ok());
  }

  std::vector<BlockingTransaction> find(int64_t committed, std::string owner = "m1") {
    const PartitionProgress partition{.partition = cluster_.orders(0),
                                      .committed = Offset(committed),
                                      .bounds = {PartitionBounds::State::online, Offset(0), Offset(20)},
                                      .owner = std::move(owner)};
    const std::vector<PartitionProgress> partitions{partition};
    return run_in(world_, find_blocking(client_, partitions));
  }
  static Bytes batch_at(int64_t offset, bool control) {
    BatchBuilder builder({.base_offset = Offset(offset), .control = control});
    builder.add(1, std::nullopt, "value");
    return builder.build().value();
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("client").start();
  ScriptedTransactions cluster_{world_};
  client::ClusterClient client_{process_->seams(), {.bootstrap = {{"first", 9092}}, .request_timeout = 3s}};
};

TEST_F(BlockingTransactionsTest, TheOldestOfAPartitionIsFoundWithItsTransactionalId) {
  const auto blocking = find(17);
  ASSERT_EQ(blocking.size(), 1u);
  EXPECT_EQ(blocking[0].open.producer.producer.id, ProducerId(7));
  ASSERT_TRUE(blocking[0].description);
  EXPECT_EQ(blocking[0].description->id, "copier");
  EXPECT_FALSE(blocking[0].is_hanging);
}

TEST_F(BlockingTransactionsTest, OneThatNoCoordinatorKnowsHangs) {
  cluster_.transactions.clear();
  EXPECT_TRUE(find(17).at(0).is_hanging);
  cluster_.state_topic_is_online = false;
  EXPECT_FALSE(find(17).at(0).is_hanging) << "somebody may know it";
}

TEST_F(BlockingTransactionsTest, WhoeverIsElsewhereDoesNotWaitForIt) {
  EXPECT_TRUE(find(18).empty()) << "it reads what is not committed";
  EXPECT_TRUE(find(17, "").empty()) << "nobody reads";
  EXPECT_TRUE(find(20).empty()) << "it has read everything";
  cluster_.ends[cluster_.orders(0)].last_stable = Offset(20);
  EXPECT_TRUE(find(17).empty()) << "nothing is open";
}

TEST_F(BlockingTransactionsTest, MarkersBelowTheLastStableOffsetAreNothingToRead) {
  cluster_.ends[cluster_.orders(0)].batches = batch_at(16, true);
  EXPECT_EQ(find(16).size(), 1u);
  cluster_.ends[cluster_.orders(0)].batches = batch_at(16, false);
  EXPECT_TRUE(find(16).empty()) << "it could go on reading";
}

}  // namespace
}  // namespace naru::command_line
