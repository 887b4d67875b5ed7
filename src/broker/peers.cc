#include "broker/peers.h"

#include "broker/reply.h"
#include "kafka_protocol/messages/naru_forward_request.h"
#include "kafka_protocol/messages/naru_forward_response.h"

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

Task<Result<ForwardedRequests::Answer>> Peers::forward(Peer peer, SharedBytes frame, const Caller& caller,
                                                       std::string_view api, Duration timeout) {
  const auto connection = co_await connect(std::move(peer), PeerUse::requests);
  if (!connection) co_return failure(Status(ErrorCode::broker_not_available, connection.error().message()));
  if (!(*connection)->versions().choose(kafka::ApiKey::naru_forward, {})) {
    // An older version takes the request for the broker's own.
    NARU_CO_TRY_ASSIGN(Bytes answer, co_await (*connection)->forward(std::move(frame), api, timeout));
    co_return ForwardedRequests::Answer{.response = Response(std::move(answer))};
  }
  const kafka::NaruForwardRequest request{.frame = frame.view(),
                                          .principal_type = caller.principal.type,
                                          .principal_name = caller.principal.name,
                                          .authentication = std::to_underlying(caller.authentication),
                                          .listener = caller.listener,
                                          .host = caller.address.host,
                                          .port = caller.address.port,
                                          .software_name = caller.software.name,
                                          .software_version = caller.software.version};
  NARU_CO_TRY_ASSIGN(auto answer, co_await (*connection)->call<kafka::NaruForwardResponse>(request, timeout));
  if (answer.error_code != ErrorCode::none) {
    co_return ForwardedRequests::Answer{.response = close_connection(std::string(answer.error_message.value_or("")))};
  }
  co_return ForwardedRequests::Answer{.response = Response(std::move(answer.frame)),
                                      .throttle = Milliseconds(answer.caller_throttle_ms)};
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
