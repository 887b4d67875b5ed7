#include "platform/real/tcp_connect.h"

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
  ConnectWait(EventLoop& loop, int socket, MonotonicTime deadline) : loop_(loop) {
    auto watcher = SocketWatcher::create(loop, socket, *this);
    if (!watcher) {
      finish(watcher.error());
      return;
    }
    watcher_ = std::move(*watcher);
    watcher_->watch(false, true);
    timer_ = loop.start_timer(deadline, [this] { finish(Status(ErrorCode::io_error, "timed out")); });
  }

  OneShot<Status> done;

 private:
  void on_ready(bool, bool) override { finish(Status()); }

  void finish(Status status) {
    watcher_.reset();
    if (timer_) loop_.cancel_timer(*timer_);
    done.set(std::move(status));  // whoever waits may now destroy this
  }

  EventLoop& loop_;
  std::unique_ptr<SocketWatcher> watcher_;
  std::optional<EventLoop::TimerHandle> timer_;
};

}  // namespace

Task<Result<std::unique_ptr<Stream>>> tcp_connect(EventLoop& loop, SocketAddress address, MonotonicTime deadline) {
  const Endpoint peer = address.to_endpoint();
  NARU_CO_TRY_ASSIGN(UniqueDescriptor socket, open_socket(address));
  if (::connect(socket.get(), address.get(), address.length) != 0) {
    // EINTR: goes on in the background, like EINPROGRESS.
    if (errno != EINPROGRESS && errno != EINTR) co_return failure(os_error(errno, "connect to", peer.to_string()));
    ConnectWait wait(loop, socket.get(), deadline);
    const Status waited = co_await wait.done;
    if (!waited.ok()) co_return failure(waited.code(), "connect to {}: {}", peer.to_string(), waited.message());
    int problem = 0;
    socklen_t length = sizeof problem;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &length) != 0) problem = errno;
    if (problem != 0) co_return failure(os_error(problem, "connect to", peer.to_string()));
  }
  co_return TcpStream::create(loop, std::move(socket), peer);
}

}  // namespace naru
