#include "observability/admin_server.h"

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "foundation/log.h"

namespace naru {
namespace {

constexpr size_t kMaxPayloadBytes = 4096;
constexpr time_t kTimeoutSeconds = 1;
constexpr auto kRetryPause = std::chrono::milliseconds(200);

// Serves each connection on the accepting thread.
class InPlace final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> connection) override { connection(); }
  void shutdown() override {}
};

void limit(httplib::Server& server) {
  server.new_task_queue = [] { return new InPlace; };
  server.set_keep_alive_max_count(1);
  server.set_read_timeout(kTimeoutSeconds);
  server.set_write_timeout(kTimeoutSeconds);
  server.set_payload_max_length(kMaxPayloadBytes);
  // The library's own choice, SO_REUSEPORT, would let two brokers share the address and answer in turns.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
}

}  // namespace

struct AdminServer::Implementation {
  httplib::Server server;
  Endpoint address;
  Pages pages;
  std::atomic<bool> stopping{false};
  std::atomic<bool> ended{false};
  std::thread thread;

  void add_routes() {
    server.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(pages.metrics(), "text/plain; version=0.0.4; charset=utf-8");
    });
    server.Get("/healthz", [this](const httplib::Request&, httplib::Response& response) {
      const auto reason = pages.unhealthy_reason();
      response.status = reason ? 503 : 200;
      response.set_content(reason ? *reason + "\n" : "ok\n", "text/plain; charset=utf-8");
    });
    server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.status == 404) response.set_content("not found; there are /metrics and /healthz\n", "text/plain");
    });
  }

  bool bind() {
    if (address.port != 0) return server.bind_to_port(address.host.c_str(), address.port);
    const int port = server.bind_to_any_port(address.host.c_str());
    if (port > 0) address.port = static_cast<uint16_t>(port);
    return port > 0;
  }

  // The library gives up listening when accepting fails for any reason but a full descriptor table; we do not.
  void serve() {
    bool listening = true;
    while (!stopping) {
      if (listening) server.listen_after_bind();
      if (stopping) break;
      log_warn("admin", "no longer listening on {}; trying again", address.to_string());
      std::this_thread::sleep_for(kRetryPause);
      listening = bind();
    }
    ended = true;
  }

  // Stopping a server that is not listening yet would do nothing, so wait until it either listens or has ended.
  void stop() {
    stopping = true;
    while (!server.is_running() && !ended) std::this_thread::yield();
    if (!ended) server.stop();
    thread.join();
  }
};

Result<std::unique_ptr<AdminServer>> AdminServer::start(const Endpoint& address, Pages pages) {
  auto implementation = std::make_unique<Implementation>();
  implementation->address = address;
  implementation->pages = std::move(pages);
  limit(implementation->server);
  implementation->add_routes();
  if (!implementation->bind()) {
    return failure(ErrorCode::io_error,
                   "cannot listen on {} for the admin server; is it in use? naru.admin.listener sets another address",
                   address.to_string());
  }
  implementation->thread = std::thread(&Implementation::serve, implementation.get());
  return std::unique_ptr<AdminServer>(new AdminServer(std::move(implementation)));
}

AdminServer::AdminServer(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}

AdminServer::~AdminServer() {
  implementation_->stop();
}

const Endpoint& AdminServer::address() const {
  return implementation_->address;
}

}  // namespace naru
