#include "broker/handlers/group_filter.h"

#include <string>

#include <gtest/gtest.h>

#include "consumer_groups/classic/classic_group.h"

namespace naru {
namespace {

TEST(GroupFilter, LetsEverythingThroughUntilSomethingIsWanted) {
  GroupFilter filter;
  EXPECT_TRUE(filter.lets_through("Stable"));
  EXPECT_TRUE(filter.lets_through("anything"));
  filter.add("stable");
  filter.add("stable");
  EXPECT_TRUE(filter.lets_through("Stable"));
  EXPECT_FALSE(filter.lets_through("Empty"));
  EXPECT_FALSE(filter.lets_through("anything"));
  filter.add("EMPTY");
  EXPECT_TRUE(filter.lets_through("Empty"));
}

TEST(GroupFilter, AnUnknownWordLetsNothingThrough) {
  GroupFilter filter;
  filter.add("Stabl");
  filter.add("");
  EXPECT_FALSE(filter.lets_through("Stable"));
  EXPECT_FALSE(filter.lets_through("Stabl"));
  EXPECT_FALSE(filter.lets_through(""));
}

TEST(GroupFilter, KnowsEveryStateAndType) {
  using enum ClassicState;
  std::vector<std::string> words{"Assigning", "Reconciling", "Stable", "Empty", "classic", "consumer"};
  for (const ClassicState state : {empty, preparing_rebalance, completing_rebalance, stable}) {
    words.emplace_back(to_string(state));
  }
  for (const std::string& word : words) {
    GroupFilter filter;
    filter.add(word);
    EXPECT_TRUE(filter.lets_through(word)) << word;
  }
}

}  // namespace
}  // namespace naru
