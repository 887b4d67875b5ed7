#include "observability/admin_server.h"

#include <fmt/format.h>

#include <utility>

#include "foundation/assert.h"
#include "observability/admin_connection.h"

namespace naru {
namespace {

struct Page {
  std::string_view status;
  std::string_view content_type;
  std::string body;
};

std::string render(const Page& page, bool with_body) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                     page.status, page.content_type, page.body.size(), with_body ? std::string_view(page.body) : "");
}

constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr std::string_view kPrometheusText = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace

AdminServer::AdminServer(Seams seams, Pages pages) : seams_(seams), pages_(std::move(pages)) {}

AdminServer::~AdminServer() {
  NARU_ASSERT(!listener_ && connections_.empty(), "the admin server is destroyed while {} connections are open",
              connections_.size());
}

Result<Endpoint> AdminServer::listen(const Endpoint& address) {
  auto listening =
      seams_.transport.listen(address, [this](std::unique_ptr<Stream> stream) { accept(std::move(stream)); });
  if (!listening) {
    return failure(ErrorCode::io_error,
                   "cannot listen on {} for metrics: {}; is another broker running? naru.admin.listener=HOST:PORT sets "
                   "another address, naru.admin.listener= none",
                   address.to_string(), listening.error().message());
  }
  listener_ = std::move(*listening);
  return listener_->address();
}

void AdminServer::stop() {
  listener_.reset();
  while (!connections_.empty()) {
    const auto first = connections_.begin()->second;
    first->close();
  }
}

void AdminServer::accept(std::unique_ptr<Stream> stream) {
  if (connections_.size() >= kConnectionsMax) {
    const auto oldest = connections_.begin()->second;
    oldest->close();
  }
  const uint64_t id = next_id_++;
  const auto connection = std::make_shared<AdminConnection>(*this, id, std::move(stream));
  connections_.emplace(id, connection);
  connection->start(seams_);
}

std::string AdminServer::answer(std::string_view request_line) {
  const size_t space = request_line.find(' ');
  const std::string_view method = request_line.substr(0, space);
  std::string_view path = space == std::string_view::npos ? "" : request_line.substr(space + 1);
  path = path.substr(0, path.find_first_of(" ?"));
  const bool get = method == "GET";
  if (!get && method != "HEAD") {
    return render({"405 Method Not Allowed", kText, "there are GET /metrics and GET /healthz\n"}, true);
  }
  if (path == "/metrics") return render({"200 OK", kPrometheusText, pages_.metrics()}, get);
  if (path == "/healthz") {
    const auto reason = pages_.unhealthy_reason();
    return reason ? render({"503 Service Unavailable", kText, *reason + "\n"}, get)
                  : render({"200 OK", kText, "ok\n"}, get);
  }
  return render({"404 Not Found", kText, "not found; there are /metrics and /healthz\n"}, get);
}

}  // namespace naru
