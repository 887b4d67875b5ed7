// TCP over the event loops: IPv4, IPv6 and host names.
#pragma once

#include <vector>

#include "platform/real/loop_group.h"
#include "platform/real/socket_address.h"
#include "platform/real/uv_scheduler.h"
#include "platform/transport.h"

namespace naru {

class UvTransport final : public Transport {
 public:
  UvTransport(LoopGroup& loops, UvScheduler& scheduler, const Clock& clock, Duration connect_timeout)
      : loops_(loops), scheduler_(scheduler), clock_(clock), connect_timeout_(connect_timeout) {}

  Result<std::unique_ptr<Listener>> listen(const Endpoint& address,
                                           UniqueFunction<void(std::unique_ptr<Stream>)> accepted) override;
  using Transport::connect;
  // Tries the host's addresses one after the other, all within the timeout. The stream belongs to the calling loop, or
  // to any if the caller is on none, and the task ends on the stream's loop.
  Task<Result<std::unique_ptr<Stream>>> connect(Endpoint address, CancelToken cancelled) override;

 private:
  // On a worker, which goes on with a look-up that nobody waits for any more.
  Task<Result<std::vector<SocketAddress>>> look_up(Endpoint address, CancelToken cancelled);

  LoopGroup& loops_;
  UvScheduler& scheduler_;
  const Clock& clock_;
  const Duration connect_timeout_;
};

}  // namespace naru
