// The coordination store on etcd, through its JSON gateway.
//
// The version of a key is its mod_revision, which never comes again. Reads are linearizable. Ephemeral keys hang on a
// lease, and a transaction that changes something happens only while the lease lives.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "coordination_store/coordination_store.h"
#include "coordination_store/etcd/etcd_client.h"
#include "coordination_store/etcd/etcd_messages.h"
#include "coordination_store/etcd/etcd_session.h"
#include "coordination_store/etcd/etcd_watches.h"
#include "platform/seams.h"

namespace naru {

struct EtcdOptions {
  std::vector<std::string> servers;  // host:port each
  std::string root = "/naru";        // what all keys begin with
  Duration session_timeout = 6s;
  Duration connect_timeout = 10s;
  CancelToken cancelled;  // open() gives up
};

// Thread-safe. Closed before it is destroyed.
class EtcdStore final : public CoordinationStore {
 public:
  // Waits until there is a session.
  static Task<Result<std::unique_ptr<EtcdStore>>> open(Seams seams, EtcdOptions options);

  Task<Result<std::optional<KeyValue>>> get(std::string key) override;
  Task<Result<std::vector<KeyValue>>> list(std::string folder) override;
  Task<Result<std::vector<KeyVersion>>> commit(Transaction transaction) override;
  std::unique_ptr<Watch> watch(std::string subject) override { return watches_->watch(std::move(subject)); }
  Task<Session> session() override { co_return session_.session(); }
  Task<Status> close() override;

 private:
  EtcdStore(Seams seams, EtcdOptions options);

  Task<Status> begin();
  // Not after the session has ended.
  Status check_session();

  const Seams seams_;
  const EtcdOptions options_;
  const EtcdKeys keys_;
  EtcdClient client_;
  const std::shared_ptr<EtcdWatches> watches_;
  EtcdSession session_;
  std::atomic<bool> closed_{false};
};

}  // namespace naru
