#include "coordination_store/embedded/store_recovery.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "coordination_store/coordination_store_contract.h"
#include "foundation/byte_writer.h"
#include "foundation/crc32c.h"

namespace naru {
namespace {

constexpr uint64_t kLogId = 0x1234'5678'9abc'def0;

Bytes round_of(uint64_t number, std::string value) {
  RoundBuilder builder;
  builder.add({.puts = {text_put("key", value), text_put("key" + std::to_string(number), value)}}, 1);
  return builder.finish(kLogId, number);
}

// A log with rounds first..last.
Bytes log_of(uint64_t first, uint64_t last) {
  Bytes log = encode_log_header({kLogId, first});
  for (uint64_t number = first; number <= last; ++number) append_bytes(log, round_of(number, std::to_string(number)));
  return log;
}

std::string key_value(const StoreState& state) {
  const auto found = state.get("key");
  return found ? std::string(as_text(found->value.view())) : "(absent)";
}

Result<StoreRecovery> recover_log(const Bytes& log) {
  return recover_store(std::nullopt, {"log", log});
}

TEST(StoreRecovery, ReplaysALogFromItsStart) {
  const Bytes log = log_of(1, 5);
  const auto recovery = recover_log(log);
  ASSERT_TRUE(recovery);
  EXPECT_EQ(recovery->last_round, 5u);
  EXPECT_EQ(recovery->log_end, log.size());
  EXPECT_EQ(recovery->bytes_cut, 0u);
  EXPECT_EQ(key_value(recovery->state), "5");
  EXPECT_EQ(recovery->state.get("key")->version, 5);
}

TEST(StoreRecovery, CutsATornTailAtEveryLengthAndReportsTheBytes) {
  const Bytes log = log_of(1, 3);
  const size_t third = log_of(1, 2).size();
  for (size_t size = third; size < log.size(); ++size) {
    const auto recovery = recover_log(Bytes(log.begin(), log.begin() + static_cast<ptrdiff_t>(size)));
    ASSERT_TRUE(recovery) << size;
    EXPECT_EQ(recovery->last_round, 2u);
    EXPECT_EQ(recovery->log_end, third);
    size_t written = size;
    while (log[written - 1] == std::byte{0}) --written;
    EXPECT_EQ(recovery->bytes_cut, written > third ? written - third : 0);
  }
}

TEST(StoreRecovery, ATailOfZerosIsRoomForLaterRounds) {
  Bytes log = log_of(1, 2);
  const size_t end = log.size();
  for (const size_t zeros : {size_t{1}, size_t{3000}, kMaxRoundBytes + 100'000}) {
    log.resize(end + zeros);
    const auto recovery = recover_log(log);
    ASSERT_TRUE(recovery) << recovery.error().to_string();
    EXPECT_EQ(recovery->last_round, 2u);
    EXPECT_EQ(recovery->log_end, end);
    EXPECT_EQ(recovery->bytes_cut, 0u);
  }
}

TEST(StoreRecovery, ATornRoundBeforeZerosIsCutAndALaterRoundBehindZerosIsRefused) {
  const Bytes log = log_of(1, 3);
  const size_t second = log_of(1, 1).size(), third = log_of(1, 2).size();
  Bytes torn = log;
  torn[third + 40] = std::byte{0x55};
  torn.resize(log.size() + 5000);
  const auto recovery = recover_log(torn);
  ASSERT_TRUE(recovery) << recovery.error().to_string();
  EXPECT_EQ(recovery->last_round, 2u);
  EXPECT_EQ(recovery->log_end, third);
  EXPECT_GT(recovery->bytes_cut, 0u);
  EXPECT_LE(recovery->bytes_cut, log.size() - third);

  Bytes holed = log;
  std::fill(holed.begin() + static_cast<ptrdiff_t>(second), holed.begin() + static_cast<ptrdiff_t>(third),
            std::byte{0});
  EXPECT_EQ(recover_log(holed).error().code(), ErrorCode::corrupt_data);
}

TEST(StoreRecovery, AFlippedBitIsRefusedOrCutsTheLastRoundAndIsNeverSilentlyWrong) {
  const Bytes log = log_of(1, 4);
  const size_t last_round = log_of(1, 3).size();
  for (size_t position = 0; position < log.size(); ++position) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes damaged = log;
      damaged[position] ^= std::byte{1} << bit;
      const auto recovery = recover_log(damaged);
      if (position < last_round) {
        ASSERT_FALSE(recovery) << "byte " << position << " bit " << bit;
        EXPECT_EQ(recovery.error().code(), ErrorCode::corrupt_data);
        EXPECT_NE(recovery.error().message().find("log"), std::string::npos);
      } else {
        ASSERT_TRUE(recovery) << "byte " << position << " bit " << bit << ": " << recovery.error().to_string();
        EXPECT_EQ(recovery->last_round, 3u);
        EXPECT_EQ(key_value(recovery->state), "3");
      }
    }
  }
}

TEST(StoreRecovery, AFlippedBitInASnapshotIsRefused) {
  StoreState state;
  state.apply({.puts = {text_put("a", "1"), text_put("b", "2", true)}}, 1);
  const Bytes snapshot = encode_snapshot(state, 7);
  const Bytes log = log_of(8, 9);
  for (size_t position = 0; position < snapshot.size(); ++position) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes damaged = snapshot;
      damaged[position] ^= std::byte{1} << bit;
      EXPECT_FALSE(recover_store(StoreFile{"snapshot", damaged}, {"log", log})) << position;
    }
  }
  for (size_t size = 0; size < snapshot.size(); ++size) {
    EXPECT_FALSE(recover_store(StoreFile{"snapshot", BytesView(snapshot).first(size)}, {"log", log})) << size;
  }
}

