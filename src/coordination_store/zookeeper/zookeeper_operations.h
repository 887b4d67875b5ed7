// Turns a transaction into operations of one ZooKeeper multi, and its results into an answer. No I/O.
//
// ZooKeeper has neither "put" nor "compare with absent" nor a change of a node's owner. What a put needs depends on the
// node that is there, so nodes are looked at first; the operations name the versions that were seen, and if a node has
// changed meanwhile nothing happens and the transaction is planned again.
//
// The version of a key is the node's version + 1. A node that is made anew starts again, so replacing a node of
// another kind skips the version that it had: every put changes the version, as the interface promises.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordination_store/coordination_store.h"
#include "coordination_store/zookeeper/zookeeper_paths.h"

namespace naru {

struct ZooKeeperOperation {
  enum class Kind : uint8_t { check, create, set, remove };
  Kind kind = Kind::check;
  std::string node;
  BytesView value;  // of the transaction
  int32_t version = -1;
  bool ephemeral = false;
};

// What is known of a node.
struct ZooKeeperNode {
  int32_t version = 0;
  int64_t ephemeral_owner = 0;
};
// By key; absent nodes are not in it.
using ZooKeeperNodes = std::map<std::string, ZooKeeperNode, std::less<>>;

struct ZooKeeperPlan {
  std::vector<ZooKeeperOperation> operations;
  // The first so many decide whether the compares hold: if one of them fails the transaction does.
  size_t compare_count = 0;
  std::vector<KeyVersion> versions;  // of the puts
};

// False if a compare names a version that no node can have.
bool can_hold(const Transaction& transaction);
// The keys whose nodes have to be looked at.
std::vector<std::string> keys_to_look_at(const Transaction& transaction);
// For a transaction that can hold, and outlives the plan. `session` is the id of this client's session.
ZooKeeperPlan plan_operations(const Transaction& transaction, const ZooKeeperNodes& nodes, int64_t session,
                              const ZooKeeperPaths& paths);
// Bytes of the request; a server refuses more than 1 MiB - 1.
size_t request_bytes(const ZooKeeperPlan& plan);

}  // namespace naru
