// A session on etcd: a lease that is kept alive, and what is known of it.
//
// Suspended as soon as a keepalive fails at all servers, which is before the lease can have ended; who asks for the
// session is told so when half of the timeout has passed without one. Expired when etcd says that there is no such
// lease.
#pragma once

#include <atomic>
#include <cstdint>

#include "async/task_group.h"
#include "coordination_store/coordination_store.h"
#include "coordination_store/etcd/etcd_client.h"
#include "coordination_store/etcd/etcd_messages.h"
#include "platform/seams.h"

namespace naru {

// Thread-safe. Stopped before it is destroyed, if it was begun; the client and the keys outlive it.
class EtcdSession {
 public:
  // `changed` is called on event loops.
  EtcdSession(Seams seams, EtcdClient& client, const EtcdKeys& keys, Duration timeout, UniqueFunction<void()> changed)
      : seams_(seams), client_(client), keys_(keys), timeout_(timeout), changed_(std::move(changed)) {}

  // Gets a lease, within the time and before it is cancelled, and keeps it.
  Task<Status> begin(Duration within, CancelToken cancelled);
  // Gives the lease back, if etcd can be reached.
  Task<void> end();

  int64_t lease() const { return lease_; }
  Session session();
  // Somebody was told that the lease is gone.
  void note_expired() { become(SessionState::expired); }

 private:
  Task<Status> get_lease(MonotonicTime deadline);
  Duration until(MonotonicTime deadline) const;
  Task<void> keep_alive();
  void become(SessionState state);
  // True: it was another one before.
  bool note(SessionState state);
  void note_and_tell_on_loop(SessionState state);
  Task<void> tell_on_loop();
  bool is_silent() const;

  const Seams seams_;
  EtcdClient& client_;
  const EtcdKeys& keys_;
  const Duration timeout_;
  UniqueFunction<void()> changed_;
  TaskGroup tasks_;
  std::atomic<int64_t> lease_{0};
  std::atomic<SessionState> state_{SessionState::suspended};
  std::atomic<MonotonicTime> last_contact_{};  // when the newest keepalive was sent that etcd has answered
};

}  // namespace naru
