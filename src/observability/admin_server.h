// The HTTP server for operators: GET /metrics (Prometheus text) and GET /healthz. Everything else is 404.
//
// It is given seams of its own (an event loop that serves nothing else), so that it answers even when every other loop
// is busy. Connections are for one request and bounded in number, size and time: when there are too many, the oldest is
// closed, so idle ones never keep anybody from asking.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "foundation/function.h"
#include "foundation/status.h"
#include "platform/seams.h"

namespace naru {

class AdminConnection;

// One loop thread for everything; the seams must have no other loop.
class AdminServer {
 public:
  struct Pages {
    UniqueFunction<std::string()> metrics;
    UniqueFunction<std::optional<std::string>()> unhealthy_reason;  // none: healthy, 200; else 503 with the reason
  };

  static constexpr size_t kConnectionsMax = 64;

  AdminServer(Seams seams, Pages pages);
  // After stop(), or when listen() was never called.
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  // The address with its real port (0: any free one); ErrorCode::io_error when it cannot be used.
  Result<Endpoint> listen(const Endpoint& address);
  // Closes everything; no page is asked for afterwards.
  void stop();

  size_t open_connections() const { return connections_.size(); }

 private:
  friend class AdminConnection;

  void accept(std::unique_ptr<Stream> stream);
  void forget(uint64_t id) { connections_.erase(id); }
  std::string answer(std::string_view request_line);

  Seams seams_;
  Pages pages_;
  std::unique_ptr<Listener> listener_;
  uint64_t next_id_ = 0;
  std::map<uint64_t, std::shared_ptr<AdminConnection>> connections_;  // oldest first
};

}  // namespace naru
