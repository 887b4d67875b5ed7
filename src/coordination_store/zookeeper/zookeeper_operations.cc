#include "coordination_store/zookeeper/zookeeper_operations.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace naru {
namespace {

using Kind = ZooKeeperOperation::Kind;

// Headers of an operation, its lengths, and the access list that each create carries.
constexpr size_t kOperationBytes = 56;

class Planner {
 public:
  Planner(const Transaction& transaction, const ZooKeeperNodes& nodes, int64_t session, const ZooKeeperPaths& paths)
      : transaction_(transaction), nodes_(nodes), session_(session), paths_(paths) {}

  ZooKeeperPlan plan() {
    for (const Compare& compare : transaction_.compares) add_compare(compare);
    plan_.compare_count = plan_.operations.size();
    for (const Put& put : transaction_.puts) plan_.versions.push_back(add_put(put));
    for (const std::string& key : transaction_.deletes) add_delete(key);
    return std::move(plan_);
  }

 private:
  void add(Kind kind, std::string_view key, int32_t version, BytesView value = {}, bool ephemeral = false) {
    plan_.operations.push_back({kind, paths_.value_node(key), value, version, ephemeral});
  }

  void add_compare(const Compare& compare) {
    if (compare.version != 0) return add(Kind::check, compare.key, static_cast<int32_t>(compare.version - 1));
    if (absent_.insert(compare.key).second) add_check_of_absence(compare.key);
  }

  // That a key is absent is found out by making it.
  void add_check_of_absence(std::string_view key) {
    add(Kind::create, key, -1);
    add(Kind::remove, key, -1);
  }

  KeyVersion add_put(const Put& put) {
    const auto found = nodes_.find(put.key);
    if (found == nodes_.end() || absent_.contains(put.key)) {
      add(Kind::create, put.key, -1, put.value, put.ephemeral);
      return 1;
    }
    const ZooKeeperNode& node = found->second;
    if (node.ephemeral_owner == (put.ephemeral ? session_ : 0)) {
      add(Kind::set, put.key, node.version, put.value);
      return node.version + 2;
    }
    add(Kind::remove, put.key, node.version);
    if (node.version != 0) {
      add(Kind::create, put.key, -1, put.value, put.ephemeral);
      return 1;
    }
    add(Kind::create, put.key, -1, {}, put.ephemeral);
    add(Kind::set, put.key, 0, put.value);
    return 2;
  }

  void add_delete(const std::string& key) {
    if (absent_.contains(key)) return;
    const auto found = nodes_.find(key);
    if (found == nodes_.end()) return add_check_of_absence(key);
    add(Kind::remove, key, found->second.version);
  }

  const Transaction& transaction_;
  const ZooKeeperNodes& nodes_;
  const int64_t session_;
  const ZooKeeperPaths& paths_;
  ZooKeeperPlan plan_;
  std::set<std::string_view> absent_;  // compared with absent
};

}  // namespace

bool can_hold(const Transaction& transaction) {
  return std::ranges::all_of(transaction.compares, [](const Compare& compare) {
    return compare.version >= 0 && compare.version <= std::numeric_limits<int32_t>::max();
  });
}

std::vector<std::string> keys_to_look_at(const Transaction& transaction) {
  std::vector<std::string> keys = transaction.deletes;
  for (const Put& put : transaction.puts) keys.push_back(put.key);
  return keys;
}

ZooKeeperPlan plan_operations(const Transaction& transaction, const ZooKeeperNodes& nodes, int64_t session,
                              const ZooKeeperPaths& paths) {
  return Planner(transaction, nodes, session, paths).plan();
}

size_t request_bytes(const ZooKeeperPlan& plan) {
  size_t bytes = 0;
  for (const ZooKeeperOperation& operation : plan.operations) {
    bytes += kOperationBytes + operation.node.size() + operation.value.size();
  }
  return bytes;
}

}  // namespace naru
