#include "platform/real/uv_transport.h"

#include <memory>
#include <mutex>
#include <utility>

#include "async/ready_queue.h"
#include "async/wakeup.h"
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

Task<Result<std::vector<SocketAddress>>> UvTransport::look_up(Endpoint address, CancelToken cancelled) {
  struct LookUp {
    std::mutex mutex;
    Result<std::vector<SocketAddress>> found = failure(Status(ErrorCode::cancelled));
    Wakeup ended;  // or was cancelled
  };
  const auto look_up = std::make_shared<LookUp>();
  scheduler_.run_blocking([look_up, address = std::move(address)] {
    auto found = resolve(address);
    {
      const std::scoped_lock lock(look_up->mutex);
      look_up->found = std::move(found);
    }
    look_up->ended.wake();
  });
  const CancelCallback on_cancel(cancelled, [look_up] { look_up->ended.wake(); });
  co_await look_up->ended.event();
  const std::scoped_lock lock(look_up->mutex);
  co_return look_up->found;
}

Task<Result<std::unique_ptr<Stream>>> UvTransport::connect(Endpoint address, CancelToken cancelled) {
  EventLoop& loop = loops_.here_or_next();
  const MonotonicTime deadline = clock_.now() + connect_timeout_;
  auto addresses = resolve_numeric(address);
  if (!addresses) addresses = co_await look_up(std::move(address), cancelled);
  co_await continue_on{loop};
  if (!addresses) co_return failure(addresses.error());

  Status last_error;
  for (const SocketAddress& candidate : *addresses) {
    auto stream = co_await tcp_connect(loop, candidate, deadline, cancelled);
    if (stream || stream.error() == ErrorCode::cancelled) co_return stream;
    last_error = stream.error();
  }
  co_return failure(last_error);
}

}  // namespace naru
