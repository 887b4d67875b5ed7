#include "platform/real/tcp_connect.h"

#include <memory>
#include <optional>
#include <utility>

#include "async/one_shot.h"
#include "platform/real/os_error.h"
#include "platform/real/socket_watcher.h"
#include "platform/real/tcp_stream.h"

namespace naru {
namespace {

// Waits until the socket is writable, that is connected or refused, or the deadline has passed. Loop thread only.
class ConnectWait final : public SocketWatcher::Target {
 public:
  explicit ConnectWait(EventLoop& loop) : loop_(loop) {}

  void start(int socket, MonotonicTime deadline) {
    auto watcher = SocketWatcher::create(loop_, socket, *this);
    if (!watcher) return finish(watcher.error());
    watcher_ = std::move(*watcher);
    watcher_->watch(false, true);
    timer_ = loop_.start_timer(deadline, [this] { finish(Status(ErrorCode::io_error, "timed out")); });
  }

  // The first one counts.
  void finish(Status status) {
    if (std::exchange(finished_, true)) return;
    watcher_.reset();
    if (timer_) loop_.cancel_timer(*timer_);
    done.set(std::move(status));
  }

  OneShot<Status> done;

 private:
  void on_ready(bool, bool) override { finish(Status()); }

  EventLoop& loop_;
  std::unique_ptr<SocketWatcher> watcher_;
  std::optional<EventLoop::TimerHandle> timer_;
  bool finished_ = false;
};

Task<Status> wait_for_connection(EventLoop& loop, int socket, MonotonicTime deadline, CancelToken cancelled) {
  // Shared with the function that a cancellation on another thread posts, which may come after the end.
  const auto wait = std::make_shared<ConnectWait>(loop);
  wait->start(socket, deadline);
  const CancelCallback on_cancel(cancelled,
                                 [&loop, wait] { loop.post([wait] { wait->finish(Status(ErrorCode::cancelled)); }); });
  co_return co_await wait->done;
}

}  // namespace

Task<Result<std::unique_ptr<Stream>>> tcp_connect(EventLoop& loop, SocketAddress address, MonotonicTime deadline,
                                                  CancelToken cancelled) {
  const Endpoint peer = address.to_endpoint();
  if (cancelled.cancelled()) co_return failure(Status(ErrorCode::cancelled));
  NARU_CO_TRY_ASSIGN(UniqueDescriptor socket, open_socket(address));
  if (::connect(socket.get(), address.get(), address.length) != 0) {
    // EINTR: goes on in the background, like EINPROGRESS.
    if (errno != EINPROGRESS && errno != EINTR) co_return failure(os_error(errno, "connect to", peer.to_string()));
    const Status waited = co_await wait_for_connection(loop, socket.get(), deadline, cancelled);
    if (waited == ErrorCode::cancelled) co_return failure(waited);
    if (!waited.ok()) co_return failure(waited.code(), "connect to {}: {}", peer.to_string(), waited.message());
    int problem = 0;
    socklen_t length = sizeof problem;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &length) != 0) problem = errno;
    if (problem != 0) co_return failure(os_error(problem, "connect to", peer.to_string()));
  }
  co_return TcpStream::create(loop, std::move(socket), peer);
}

}  // namespace naru
