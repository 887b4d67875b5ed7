// How this process gets its broker id in the cluster: under an ephemeral key, once for each session.
#pragma once

#include <cstdint>

#include "async/cancellation.h"
#include "async/task.h"
#include "cluster_control/confirm_folders.h"
#include "cluster_control/controller_start.h"
#include "coordination_store/coordination_store.h"
#include "foundation/time.h"
#include "platform/clock.h"
#include "platform/scheduler.h"

namespace naru {

// Not thread-safe. The clock and the scheduler outlive it.
class BrokerRegistrar {
 public:
  // `patience`: how long a session goes on at most when its process is gone, and a bit more.
  BrokerRegistrar(const Clock& clock, Scheduler& scheduler, Duration patience)
      : clock_(clock), scheduler_(scheduler), patience_(patience) {}

  // The broker epoch. If the id is still held by this broker's process of before (same data folders), waits until its
  // session has ended; already_exists, at once, if another process holds it.
  Task<Result<int64_t>> enter(CoordinationStore& store, const BrokerRegistration& registration, CancelToken token);
  // After the epoch was written to the data folders.
  Task<Status> confirm(CoordinationStore& store, FolderConfirmation confirmation, CancelToken token);

 private:
  // One transaction of a planner with a status().
  template <class BrokerPlanner>
  Task<Status> attempt(CoordinationStore& store, BrokerPlanner& planner, BrokerId id);

  const Clock& clock_;
  Scheduler& scheduler_;
  const Duration patience_;
};

}  // namespace naru
