#include "network/connection_server.h"

#include <algorithm>
#include <utility>

#include "foundation/log.h"

namespace naru {

ConnectionServer::ConnectionServer(Seams seams, MemoryBudget& memory, MemoryBudget& small_requests,
                                   MetricsRegistry& metrics, ServerLimits limits)
    : seams_(seams), memory_(memory), small_requests_(small_requests), metrics_(metrics), limits_(std::move(limits)) {}

ConnectionServer::~ConnectionServer() = default;

Result<Endpoint> ConnectionServer::listen(const ListenerOptions& options, Door& door) {
  NARU_TRY_ASSIGN(auto listener,
                  seams_.transport.listen(options.address, [this, options, &door](std::unique_ptr<Stream> stream) {
                    accept(options, door, std::move(stream));
                  }));
  const Endpoint bound = listener->address();
  listeners_.push_back(std::move(listener));
  return bound;
}

void ConnectionServer::accept(const ListenerOptions& listener, Door& door, std::unique_ptr<Stream> stream) {
  const std::string host = stream->peer().host;
  auto caller = std::make_shared<const Caller>(
      Caller{.listener = listener.name, .purpose = listener.purpose, .address = stream->peer()});
  std::shared_ptr<Connection> connection;
  std::optional<ConnectionRefusal> refusal;
  bool serving = false;
  {
    const std::scoped_lock lock(mutex_);
    refusal = reason_to_refuse(host);
    if (!refusal) {
      const uint64_t id = stream->number();
      newest_ = std::max(newest_, id);
      connection =
          std::make_shared<Connection>(std::move(stream), std::move(caller), door,
                                       Connection::Environment{.clock = seams_.clock,
                                                               .scheduler = seams_.scheduler,
                                                               .memory = memory_,
                                                               .small_requests = small_requests_,
                                                               .metrics = metrics_,
                                                               .lines = close_lines_,
                                                               .closed = [this, id, host] { forget(id, host); },
                                                               .number = id});
      connections_.emplace(id, connection);
      ++per_address_[host];
      serving = serving_;
      if (!serving) waiting_.push_back(connection);
    }
  }
  if (refusal) return refuse(*stream, host, *refusal);
  metrics_.accepted();
  if (serving) connection->start();
}

void ConnectionServer::hold_back() {
  const std::scoped_lock lock(mutex_);
  serving_ = false;
}

void ConnectionServer::serve() {
  std::vector<std::shared_ptr<Connection>> waiting;
  {
    const std::scoped_lock lock(mutex_);
    serving_ = true;
    waiting.swap(waiting_);
  }
  for (const auto& connection : waiting) connection->start_on_its_loop();
}

std::optional<ConnectionRefusal> ConnectionServer::reason_to_refuse(const std::string& host) const {
  if (all_closed_ != nullptr) return ConnectionRefusal::stopping;
  if (connections_.size() >= limits_.max_connections) return ConnectionRefusal::max_connections;
  const auto own_limit = limits_.per_address_overrides.find(host);
  const size_t limit =
      own_limit == limits_.per_address_overrides.end() ? limits_.max_connections_per_address : own_limit->second;
  const auto open = per_address_.find(host);
  if ((open == per_address_.end() ? 0 : open->second) >= limit) return ConnectionRefusal::max_connections_per_ip;
  return std::nullopt;
}

void ConnectionServer::refuse(Stream& stream, const std::string& host, ConnectionRefusal why) {
  metrics_.refused(why);
  stream.close();
  if (why == ConnectionRefusal::stopping) return;
  const auto skipped = refusal_lines_.line_allowed(seams_.clock.now());
  if (!skipped) return;
  log_warn("network", "refused a connection from {}: {} is reached ({} more lines like this were skipped)", host,
           why == ConnectionRefusal::max_connections ? "max.connections" : "max.connections.per.ip", *skipped);
}

void ConnectionServer::forget(uint64_t id, const std::string& host) {
  std::map<uint64_t, std::shared_ptr<Connection>>::node_type last_reference;  // released outside of the lock
  std::shared_ptr<Wakeup> all_closed;
  {
    const std::scoped_lock lock(mutex_);
    last_reference = connections_.extract(id);
    const auto count = per_address_.find(host);
    if (--count->second == 0) per_address_.erase(count);
    if (connections_.empty()) all_closed = all_closed_;
  }
  if (all_closed) all_closed->wake();
}

std::vector<std::shared_ptr<Connection>> ConnectionServer::snapshot() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [id, connection] : connections_) all.push_back(connection);
  return all;
}

void ConnectionServer::set_limits(ServerLimits limits) {
  const std::scoped_lock lock(mutex_);
  limits_ = std::move(limits);
}

uint64_t ConnectionServer::newest_connection() const {
  const std::scoped_lock lock(mutex_);
  return newest_;
}

size_t ConnectionServer::open_connections() const {
  const std::scoped_lock lock(mutex_);
  return connections_.size();
}

Task<void> ConnectionServer::stop(MonotonicTime deadline) {
  listeners_.clear();
  const auto all_closed = std::make_shared<Wakeup>();
  {
    const std::scoped_lock lock(mutex_);
    all_closed_ = all_closed;
    waiting_.clear();
    if (connections_.empty()) all_closed->wake();
  }
  for (const auto& connection : snapshot()) connection->finish_and_close(ConnectionEnd::stop);

  const auto timer = seams_.scheduler.start_timer(deadline, [this] {
    for (const auto& connection : snapshot()) connection->close(ConnectionEnd::stop, "the broker stops");
  });
  co_await all_closed->event();
  seams_.scheduler.cancel_timer(timer);
}

}  // namespace naru
