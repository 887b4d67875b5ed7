// The watches of one etcd session: a stream for each subject that somebody watches.
//
// A stream says that something has changed, and when it begins (again) that something may have; then it is read from
// the store. So nothing has to be known of what happened before, and compaction of etcd's history does not matter.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "async/strand.h"
#include "async/task_group.h"
#include "coordination_store/etcd/etcd_client.h"
#include "coordination_store/etcd/etcd_messages.h"
#include "coordination_store/watch_registry.h"
#include "platform/seams.h"

namespace naru {

// Thread-safe. Stopped before it is destroyed; the client and the keys live until then, watches may live longer.
class EtcdWatches : public std::enable_shared_from_this<EtcdWatches> {
 public:
  EtcdWatches(Seams seams, EtcdClient& client, const EtcdKeys& keys) : seams_(seams), client_(client), keys_(keys) {}

  std::unique_ptr<Watch> watch(std::string subject);
  // Wakes those who wait, and begins the streams anew: the servers that they came from may be gone.
  void session_changed();
  // Waits until all streams have ended.
  Task<void> stop();

 private:
  class SubjectWatch;
  struct Subject {
    int users = 0;
    HttpClient::StreamId stream = 0;
  };

  void add(std::string subject);
  void remove(std::string subject);
  void on_event(const std::string& subject, bool is_over);
  Task<void> follow(std::string subject);

  // Inside the strand.
  bool start_stream(const std::string& subject, OneShot<>& ended);  // false: nobody wants it any more
  void stop_stream(const Subject& subject);

  const Seams seams_;
  EtcdClient& client_;
  const EtcdKeys& keys_;
  WatchRegistry registry_;
  TaskGroup tasks_;
  Strand strand_;
  std::map<std::string, Subject, std::less<>> subjects_;
  bool stopped_ = false;
};

}  // namespace naru
