// A checker that cannot fail proves nothing: each anomaly is shown to it once.
#include "simulation/history.h"

#include <gtest/gtest.h>

namespace naru::simulation {
namespace {

const PartitionName kPartition{"t", PartitionIndex(0)};
using Records = std::vector<std::pair<Offset, std::string>>;

History with_two_acknowledged(Promise promise = Promise::durable) {
  History history(promise);
  history.sent(kPartition, 1, {"a", "b"});
  history.acknowledged(kPartition, Offset(0), {"a", "b"});
  return history;
}

TEST(History, AcceptsWhatFits) {
  auto history = with_two_acknowledged();
  history.seen(kPartition, Offset(0), "a");
  const Offset before = history.high_watermark_floor(kPartition);
  history.high_watermark(kPartition, before, Offset(2));
  history.high_watermark(kPartition, before, Offset(1));  // asked at the same time, answered in the other order
  history.final_content(kPartition, Offset(0), Offset(2), Records{{Offset(0), "a"}, {Offset(1), "b"}});
  EXPECT_FALSE(history.violation()) << *history.violation();
}

TEST(History, FindsALostAcknowledgedRecord) {
  auto history = with_two_acknowledged();
  history.final_content(kPartition, Offset(0), Offset(1), Records{{Offset(0), "a"}});
  EXPECT_TRUE(history.violation());
}

TEST(History, FindsASeenRecordThatVanished) {
  History history(Promise::durable);
  history.sent(kPartition, 1, {"a"});
  history.seen(kPartition, Offset(0), "a");
  history.final_content(kPartition, Offset(0), Offset(0), {});
  EXPECT_TRUE(history.violation());
}

TEST(History, FindsTwoValuesAtOneOffset) {
  History history(Promise::durable);
  history.sent(kPartition, 1, {"a", "b"});
  history.seen(kPartition, Offset(0), "a");
  history.seen(kPartition, Offset(0), "b");
  EXPECT_TRUE(history.violation());
}

TEST(History, FindsGapsDoublesStrangersAndRefusedRecords) {
  const auto violates = [](const Records& records) {
    auto history = with_two_acknowledged();
    history.sent(kPartition, 1, {"refused"});
    history.refused({"refused"});
    history.final_content(kPartition, Offset(0), records.back().first + 1, records);
    return history.violation().has_value();
  };
  EXPECT_FALSE(violates({{Offset(0), "a"}, {Offset(1), "b"}}));
  EXPECT_TRUE(violates({{Offset(0), "a"}, {Offset(1), "b"}, {Offset(3), "c"}}));
  EXPECT_TRUE(violates({{Offset(0), "a"}, {Offset(1), "b"}, {Offset(2), "a"}}));
  EXPECT_TRUE(violates({{Offset(0), "a"}, {Offset(1), "b"}, {Offset(2), "stranger"}}));
  EXPECT_TRUE(violates({{Offset(0), "a"}, {Offset(1), "b"}, {Offset(2), "refused"}}));
}

TEST(History, FindsAnInversionOfOneProducersOrder) {
  History history(Promise::durable);
  history.sent(kPartition, 1, {"a", "b"});
  history.final_content(kPartition, Offset(0), Offset(2), Records{{Offset(0), "b"}, {Offset(1), "a"}});
  EXPECT_TRUE(history.violation());
}

TEST(History, FindsAGapInWhatAnIdempotentProducerSent) {
  for (const bool idempotent : {false, true}) {
    History history(Promise::durable);
    if (idempotent) history.expect_no_gaps(1);
    history.sent(kPartition, 1, {"a", "b", "c"});
    history.final_content(kPartition, Offset(0), Offset(2), Records{{Offset(0), "a"}, {Offset(1), "c"}});
    EXPECT_EQ(history.violation().has_value(), idempotent);
  }
}

TEST(History, FindsAHighWatermarkThatGoesBack) {
  History history(Promise::durable);
  history.high_watermark(kPartition, Offset(0), Offset(2));
  history.high_watermark(kPartition, history.high_watermark_floor(kPartition), Offset(1));
  EXPECT_TRUE(history.violation());
}

TEST(History, AllowsThePowerCutThatTheLooseRuleAllows) {
  auto history = with_two_acknowledged(Promise::until_power_cut);
  history.power_was_cut({});
  history.final_content(kPartition, Offset(0), Offset(1), Records{{Offset(0), "a"}});
  EXPECT_FALSE(history.violation());
}

TEST(History, RemembersWhatWasSyncedBeforeAPowerCut) {
  auto history = with_two_acknowledged(Promise::until_power_cut);
  history.power_was_cut({{kPartition, Offset(1)}});
  history.final_content(kPartition, Offset(0), Offset(0), Records{});
  EXPECT_TRUE(history.violation());
}

TEST(History, FindsAValueThatHasMoved) {
  auto history = with_two_acknowledged(Promise::durable);
  history.seen(kPartition, Offset(2), "a");
  EXPECT_TRUE(history.violation());
}

TEST(History, FindsAnEpochThatEndsElsewhere) {
  History history(Promise::durable);
  history.epoch_end(kPartition, LeaderEpoch(3), {.epoch = LeaderEpoch(2), .end = Offset(10)});
  history.epoch_end(kPartition, LeaderEpoch(3), {.epoch = LeaderEpoch(2), .end = Offset(10)});
  history.epoch_end(kPartition, LeaderEpoch(3), {.epoch = LeaderEpoch(2), .end = Offset(12)});
  EXPECT_FALSE(history.violation()) << "of a replica that had more";
  history.epoch_end(kPartition, LeaderEpoch(3), {.epoch = LeaderEpoch(2), .end = Offset(10)});
  EXPECT_TRUE(history.violation());
}

TEST(History, FindsALogStartThatGoesBackOrMovesWithoutAReason) {
  History history(Promise::durable, Cleanup::remove);
  history.log_start(kPartition, LeaderEpoch(1), Offset(0), Offset(5));
  EXPECT_FALSE(history.violation());
  history.log_start(kPartition, LeaderEpoch(0), history.log_start_floor(kPartition, LeaderEpoch(0)), Offset(4));
  EXPECT_FALSE(history.violation()) << "by a leader from before";
  history.log_start(kPartition, LeaderEpoch(2), history.log_start_floor(kPartition, LeaderEpoch(2)), Offset(4));
  EXPECT_TRUE(history.violation());
  History keeps_all(Promise::durable);
  keeps_all.log_start(kPartition, LeaderEpoch(0), Offset(0), Offset(1));
  EXPECT_TRUE(keeps_all.violation());
}

TEST(History, WhatLiesBeforeTheStartMayBeGoneAndNothingElse) {
  for (const int64_t start : {0, 1}) {
    History history(Promise::durable, Cleanup::remove);
    history.sent(kPartition, 1, {"a", "b"});
    history.acknowledged(kPartition, Offset(0), {"a", "b"});
    history.final_content(kPartition, Offset(start), Offset(2), Records{{Offset(1), "b"}});
    EXPECT_EQ(history.violation().has_value(), start == 0);
  }
}

TEST(History, FindsAKeyWhoseLastRecordIsGone) {
  const auto violates = [](const Records& records) {
    History history(Promise::durable, Cleanup::compact);
    history.sent(kPartition, 1, {"1.0", "1.1", "1.12"});
    history.acknowledged(kPartition, Offset(0), {"1.0", "1.1", "1.12"});
    history.final_content(kPartition, Offset(0), Offset(3), records);
    return history.violation().has_value();
  };
  ASSERT_EQ(key_of("1.0..."), key_of("1.12"));
  ASSERT_NE(key_of("1.0"), key_of("1.1"));
  EXPECT_FALSE(violates({{Offset(0), "1.0"}, {Offset(1), "1.1"}, {Offset(2), "1.12"}}));
  EXPECT_FALSE(violates({{Offset(1), "1.1"}, {Offset(2), "1.12"}}));
  EXPECT_TRUE(violates({{Offset(0), "1.0"}, {Offset(1), "1.1"}}));
  EXPECT_TRUE(violates({{Offset(2), "1.12"}}));
  EXPECT_TRUE(violates({{Offset(2), "1.12"}, {Offset(1), "1.1"}}));
}

}  // namespace
}  // namespace naru::simulation
