#include "server_main/admin_page.h"

#include <utility>

namespace naru {
namespace {

Task<void> listen_on(AdminServer& server, Endpoint address, Result<Endpoint>& bound) {
  bound = server.listen(address);
  co_return;
}

Task<void> stop_server(AdminServer& server) {
  server.stop();
  co_return;
}

}  // namespace

AdminPage::AdminPage()
    : platform_({.loops = 1, .workers = 1}),
      server_(platform_.seams(),
              {.metrics = [this] { return metrics(); }, .unhealthy_reason = [this] { return unhealthy_reason(); }}) {}

Result<std::unique_ptr<AdminPage>> AdminPage::start(const Endpoint& address) {
  std::unique_ptr<AdminPage> page(new AdminPage);
  Result<Endpoint> bound = failure(ErrorCode::io_error, "not listening");
  page->platform_.run(listen_on(page->server_, address, bound));
  if (!bound) return failure(bound.error());
  page->address_ = *bound;
  return page;
}

AdminPage::~AdminPage() {
  platform_.run(stop_server(server_));
}

void AdminPage::show(Broker* broker) {
  const std::scoped_lock lock(mutex_);
  broker_ = broker;
  was_shown_ |= broker != nullptr;
}

std::string AdminPage::metrics() {
  const std::scoped_lock lock(mutex_);
  return broker_ == nullptr ? std::string() : broker_->metrics().render_prometheus();
}

std::optional<std::string> AdminPage::unhealthy_reason() {
  const std::scoped_lock lock(mutex_);
  if (broker_ != nullptr) return broker_->unhealthy_reason();
  return was_shown_ ? "the broker is stopping" : "the broker is starting";
}

}  // namespace naru
