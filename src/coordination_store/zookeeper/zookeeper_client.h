// The C library of ZooKeeper behind coroutines: one handle, one session.
//
// The library has two threads of its own. Its callbacks do nothing there but hand their result to an event loop, so no
// code of ours runs on them. Calls only queue a request and never block; opening (name lookup) and closing do, and are
// for workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "async/task.h"
#include "coordination_store/coordination_store.h"
#include "coordination_store/zookeeper/zookeeper_operations.h"
#include "platform/scheduler.h"

struct _zhandle;

namespace naru {

// Called on event loops, without order.
class ZooKeeperListener {
 public:
  virtual ~ZooKeeperListener() = default;
  virtual void on_session_changed() = 0;
  // Something about a node that was watched, which is so no longer.
  virtual void on_node_changed(std::string node) = 0;
};

// Thread-safe. Closed before it is destroyed.
class ZooKeeperClient {
 public:
  // What became of a request; the codes are ZooKeeper's.
  struct Reply {
    int code = 0;
    ZooKeeperNode stat;
    Bytes value;
    std::vector<std::string> children;
  };
  struct MultiReply {
    int code = 0;
    size_t failed_operation = 0;  // if the code says that one was refused
  };

  explicit ZooKeeperClient(Scheduler& scheduler) : scheduler_(scheduler) {}
  ~ZooKeeperClient();
  ZooKeeperClient(const ZooKeeperClient&) = delete;
  ZooKeeperClient& operator=(const ZooKeeperClient&) = delete;

  // On a worker. Succeeds without any contact; names that cannot be looked up are errors.
  Status open(const std::string& servers, Duration session_timeout, std::weak_ptr<ZooKeeperListener> listener);
  // On a worker; ends the session if there is contact. Requests that have no answer yet get one.
  void close();

  Session session() const { return {state_.load(), session_id_.load()}; }

  Task<Reply> exists(std::string node, bool watch);
  Task<Reply> get(std::string node);
  Task<Reply> children(std::string node, bool watch);
  Task<Reply> create_folder(std::string node);
  // What the leader has decided is seen by this client afterwards.
  Task<Reply> sync(std::string node);
  Task<MultiReply> multi(const std::vector<ZooKeeperOperation>& operations);

 private:
  struct Call;
  struct MultiCall;
  struct Callbacks;

  // Runs `request` with the handle; if it is refused, or the client is closed, returns the code.
  template <class Request>
  int with_handle(Request request);
  void note_session(int type, int state);
  void note_node(const char* path);

  Scheduler& scheduler_;
  std::weak_ptr<ZooKeeperListener> listener_;
  std::mutex mutex_;  // against closing; never held while anything is waited for
  _zhandle* handle_ = nullptr;
  std::atomic<SessionState> state_{SessionState::suspended};
  std::atomic<int64_t> session_id_{0};
};

// ok; unavailable for all that leaves the outcome open; what else the code means.
Status zookeeper_status(int code, const std::string& node);

}  // namespace naru
