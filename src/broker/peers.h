// Connections of this broker to the others, opened when they are needed and kept.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "async/cancellation.h"
#include "async/task.h"
#include "broker/forwarded_requests.h"
#include "client/broker_connection.h"
#include "cluster_control/turnstile.h"
#include "foundation/ids.h"
#include "platform/seams.h"

namespace naru {

// What brokers call themselves in ApiVersions. It grants nothing: on a listener for brokers, callers of this name are
// told of the APIs between brokers.
inline constexpr std::string_view kPeerSoftware = "naru-broker";

// A request that waits holds back every answer behind it, so what waits has a connection of its own.
enum class PeerUse : uint8_t { requests, metadata, markers, slow_markers, transactions };
inline constexpr size_t kPeerUses = 5;

struct Peer {
  BrokerId id;
  Endpoint address;
};

// Thread-safe. Outlives its tasks.
class Peers {
 public:
  Peers(Seams seams, BrokerId self) : seams_(seams), self_(self) {}

  // network_exception: no connection, or no answer; the outcome is unknown. The coroutine goes on on a loop.
  template <class Response, class Request>
  Task<Result<Response>> call(Peer peer, PeerUse use, Request request, Duration timeout) {
    NARU_CO_TRY_ASSIGN(const auto connection, co_await connect(std::move(peer), use));
    co_return co_await connection->template call<Response>(request, timeout);
  }
  // Passes a request on for its caller. broker_not_available: there is no connection, and nothing was sent.
  Task<Result<ForwardedRequests::Answer>> forward(Peer peer, SharedBytes frame, const Caller& caller,
                                                  std::string_view api, Duration timeout);

  // Everything of this use that waits fails, and every later call. May be called again.
  Task<void> close(PeerUse use);
  // All uses.
  Task<void> stop();

 private:
  using Connection = std::shared_ptr<client::BrokerConnection>;
  struct Slot {
    Turnstile opening{kMaxWaiting};
    Connection connection;  // guarded by the mutex
  };
  struct Use {
    CancelSource closing;
    bool closed = false;  // guarded by the mutex
  };
  static constexpr size_t kMaxWaiting = 10'000;

  // The coroutine goes on on the connection's loop.
  Task<Result<Connection>> connect(Peer peer, PeerUse use);
  Slot& slot_of(BrokerId id, PeerUse use);
  Use& of(PeerUse use) { return uses_[static_cast<size_t>(use)]; }
  Task<Connection> usable(const Slot& slot, const Endpoint& address);

  Seams seams_;
  const BrokerId self_;
  std::mutex mutex_;
  std::array<Use, kPeerUses> uses_;
  std::map<std::pair<BrokerId, PeerUse>, Slot> slots_;  // never removed: as many as there were brokers
};

}  // namespace naru
