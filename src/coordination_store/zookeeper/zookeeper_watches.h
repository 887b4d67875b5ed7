// The watches of one ZooKeeper session. ZooKeeper's fire once and know single nodes only; these go on, and know
// folders.
//
// After an event the nodes of the subject are watched anew, and only then the waiting are told: what changes from then
// on is an event of its own, so nothing is missed.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "async/strand.h"
#include "async/task_group.h"
#include "coordination_store/watch_registry.h"
#include "coordination_store/zookeeper/zookeeper_client.h"
#include "coordination_store/zookeeper/zookeeper_paths.h"
#include "platform/seams.h"

namespace naru {

// Thread-safe. Stopped before it is destroyed; the client and the paths outlive it.
class ZooKeeperWatches final : public ZooKeeperListener, public std::enable_shared_from_this<ZooKeeperWatches> {
 public:
  ZooKeeperWatches(Seams seams, const ZooKeeperPaths& paths, ZooKeeperClient& client)
      : seams_(seams), paths_(paths), client_(client) {}

  std::unique_ptr<Watch> watch(std::string subject);
  // Fires when the session changes, and for nothing else: no key is called so.
  std::unique_ptr<Watch> watch_session() { return registry_.watch("/"); }
  void on_session_changed() override { registry_.session_changed(); }
  void on_node_changed(std::string node) override;
  // After the client was closed: waits for what is under way, and wakes those who wait.
  Task<void> stop();

 private:
  class SubjectWatch;
  struct Subject {
    int users = 0;
    bool setting = false;  // its nodes are being watched anew
    bool again = false;    // and have to be once more
  };

  // Inside the strand.
  void set(const std::string& subject);
  void done(const std::string& subject);

  void add(std::string subject);
  void remove(std::string subject);
  Task<void> set_and_tell(std::string subject);
  Task<bool> set_watches(std::string subject);
  Task<bool> watch_folder(std::string folder);
  Task<void> watch_child(std::string node, char& ok);

  const Seams seams_;
  const ZooKeeperPaths& paths_;
  ZooKeeperClient& client_;
  WatchRegistry registry_;
  TaskGroup tasks_;
  Strand strand_;
  std::map<std::string, Subject, std::less<>> subjects_;
  bool stopped_ = false;
};

}  // namespace naru
