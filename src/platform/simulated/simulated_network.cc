#include "platform/simulated/simulated_network.h"

#include <algorithm>

#include "foundation/assert.h"
#include "platform/simulated/simulated_connection.h"

namespace naru {

struct SimulatedNetwork::ListenerState {
  NetworkPeer& peer;
  Endpoint address;
  Accepted accepted;
  bool open = true;
};

class SimulatedNetwork::OpenListener final : public Listener {
 public:
  OpenListener(SimulatedNetwork& network, std::shared_ptr<ListenerState> state)
      : network_(network), state_(std::move(state)) {}
  ~OpenListener() override {
    state_->open = false;
    const auto found = network_.listeners_.find({state_->address.host, state_->address.port});
    if (found != network_.listeners_.end() && found->second == state_) network_.listeners_.erase(found);
  }
  const Endpoint& address() const override { return state_->address; }

 private:
  SimulatedNetwork& network_;
  const std::shared_ptr<ListenerState> state_;
};

Result<std::unique_ptr<Listener>> SimulatedNetwork::listen(NetworkPeer& peer, Endpoint address, Accepted accepted) {
  address.host = peer.host;
  if (address.port == 0) address.port = next_port_++;
  auto state = std::make_shared<ListenerState>(ListenerState{peer, address, std::move(accepted)});
  if (!listeners_.emplace(std::pair(address.host, address.port), state).second) {
    return failure(ErrorCode::already_exists, "{} is in use", address.to_string());
  }
  return std::make_unique<OpenListener>(*this, std::move(state));
}

void SimulatedNetwork::connect(NetworkPeer& peer, Endpoint address, Connected connected) {
  if (address.host == "localhost" || address.host == "127.0.0.1" || address.host == "::1") address.host = peer.host;
  const auto refuse = [](Connected& answer, const Endpoint& whom, std::string_view why) {
    answer(failure(ErrorCode::io_error, "cannot connect to {}: {}", whom.to_string(), why));
  };
  const SimulatedEventQueue::Owner owner = peer.scheduler.owner();
  if (is_blocked(peer.host, address.host) || is_blocked(address.host, peer.host)) {
    queue_.add(
        queue_.now() + options.connect_timeout, owner,
        [refuse, address, connected = std::move(connected)]() mutable { refuse(connected, address, "timed out"); });
    return;
  }
  queue_.add(queue_.now() + random_delay() + random_delay(), owner,
             [this, refuse, &peer, address, connected = std::move(connected)]() mutable {
               const auto listener = find_listener(address);
               if (!listener || (options.refuse_one_in > 0 && random_.one_in(options.refuse_one_in))) {
                 refuse(connected, address, "connection refused");
               } else {
                 establish(peer, address, listener, std::move(connected));
               }
             });
}

void SimulatedNetwork::establish(NetworkPeer& client, const Endpoint& address,
                                 const std::shared_ptr<ListenerState>& listener, Connected connected) {
  const Endpoint client_address{client.host, next_port_++};
  if (next_port_ < 40'000) next_port_ = 40'000;
  auto connection = std::make_shared<SimulatedConnection>(*this, client, listener->peer);
  std::erase_if(connections_, [](const auto& old) { return old.expired(); });
  connections_.push_back(connection);

  auto client_end = std::make_unique<SimulatedStream>(connection, 0, client.scheduler, client_address, address);
  auto server_end = std::make_unique<SimulatedStream>(connection, 1, listener->peer.scheduler, address, client_address,
                                                      next_stream_++);
  queue_.add(queue_.now() + random_delay(), listener->peer.scheduler.owner(),
             [listener, stream = std::move(server_end)]() mutable {
               if (listener->open) listener->accepted(std::move(stream));
             });
  connected(std::move(client_end));
}

void SimulatedNetwork::block(const std::string& from, const std::string& to) {
  blocked_.emplace(from, to);
}

void SimulatedNetwork::unblock(const std::string& from, const std::string& to) {
  if (blocked_.erase({from, to}) == 0) return;
  for (const auto& connection : live_connections()) connection->resume();
}

void SimulatedNetwork::unblock_all() {
  blocked_.clear();
  for (const auto& connection : live_connections()) connection->resume();
}

void SimulatedNetwork::cut_between(const std::string& host, const std::string& other) {
  for (const auto& connection : live_connections()) {
    const std::pair ends(connection->host(0), connection->host(1));
    if (ends == std::pair(host, other) || ends == std::pair(other, host)) connection->cut();
  }
}

void SimulatedNetwork::cut_all() {
  for (const auto& connection : live_connections()) connection->cut();
}

void SimulatedNetwork::abandon(const NetworkPeer& peer, bool silently) {
  std::erase_if(listeners_, [&peer](const auto& entry) {
    if (&entry.second->peer != &peer) return false;
    entry.second->open = false;
    return true;
  });
  for (const auto& connection : live_connections()) {
    for (int side = 0; side < 2; ++side) {
      if (connection->owner(side) == peer.scheduler.owner()) connection->abandon(side, silently);
    }
  }
}

void SimulatedNetwork::half_close(Stream& stream) {
  dynamic_cast<SimulatedStream&>(stream).half_close();
}

void SimulatedNetwork::slow_down(const std::string& from, const std::string& to, Duration delay_max) {
  slow_.insert_or_assign({from, to}, delay_max);
}

Duration SimulatedNetwork::random_delay(const std::string& from, const std::string& to) {
  if (slow_.empty()) return random_delay();
  const auto slow = slow_.find({from, to});
  return random_between(options.delay_min, slow == slow_.end() ? options.delay_max : slow->second);
}

Duration SimulatedNetwork::random_between(Duration from, Duration to) {
  const auto range = static_cast<uint64_t>(std::max<int64_t>((to - from).count(), 0));
  return from + Duration(static_cast<int64_t>(random_.below(range + 1)));
}

std::shared_ptr<SimulatedNetwork::ListenerState> SimulatedNetwork::find_listener(const Endpoint& address) const {
  const auto found = listeners_.find({address.host, address.port});
  return found == listeners_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<SimulatedConnection>> SimulatedNetwork::live_connections() {
  std::vector<std::shared_ptr<SimulatedConnection>> live;
  for (const auto& weak : connections_) {
    if (auto connection = weak.lock()) live.push_back(std::move(connection));
  }
  return live;
}

}  // namespace naru
