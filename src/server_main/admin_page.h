// The HTTP page for operators, with an event loop of its own: it answers while the broker still starts, and when every
// other loop is busy.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "broker/broker.h"
#include "observability/admin_server.h"
#include "platform/real/real_platform.h"

namespace naru {

class AdminPage {
 public:
  // Not on a loop. Listens when it returns; the error says which address cannot be used and what to do.
  static Result<std::unique_ptr<AdminPage>> start(const Endpoint& address);
  ~AdminPage();  // not on a loop
  AdminPage(const AdminPage&) = delete;
  AdminPage& operator=(const AdminPage&) = delete;

  const Endpoint& address() const { return address_; }

  // Any thread. The broker whose state is shown; none: "starting" or "stopping". When this returns, nobody looks at the
  // one before any more.
  void show(Broker* broker);

 private:
  AdminPage();
  std::string metrics();
  std::optional<std::string> unhealthy_reason();

  RealPlatform platform_;
  std::mutex mutex_;  // held while a page is made
  Broker* broker_ = nullptr;
  bool was_shown_ = false;
  AdminServer server_;
  Endpoint address_;
};

}  // namespace naru
