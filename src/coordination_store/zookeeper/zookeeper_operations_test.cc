// The operations against a model of ZooKeeper's multi, and that against StoreState.
#include "coordination_store/zookeeper/zookeeper_operations.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "coordination_store/coordination_store_contract.h"
#include "coordination_store/store_state.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

// ZooKeeper's nodes and what its operations do to them; all or nothing.
class ZooKeeperModel {
 public:
  struct Node {
    std::string value;
    ZooKeeperNode stat;
  };

  // The operation that failed, or nothing.
  std::optional<size_t> multi(const std::vector<ZooKeeperOperation>& operations, int64_t session) {
    auto nodes = nodes_;
    for (size_t i = 0; i < operations.size(); ++i) {
      if (!apply(nodes, operations[i], session)) return i;
    }
    nodes_ = std::move(nodes);
    return std::nullopt;
  }
  void end_session(int64_t session) {
    std::erase_if(nodes_, [session](const auto& node) { return node.second.stat.ephemeral_owner == session; });
  }
  ZooKeeperNodes look_at(const std::vector<std::string>& keys, const ZooKeeperPaths& paths) const {
    ZooKeeperNodes found;
    for (const std::string& key : keys) {
      if (const auto node = nodes_.find(paths.value_node(key)); node != nodes_.end()) found[key] = node->second.stat;
    }
    return found;
  }
  const std::map<std::string, Node>& nodes() const { return nodes_; }

 private:
  static bool apply(std::map<std::string, Node>& nodes, const ZooKeeperOperation& operation, int64_t session) {
    const auto found = nodes.find(operation.node);
    const bool matches =
        found != nodes.end() && (operation.version == -1 || operation.version == found->second.stat.version);
    switch (operation.kind) {
      case ZooKeeperOperation::Kind::check:
        return matches;
      case ZooKeeperOperation::Kind::create:
        return nodes
            .insert({operation.node,
                     {std::string(as_text(operation.value)), {.ephemeral_owner = operation.ephemeral ? session : 0}}})
            .second;
      case ZooKeeperOperation::Kind::set:
        if (!matches) return false;
        found->second.value = as_text(operation.value);
        ++found->second.stat.version;
        return true;
      case ZooKeeperOperation::Kind::remove:
        if (matches) nodes.erase(found);
        return matches;
    }
    return false;
  }

  std::map<std::string, Node> nodes_;
};

class OperationsModelTest : public testing::Test {
 protected:
  static constexpr int64_t kSessions = 2;

  std::string random_key() { return std::string("folder/") + static_cast<char>('a' + random_.below(4)); }
  KeyVersion version_of(const std::string& key) const {
    const auto node = model_.nodes().find(paths_.value_node(key));
    return node == model_.nodes().end() ? 0 : node->second.stat.version + 1;
  }
  Transaction random_transaction() {
    Transaction transaction;
    for (uint64_t i = random_.below(3); i > 0; --i) {
      const std::string key = random_key();
      transaction.compares.push_back(
          {key, random_.one_in(4) ? static_cast<KeyVersion>(random_.below(3)) : version_of(key)});
    }
    std::set<std::string> changed;
    for (uint64_t i = random_.below(4); i > 0; --i) {
      const std::string key = random_key();
      if (!changed.insert(key).second) continue;
      if (random_.one_in(3)) {
        transaction.deletes.push_back(key);
      } else {
        transaction.puts.push_back(text_put(key, std::to_string(random_.below(1000)), random_.one_in(2)));
      }
    }
    return transaction;
  }
  bool holds(const Transaction& transaction) const {
    return std::ranges::all_of(transaction.compares,
                               [this](const Compare& compare) { return version_of(compare.key) == compare.version; });
  }
  void expect_same_contents() const {
    ASSERT_EQ(model_.nodes().size(), truth_.entries().size());
    for (const auto& [key, entry] : truth_.entries()) {
      const auto& node = model_.nodes().at(paths_.value_node(key));
      EXPECT_EQ(node.value, as_text(entry.value.view()));
      EXPECT_EQ(node.stat.ephemeral_owner, entry.owner);
    }
  }

  SimulatedRandom random_{7};
  const ZooKeeperPaths paths_{"/naru"};
  ZooKeeperModel model_;
  StoreState truth_;
};

TEST_F(OperationsModelTest, RandomTransactionsDoWhatTheyDoInStoreState) {
  int done = 0, refused = 0;
  for (int step = 0; step < 20'000; ++step) {
    const int64_t session = 1 + static_cast<int64_t>(random_.below(kSessions));
    if (random_.one_in(20)) {
      model_.end_session(session);
      truth_.end_session(session);
    }
    const Transaction transaction = random_transaction();
    const ZooKeeperNodes seen = model_.look_at(keys_to_look_at(transaction), paths_);
    const ZooKeeperPlan plan = plan_operations(transaction, seen, session, paths_);
    const bool should_hold = holds(transaction);
    std::map<std::string, KeyVersion> before;
    for (const Put& put : transaction.puts) before[put.key] = version_of(put.key);
    const auto failed = model_.multi(plan.operations, session);
    ASSERT_EQ(failed.has_value(), !should_hold);
    if (failed) {
      EXPECT_LT(*failed, plan.compare_count) << "a failed compare is told from a stale look";
      ++refused;
      continue;
    }
    ++done;
    truth_.apply(transaction, session);
    ASSERT_EQ(plan.versions.size(), transaction.puts.size());
    for (size_t i = 0; i < transaction.puts.size(); ++i) {
      const std::string& key = transaction.puts[i].key;
      EXPECT_EQ(version_of(key), plan.versions[i]);
      EXPECT_NE(before[key], plan.versions[i]);
    }
    expect_same_contents();
  }
  EXPECT_GT(done, 5000);
  EXPECT_GT(refused, 1000);
}

TEST_F(OperationsModelTest, APlanOnAStaleLookChangesNothingUnlessItStillFits) {
  int stale = 0;
  for (int step = 0; step < 20'000; ++step) {
    const Transaction mine = random_transaction(), theirs = random_transaction();
    const ZooKeeperPlan plan = plan_operations(mine, model_.look_at(keys_to_look_at(mine), paths_), 1, paths_);
    const auto others = plan_operations(theirs, model_.look_at(keys_to_look_at(theirs), paths_), 2, paths_);
    if (!model_.multi(others.operations, 2)) truth_.apply(theirs, 2);
    const bool should_hold = holds(mine);
    if (const auto failed = model_.multi(plan.operations, 1)) {
      stale += *failed >= plan.compare_count ? 1 : 0;
    } else {
      EXPECT_TRUE(should_hold);
      truth_.apply(mine, 1);
    }
    for (const auto& [key, entry] : truth_.entries()) {
      EXPECT_EQ(model_.nodes().at(paths_.value_node(key)).value, as_text(entry.value.view()));
    }
    ASSERT_EQ(model_.nodes().size(), truth_.entries().size());
  }
  EXPECT_GT(stale, 100);
}

TEST(ZooKeeperOperations, VersionsThatNoNodeHasCannotHold) {
  EXPECT_FALSE(can_hold({.compares = {{"a", -1}}}));
  EXPECT_FALSE(can_hold({.compares = {{"a", int64_t{1} << 32}}}));
  EXPECT_TRUE(can_hold({.compares = {{"a", 0}, {"b", 1}}}));
}

}  // namespace
}  // namespace naru
