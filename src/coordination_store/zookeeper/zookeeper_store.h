// The coordination store on ZooKeeper.
//
// A transaction is one multi; the nodes that it changes are looked at first (zookeeper_operations.h). Reads may be
// stale, though never older than what this session has seen, as in ZooKeeper. A watch of a folder watches every node in
// it and is set anew after each event, so it is for small folders.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "coordination_store/coordination_store.h"
#include "coordination_store/zookeeper/zookeeper_client.h"
#include "coordination_store/zookeeper/zookeeper_operations.h"
#include "coordination_store/zookeeper/zookeeper_paths.h"
#include "coordination_store/zookeeper/zookeeper_watches.h"
#include "platform/seams.h"

namespace naru {

struct ZooKeeperOptions {
  std::string servers;         // host:port,host:port
  std::string root = "/naru";  // all nodes are beneath it; made if need be
  Duration session_timeout = 6s;
  Duration connect_timeout = 10s;
  CancelToken cancelled;  // open() gives up
};

// Thread-safe. Closed before it is destroyed.
class ZooKeeperStore final : public CoordinationStore {
 public:
  // Waits until there is a session and the root exists.
  static Task<Result<std::unique_ptr<ZooKeeperStore>>> open(Seams seams, ZooKeeperOptions options);

  Task<Result<std::optional<KeyValue>>> get(std::string key) override;
  Task<Result<std::vector<KeyValue>>> list(std::string folder) override;
  Task<Result<std::vector<KeyVersion>>> commit(Transaction transaction) override;
  std::unique_ptr<Watch> watch(std::string subject) override { return watches_->watch(std::move(subject)); }
  Task<Session> session() override { co_return client_.session(); }
  Task<Status> close() override;

 private:
  ZooKeeperStore(Seams seams, ZooKeeperOptions options);

  Task<Status> begin();
  Task<Status> wait_for_session(MonotonicTime deadline);
  Task<Status> make_folders(std::vector<std::string> nodes);
  Task<Result<ZooKeeperNodes>> look_at_nodes(const Transaction& transaction);
  Task<Result<std::vector<KeyValue>>> read_values(std::vector<std::string> keys);

  const Seams seams_;
  const ZooKeeperOptions options_;
  const ZooKeeperPaths paths_;
  ZooKeeperClient client_;
  const std::shared_ptr<ZooKeeperWatches> watches_;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  std::set<std::string> known_folders_;  // nodes that exist; never deleted
};

}  // namespace naru
