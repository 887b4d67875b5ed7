// Accepts connections on a set of listeners, within limits, and closes them in order when the broker stops.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "async/wakeup.h"
#include "network/connection.h"
#include "observability/log_rate.h"
#include "observability/memory_budget.h"
#include "observability/metrics_registry.h"
#include "platform/seams.h"

namespace naru {

struct ServerLimits {
  size_t max_connections = SIZE_MAX;
  size_t max_connections_per_address = SIZE_MAX;
  std::map<std::string, size_t> per_address_overrides;  // by address, in place of max_connections_per_address
};

struct ListenerOptions {
  std::string name;
  Endpoint address;
  ListenerPurpose purpose = ListenerPurpose::clients;
};

// Thread-safe. listen() and stop() on a loop thread.
class ConnectionServer {
 public:
  // Requests are paid for from `memory`; small ones that would have to wait for it, from `small_requests`.
  ConnectionServer(Seams seams, MemoryBudget& memory, MemoryBudget& small_requests, MetricsRegistry& metrics,
                   ServerLimits limits);
  ~ConnectionServer();

  // Returns the address that clients can connect to, with its real port. The door outlives the server.
  Result<Endpoint> listen(const ListenerOptions& options, Door& door);

  // Before listen(): clients are let in, within the limits, and nothing is read from them until serve().
  void hold_back();
  void serve();

  size_t open_connections() const;
  // The number of the newest connection; 0: there was none.
  uint64_t newest_connection() const;

  // For connections from now on; those that are open stay.
  void set_limits(ServerLimits limits);

  // Accepts no more; lets every connection finish what is in flight; returns when all of them are closed. Connections
  // that are not done by `deadline` are cut.
  Task<void> stop(MonotonicTime deadline);

 private:
  void accept(const ListenerOptions& listener, Door& door, std::unique_ptr<Stream> stream);
  std::optional<ConnectionRefusal> reason_to_refuse(const std::string& host) const;
  void refuse(Stream& stream, const std::string& host, ConnectionRefusal why);
  void forget(uint64_t id, const std::string& host);
  std::vector<std::shared_ptr<Connection>> snapshot() const;

  Seams seams_;
  MemoryBudget& memory_;
  MemoryBudget& small_requests_;
  ConnectionMetrics metrics_;
  LogRate refusal_lines_{1};
  LogRate close_lines_{20};
  std::vector<std::unique_ptr<Listener>> listeners_;

  mutable std::mutex mutex_;  // held for look-ups only
  ServerLimits limits_;
  uint64_t newest_ = 0;
  std::map<uint64_t, std::shared_ptr<Connection>> connections_;
  std::map<std::string, size_t> per_address_;
  bool serving_ = true;
  std::vector<std::shared_ptr<Connection>> waiting_;  // for serve()
  std::shared_ptr<Wakeup> all_closed_;                // set by stop()
};

}  // namespace naru
