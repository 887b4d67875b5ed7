#include "broker/peers.h"

namespace naru {
namespace {

constexpr Duration kOpenTimeout = 5s;

}  // namespace

Peers::Slot& Peers::slot_of(BrokerId id, PeerUse use) {
  const std::scoped_lock lock(mutex_);
  return slots_[{id, use}];
}

// The connection of the slot, if it can be used; then this is its loop.
Task<Peers::Connection> Peers::usable(const Slot& slot, const Endpoint& address) {
  Connection connection;
  {
    const std::scoped_lock lock(mutex_);
    connection = slot.connection;
  }
  if (!connection) co_return nullptr;
  co_await connection->to_its_loop();
  if (!connection->broken() && connection->address() != address) connection->close();  // the broker has moved
  co_return connection->broken() ? nullptr : connection;
}

Task<Result<Peers::Connection>> Peers::connect(Peer peer, PeerUse use) {
  Slot& slot = slot_of(peer.id, use);
  if (auto connection = co_await usable(slot, peer.address)) co_return connection;
  auto turn = co_await slot.opening.enter();
  if (!turn) co_return failure(turn.error());
  if (auto connection = co_await usable(slot, peer.address)) co_return connection;  // somebody was faster

  const CancelToken closing = of(use).closing.token();
  if (closing.cancelled()) co_return failure(ErrorCode::shutting_down, "the broker is stopping");
  co_await to_loop(seams_.scheduler);
  NARU_CO_TRY_ASSIGN(Connection opened,
                     co_await client::BrokerConnection::open(seams_, std::move(peer.address),
                                                             {.client_id = fmt::format("broker-{}", self_),
                                                              .software_name = std::string(kPeerSoftware),
                                                              .request_timeout = kOpenTimeout},
                                                             closing));
  co_await opened->to_its_loop();
  bool closed = false;
  {
    const std::scoped_lock lock(mutex_);
    closed = of(use).closed;
    if (!closed) slot.connection = opened;
  }
  if (closed) {
    opened->close();
    co_return failure(ErrorCode::shutting_down, "the broker is stopping");
  }
  co_return opened;
}

Task<Result<Bytes>> Peers::forward(Peer peer, SharedBytes request, std::string_view api, Duration timeout) {
  const auto connection = co_await connect(std::move(peer), PeerUse::requests);
  if (!connection) co_return failure(Status(ErrorCode::broker_not_available, connection.error().message()));
  co_return co_await (*connection)->forward(std::move(request), api, timeout);
}

Task<void> Peers::close(PeerUse use) {
  std::vector<Connection> open;
  {
    const std::scoped_lock lock(mutex_);
    of(use).closed = true;
    for (auto& [name, slot] : slots_) {
      if (name.second == use && slot.connection) open.push_back(std::move(slot.connection));
    }
  }
  of(use).closing.cancel();
  for (const Connection& connection : open) {
    co_await connection->to_its_loop();
    connection->close();
  }
}

Task<void> Peers::stop() {
  for (size_t use = 0; use < kPeerUses; ++use) co_await close(static_cast<PeerUse>(use));
}

}  // namespace naru
