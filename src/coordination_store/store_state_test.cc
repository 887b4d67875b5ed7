#include "coordination_store/store_state.h"

#include <gtest/gtest.h>

#include "coordination_store/coordination_store_contract.h"

namespace naru {
namespace {

TEST(StoreState, CountsTheBytesOfKeysAndValues) {
  StoreState state;
  state.apply({.puts = {text_put("ab", "123"), text_put("c", "")}}, 1);
  EXPECT_EQ(state.byte_count(), 6u);
  state.apply({.puts = {text_put("ab", "1")}}, 1);
  EXPECT_EQ(state.byte_count(), 4u);
  state.apply({.deletes = {"ab", "x"}}, 1);
  EXPECT_EQ(state.byte_count(), 1u);
}

TEST(StoreState, EndsOneSessionAndLeavesTheOthers) {
  StoreState state;
  state.apply({.puts = {text_put("a", "", true), text_put("permanent", "")}}, 1);
  state.apply({.puts = {text_put("b", "", true)}}, 2);
  EXPECT_EQ(state.sessions(), (std::set<SessionId>{1, 2}));
  EXPECT_EQ(state.end_session(1), (std::vector<std::string>{"a"}));
  EXPECT_EQ(state.end_session(kNoSession), std::vector<std::string>{});
  EXPECT_EQ(state.entries().size(), 2u);
}

TEST(StoreState, AnEphemeralPutOfAnotherSessionTakesTheKeyOver) {
  StoreState state;
  state.apply({.puts = {text_put("a", "old", true)}}, 1);
  state.apply({.puts = {text_put("a", "new", true)}}, 2);
  EXPECT_TRUE(state.end_session(1).empty());
  EXPECT_EQ(state.get("a")->version, 2);
}

TEST(StoreState, TheVersionOfAKeyThatWasDeletedStartsAgain) {
  StoreState state;
  state.apply({.puts = {text_put("a", "1")}}, 1);
  state.apply({.deletes = {"a"}}, 1);
  EXPECT_EQ(state.apply({.puts = {text_put("a", "2")}}, 1), (std::vector<KeyVersion>{1}));
}

}  // namespace
}  // namespace naru
