// How this broker becomes the controller, what it then does by itself, and how it stops being it.
//
// Every broker registers and then campaigns: when the key `controller` is absent, each tries to put it, and one
// transaction wins. In office, the controller brings the partitions in line with the brokers whenever some came or
// went, raises the replication of internal topics, and gives leadership back to preferred replicas from time to time.
// It loses its office with its session, or when it finds a higher epoch in the store.
//
// One loop looks at everything again whenever a watch fires: what happened meanwhile makes no difference to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "async/task_group.h"
#include "cluster_control/broker_registrar.h"
#include "cluster_control/broker_standings.h"
#include "cluster_control/change_signal.h"
#include "cluster_control/planner_runner.h"
#include "cluster_control/settle_partitions.h"
#include "configuration/broker_config.h"
#include "coordination_store/coordination_store.h"
#include "foundation/function.h"
#include "platform/random.h"

namespace naru {

// Whom this process believes to be the controller.
struct ControllerView {
  BrokerId id = kNoBroker;
  int32_t epoch = -1;
  bool here = false;                      // this process, in office
  std::vector<BrokerListener> listeners;  // where it is reached; empty if it is here, or that is not known

  bool operator==(const ControllerView&) const = default;
};

// Opens a new session after the one before has expired.
using OpenStore = UniqueFunction<Task<Result<std::unique_ptr<CoordinationStore>>>()>;

// Writes a broker epoch into the data folders; the result are the ids of those in which it is durable.
using WriteEpoch = std::function<Task<std::vector<Uuid>>(int64_t)>;

// Thread-safe. Everything it is made of outlives it. Stopped before it is destroyed.
class ControllerOffice {
 public:
  struct Parts {
    CoordinationStore& store;
    OpenStore reopen_store;  // none: an expired session is final
    WriteEpoch write_epoch;  // none: there are no data folders
    Duration session_timeout{};
    PlannerRunner& runner;
    const BrokerConfig& config;
    const Clock& clock;
    Random& random;
    Scheduler& scheduler;
  };
  explicit ControllerOffice(Parts parts);

  // Registers this broker and campaigns once: either this broker is the controller afterwards, or another one is. Then
  // goes on by itself. Once. A store that does not answer is waited for, within the time that the configuration says.
  Task<Status> start(BrokerRegistration registration, CancelToken cancelled = {});
  // If this broker is the controller, another one may be, from now on; it will not be again.
  Task<void> resign();
  // Ends the loop, not the office: that ends with the session, when the store is closed. Sessions that were opened here
  // are closed here.
  Task<void> stop();

  ControllerView controller() const;
  // Returns when controller() is not `seen` any more, or the token is cancelled.
  Task<void> wait_for_change(ControllerView seen, CancelToken token);
  // Of this broker's registration; another one after each new session.
  int64_t broker_epoch() const { return broker_epoch_.load(std::memory_order_acquire); }
  // The session, when it was looked at last; which is when it changes.
  bool is_connected() const { return connected_.load(std::memory_order_relaxed); }

  // Those that have told this office that they stop; the next one hears it again.
  StoppingBrokers stopping() const;
  void note_stopping(BrokerId id, int64_t broker_epoch);
  // A configuration that elections obey was changed.
  void settle_again();

 private:
  Task<void> live(CancelToken token, uint64_t seen);
  Task<void> pump(std::unique_ptr<Watch> watch, CancelToken token);
  Task<void> look_at_session();
  void watch_store();
  Task<void> unwatch_store();
  Task<Status> enter_for_the_first_time(MonotonicTime deadline);
  // Looks at everything and does what is due.
  Task<Status> examine();
  Task<Status> renew_session();
  Task<Status> enter_cluster();
  Task<Status> confirm_epoch(int64_t epoch);
  Task<Status> campaign();
  Task<Status> find_controller();
  Task<Status> serve();
  Task<Status> settle_if_needed();
  Task<Status> raise_replication_if_needed();
  Task<Status> rebalance_if_due();
  void notice_lost_office();
  void forget_stopping();
  void set_view(const ControllerView& view);
  MonotonicTime next_look() const;

  Parts parts_;
  CoordinationStore* store_;
  std::unique_ptr<CoordinationStore> own_store_;  // opened by reopen_store
  BrokerRegistrar registrar_;
  BrokerRegistration registration_;
  ChangeSignal events_;  // something may have to be done
  ChangeSignal view_changes_;
  std::unique_ptr<TaskGroup> watching_;
  TaskGroup background_;
  CancelSource stopping_source_;
  bool stopped_ = false;

  // The loop's.
  bool registered_ = false;
  std::optional<int32_t> term_;  // the epoch of the office that this loop knows of
  bool open_ = false;
  std::optional<std::map<BrokerId, int64_t>> settled_brokers_;
  MonotonicTime next_rebalance_{};

  std::atomic<int64_t> broker_epoch_{-1};
  std::atomic<bool> connected_{false};
  std::atomic<bool> settle_again_{false};
  std::atomic<bool> resigned_{false};
  mutable std::mutex mutex_;
  ControllerView view_;
  StoppingBrokers stopping_;
};

}  // namespace naru
