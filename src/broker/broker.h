// A broker: everything below the doors, built on a set of seams. The simulator builds the same object as main().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "access/authorizer.h"
#include "access/quotas.h"
#include "async/cancellation.h"
#include "async/task.h"
#include "configuration/broker_config.h"
#include "coordination_store/coordination_store.h"
#include "foundation/function.h"
#include "foundation/uuid.h"
#include "network/connection_server.h"
#include "observability/metrics_registry.h"
#include "platform/seams.h"

namespace naru {

class GroupCoordinators;
class HostedPartitions;
class MemoryBudget;
class TransactionCoordinators;
struct BrokerServices;
struct ControllerView;

class Broker {
 public:
  struct OpenListener {
    std::string name;
    Endpoint address;
  };
  // A listener that speaks another protocol than Kafka's.
  struct ExtraListener {
    ListenerOptions listener;
    std::function<std::unique_ptr<Door>(const BrokerServices&)> make_door;
  };
  // What is not as the configuration says. For the simulator and for tests.
  struct Overrides {
    using OpenStore = UniqueFunction<Task<Result<std::unique_ptr<CoordinationStore>>>()>;
    OpenStore open_store;
    // Told of the broker before it starts: it lives until start() returns, and on if that succeeds.
    std::function<void(const Broker&)> begun;
    std::unique_ptr<Authorizer> authorizer;
    std::unique_ptr<Quotas> quotas;
    std::vector<ExtraListener> extra_listeners;
  };

  // Opens the data folders, recovers every log, and accepts connections when it returns. Call it on a loop thread.
  // Whatever keeps it from starting is an error whose message names the file or address and says what to do.
  // ErrorCode::cancelled soon after `cancelled` was: a broker that waits for its coordination service or its controller
  // waits no longer. Logs that are being recovered are recovered first.
  static Task<Result<std::unique_ptr<Broker>>> start(Seams seams, BrokerConfig config, CancelToken cancelled = {});
  static Task<Result<std::unique_ptr<Broker>>> start(Seams seams, BrokerConfig config, Overrides overrides,
                                                     CancelToken cancelled = {});
  // After stop().
  ~Broker();

  const std::vector<OpenListener>& listeners() const;
  Uuid cluster_id() const;
  MetricsRegistry& metrics();
  // What this broker believes, for whoever checks a cluster from outside. Thread-safe.
  const HostedPartitions& partitions() const;
  const GroupCoordinators& groups() const;
  const TransactionCoordinators& transactions() const;
  ControllerView controller() const;
  const MemoryBudget& memory() const;
  // Thread-safe; nothing when all is well.
  std::optional<std::string> unhealthy_reason() const;

  // Accepts no more, answers what is in flight, closes every log in order. ok: the next start finds a clean shutdown.
  // Ends within stop_limits::kAllButLogs and what the disks need to close the logs, whatever others do.
  Task<Status> stop();

 private:
  struct Parts;
  explicit Broker(std::unique_ptr<Parts> parts);
  static Task<Status> start_parts(Parts& parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace naru
