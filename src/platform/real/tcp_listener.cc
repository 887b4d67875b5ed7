#include "platform/real/tcp_listener.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <mutex>
#include <optional>
#include <utility>

#include "foundation/assert.h"
#include "foundation/log.h"
#include "platform/real/os_error.h"
#include "platform/real/socket_address.h"
#include "platform/real/socket_watcher.h"
#include "platform/real/tcp_stream.h"

namespace naru {
namespace {

constexpr int kBacklog = 1024;
constexpr int kAcceptsPerTurn = 64;
constexpr Duration kPauseWithoutResources = 100ms;
constexpr Duration kComplaintInterval = 1s;

UniqueDescriptor open_spare() {
  return UniqueDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

Result<UniqueDescriptor> listen_at(const SocketAddress& address) {
  NARU_TRY_ASSIGN(UniqueDescriptor socket, open_socket(address));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const std::string name = address.to_endpoint().to_string();
  if (::bind(socket.get(), address.get(), address.length) != 0) return failure(os_error(errno, "bind", name));
  if (::listen(socket.get(), kBacklog) != 0) return failure(os_error(errno, "listen", name));
  return socket;
}

}  // namespace

class TcpListener::Core final : public SocketWatcher::Target, public std::enable_shared_from_this<Core> {
 public:
  Core(LoopGroup& loops, const Clock& clock, UniqueDescriptor socket, Accepted accepted)
      : loops_(loops),
        loop_(*EventLoop::current()),
        clock_(clock),
        socket_(std::move(socket)),
        spare_(open_spare()),
        accepted_(std::move(accepted)) {}

  Status start() {
    NARU_TRY_ASSIGN(watcher_, SocketWatcher::create(loop_, socket_.get(), *this));
    watcher_->watch(true, false);
    return Status();
  }

  void stop() {
    {
      const std::scoped_lock lock(accepted_mutex_);
      accepted_ = nullptr;
    }
    loop_.run([self = shared_from_this()] {
      self->watcher_.reset();
      self->socket_.reset();
    });
  }

  void on_ready(bool, bool) override {
    const auto self = shared_from_this();  // accepting may lead to the end of the listener
    for (int i = 0; i < kAcceptsPerTurn && watcher_; ++i) {
      if (!accept_one()) return;
    }
  }

 private:
  // Whether there may be more.
  bool accept_one() {
    SocketAddress peer;
    UniqueDescriptor socket(::accept4(socket_.get(), peer.get(), &peer.length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      hand_over(std::move(socket), peer.to_endpoint());
      return true;
    }
    switch (errno) {
      case EAGAIN:
        return false;
      case EMFILE:
      case ENFILE:
        return turn_one_away();
      case ENOMEM:
      case ENOBUFS:
        pause();
        return false;
      default:
        return true;  // the connection was gone before we took it
    }
  }

  void hand_over(UniqueDescriptor socket, Endpoint peer) {
    EventLoop& target = loops_.next();
    target.run([self = shared_from_this(), &target, socket = std::move(socket), peer = std::move(peer),
                number = loops_.next_stream_number()]() mutable {
      auto stream = TcpStream::create(target, std::move(socket), std::move(peer), number);
      if (!stream) return log_warn("network", "dropped a connection: {}", stream.error().to_string());
      const std::scoped_lock lock(self->accepted_mutex_);
      if (self->accepted_) self->accepted_(std::move(*stream));
    });
  }

  bool turn_one_away() {
    complain();
    spare_.reset();
    UniqueDescriptor unwanted(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const bool accepted = static_cast<bool>(unwanted);
    const bool none_waits = !accepted && errno == EAGAIN;
    unwanted.reset();
    spare_ = open_spare();
    if (!accepted && !none_waits) pause();  // another thread took the descriptor that was given up
    return accepted;
  }

  void complain() {
    const MonotonicTime now = clock_.now();
    if (last_complaint_ && now - *last_complaint_ < kComplaintInterval) return;
    last_complaint_ = now;
    log_error("network", "out of file descriptors: connections are turned away; raise the limit (ulimit -n)");
  }

  void pause() {
    watcher_->watch(false, false);
    loop_.start_timer(clock_.now() + kPauseWithoutResources, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && self->watcher_) self->watcher_->watch(true, false);
    });
  }

  LoopGroup& loops_;
  EventLoop& loop_;
  const Clock& clock_;
  UniqueDescriptor socket_;
  UniqueDescriptor spare_;
  std::unique_ptr<SocketWatcher> watcher_;
  std::optional<MonotonicTime> last_complaint_;
  std::mutex accepted_mutex_;
  Accepted accepted_;
};

Result<std::unique_ptr<Listener>> TcpListener::create(LoopGroup& loops, const Clock& clock, const Endpoint& address,
                                                      Accepted accepted) {
  NARU_ASSERT(EventLoop::current() != nullptr, "listen() is called from outside an event loop");
  NARU_TRY_ASSIGN(const auto candidates, resolve(address));
  NARU_TRY_ASSIGN(UniqueDescriptor socket, listen_at(candidates.front()));
  Endpoint bound = local_endpoint(socket.get());
  auto core = std::make_shared<Core>(loops, clock, std::move(socket), std::move(accepted));
  NARU_TRY(core->start());
  return std::unique_ptr<Listener>(new TcpListener(std::move(core), std::move(bound)));
}

TcpListener::~TcpListener() {
  core_->stop();
}

}  // namespace naru
