// A listening socket on one event loop; the connections it accepts are spread over all loops.
//
// Running out of file descriptors does not make it spin: a spare one is given up for a moment to accept and close what
// waits, so that clients learn at once, and one log line a second says so.
#pragma once

#include <memory>

#include "platform/real/loop_group.h"
#include "platform/transport.h"

namespace naru {

class TcpListener final : public Listener {
 public:
  using Accepted = UniqueFunction<void(std::unique_ptr<Stream>)>;

  // On a loop's thread. `accepted` is called on the loop of the new stream; calls are serialised, also with the
  // destructor, so it must not destroy the listener.
  static Result<std::unique_ptr<Listener>> create(LoopGroup& loops, const Clock& clock, const Endpoint& address,
                                                  Accepted accepted);
  ~TcpListener() override;
  const Endpoint& address() const override { return address_; }

 private:
  class Core;

  TcpListener(std::shared_ptr<Core> core, Endpoint address) : core_(std::move(core)), address_(std::move(address)) {}

  const std::shared_ptr<Core> core_;  // shared with connections on their way to their loop
  const Endpoint address_;
};

}  // namespace naru
