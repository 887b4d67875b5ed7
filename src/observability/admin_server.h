// The HTTP server for operators: GET /metrics (Prometheus text) and GET /healthz. Everything else is 404.
//
// It runs on a thread of its own, so that it answers even when every event loop is busy, and does not go through the
// seams: only a real broker starts one, never a simulated one. One connection is served at a time, for one request,
// with short timeouts; others wait in the kernel's queue, so clients cannot make it use more memory or descriptors.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "foundation/function.h"
#include "foundation/status.h"
#include "platform/transport.h"

namespace naru {

class AdminServer {
 public:
  // Called from the server's thread.
  struct Pages {
    UniqueFunction<std::string()> metrics;
    UniqueFunction<std::optional<std::string>()> unhealthy_reason;  // none: healthy, 200; else 503 with the reason
  };

  // Listens when it returns; ErrorCode::io_error when the address cannot be used. Port 0: any free one.
  static Result<std::unique_ptr<AdminServer>> start(const Endpoint& address, Pages pages);
  // Waits for the answers being sent.
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  const Endpoint& address() const;  // with the real port

 private:
  struct Implementation;
  explicit AdminServer(std::unique_ptr<Implementation> implementation);

  std::unique_ptr<Implementation> implementation_;
};

}  // namespace naru