TEST(StoreRecovery, ASnapshotWithItsLogOrWithTheLogBeforeGiveTheSameState) {
  const auto before = recover_log(log_of(1, 4));
  const Bytes snapshot = encode_snapshot(before->state, 4);
  for (const Bytes& log : {log_of(1, 6), log_of(5, 6), log_of(3, 6)}) {
    const auto recovery = recover_store(StoreFile{"snapshot", snapshot}, {"log", log});
    ASSERT_TRUE(recovery) << recovery.error().to_string();
    EXPECT_EQ(recovery->last_round, 6u);
    EXPECT_EQ(recovery->state.get("key")->version, 6);
  }
}

TEST(StoreRecovery, AGapBetweenSnapshotAndLogIsRefused) {
  const auto before = recover_log(log_of(1, 4));
  const Bytes snapshot = encode_snapshot(before->state, 4);
  EXPECT_FALSE(recover_store(StoreFile{"snapshot", snapshot}, {"log", log_of(6, 7)}));
  EXPECT_FALSE(recover_store(std::nullopt, {"log", log_of(2, 3)}));
  // The log must reach the snapshot: it was complete when the snapshot was taken.
  EXPECT_FALSE(recover_store(StoreFile{"snapshot", snapshot}, {"log", log_of(1, 3)}));
}

TEST(StoreRecovery, RoundsOfAnotherLogDoNotCount) {
  Bytes log = log_of(1, 2);
  const size_t end = log.size();
  RoundBuilder builder;
  builder.add({.puts = {text_put("key", "stranger")}}, 1);
  append_bytes(log, builder.finish(kLogId + 1, 3));
  const auto recovery = recover_log(log);
  ASSERT_TRUE(recovery);
  EXPECT_EQ(recovery->log_end, end);
}

TEST(StoreRecovery, ATornRoundWhoseValueImitatesARoundOfAnotherLogIsCut) {
  RoundBuilder imitation;
  imitation.add({.puts = {text_put("x", "y")}}, 1);
  const Bytes fake = imitation.finish(0, 1'000'000);
  Bytes log = log_of(1, 2);
  const size_t end = log.size();
  append_bytes(log, round_of(3, std::string(as_text(fake)) + std::string(50, 'z')));
  log.pop_back();
  const auto recovery = recover_log(log);
  ASSERT_TRUE(recovery) << recovery.error().to_string();
  EXPECT_EQ(recovery->log_end, end);
}

TEST(StoreRecovery, ANewerFormatIsRefusedAsSuch) {
  Bytes log = log_of(1, 2);
  store_big_endian(log.data() + 8, kStoreFormatVersion + 1);
  store_big_endian(log.data() + 12, crc32c(BytesView(log).first(12)));
  const auto recovery = recover_log(log);
  ASSERT_FALSE(recovery);
  EXPECT_EQ(recovery.error().code(), ErrorCode::unsupported_format);
  EXPECT_NE(recovery.error().message().find("newer Naru"), std::string::npos);
}

TEST(StoreRecovery, EndedSessionsAreReplayed) {
  Bytes log = encode_log_header({kLogId, 1});
  RoundBuilder builder;
  builder.add({.puts = {text_put("brokers/1", "a", true)}}, 1);
  builder.add(SessionEnded{1});
  builder.add({.puts = {text_put("brokers/1", "b", true)}}, 2);
  append_bytes(log, builder.finish(kLogId, 1));
  const auto recovery = recover_log(log);
  ASSERT_TRUE(recovery);
  EXPECT_EQ(recovery->state.get("brokers/1")->version, 1);
  EXPECT_EQ(recovery->state.sessions(), (std::set<SessionId>{2}));
}

}  // namespace
}  // namespace naru
