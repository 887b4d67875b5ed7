// What is stored stays readable for ever. docs/formats/coordination_store.md explains the log of this test byte by
// byte.
#include "coordination_store/embedded/store_format.h"

#include <string>

#include <gtest/gtest.h>

#include "coordination_store/coordination_store_contract.h"
#include "coordination_store/embedded/store_recovery.h"

namespace naru {
namespace {

std::string hex(BytesView bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

Bytes log_with_one_put() {
  Bytes log = encode_log_header({.log_id = 0x1122334455667788, .first_round = 1});
  RoundBuilder builder;
  builder.add({.puts = {text_put("a", "1")}}, 1);
  append_bytes(log, builder.finish(0x1122334455667788, 1));
  return log;
}

TEST(StoreFormat, ALogOfVersionOneHasTheseBytes) {
  EXPECT_EQ(hex(log_with_one_put()),
            "4e415255534c4f47000000017ed3f0ef11223344556677880000000000000001902614a34e524e440000000100000016"
            "000000000000000150534933fdf1ac9401000000000000000100010000016100000001310000");
}

TEST(StoreFormat, ASnapshotOfVersionOneHasTheseBytes) {
  const Bytes log = log_with_one_put();
  const auto recovery = recover_store(std::nullopt, {"log", log});
  ASSERT_TRUE(recovery);
  EXPECT_EQ(hex(encode_snapshot(recovery->state, recovery->last_round)),
            "4e415255534e41500000000180fe49430000000000000001000000000000000100016100000000000000010000000000"
            "00000000000001318156cd0a");
}

TEST(StoreFormat, ABuilderIsEmptyAfterItsRoundIsFinished) {
  RoundBuilder builder;
  EXPECT_TRUE(builder.empty());
  builder.add(SessionEnded{3});
  EXPECT_FALSE(builder.empty());
  const Bytes round = builder.finish(1, 1);
  EXPECT_EQ(round.size(), kRoundHeaderBytes + 9);
  EXPECT_TRUE(builder.empty());
}

}  // namespace
}  // namespace naru
