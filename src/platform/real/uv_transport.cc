#include "platform/real/uv_transport.h"

#include <utility>

#include "async/ready_queue.h"
#include "platform/real/socket_address.h"
#include "platform/real/tcp_connect.h"
#include "platform/real/tcp_listener.h"

namespace naru {
namespace {

// co_await continue_on(loop): what follows runs on that loop's thread.
struct continue_on {  // NOLINT(readability-identifier-naming): reads as a verb where it is used
  EventLoop& loop;

  bool await_ready() const { return loop.is_current(); }
  void await_suspend(std::coroutine_handle<> waiter) const {
    loop.post([waiter] { resume_when_ready(waiter); });
  }
  void await_resume() const {}
};

}  // namespace

Result<std::unique_ptr<Listener>> UvTransport::listen(const Endpoint& address,
                                                      UniqueFunction<void(std::unique_ptr<Stream>)> accepted) {
  return TcpListener::create(loops_, clock_, address, std::move(accepted));
}

Task<Result<std::unique_ptr<Stream>>> UvTransport::connect(Endpoint address) {
  EventLoop& loop = loops_.here_or_next();
  const MonotonicTime deadline = clock_.now() + connect_timeout_;
  auto addresses = resolve_numeric(address);
  if (!addresses) addresses = co_await on_worker(scheduler_, [&address] { return resolve(address); });
  co_await continue_on{loop};
  if (!addresses) co_return failure(addresses.error());

  Status last_error;
  for (const SocketAddress& candidate : *addresses) {
    auto stream = co_await tcp_connect(loop, candidate, deadline);
    if (stream) co_return stream;
    last_error = stream.error();
  }
  co_return failure(last_error);
}

}  // namespace naru
