#include "platform/real/tcp_stream.h"

#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "foundation/assert.h"
#include "platform/real/event_loop.h"
#include "platform/real/os_error.h"
#include "platform/real/socket_address.h"
#include "platform/real/socket_watcher.h"

namespace naru {
namespace {

constexpr size_t kPartsPerCall = 64;
constexpr size_t kSendFileBytesMax = 1 << 20;      // of one call, so that one fast reader does not keep the thread
constexpr size_t kCopiedSendFileBytes = 64 << 10;  // where sendfile is not to be had

IoResult progress(size_t bytes) {
  return {.kind = IoResult::Kind::progress, .bytes = bytes};
}
IoResult failed(Status error) {
  return {.kind = IoResult::Kind::failed, .error = std::move(error)};
}

// Of a call that returned -1.
IoResult failed_call(std::string_view call, const Endpoint& peer) {
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
  return failed(os_error(errno, call, peer.to_string()));
}

}  // namespace

// What belongs to the loop's thread.
class TcpStream::Core final : public SocketWatcher::Target, public std::enable_shared_from_this<Core> {
 public:
  Core(EventLoop& event_loop, UniqueDescriptor connected) : loop(event_loop), socket(std::move(connected)) {}

  Status prepare() {
    NARU_TRY_ASSIGN(watcher_, SocketWatcher::create(loop, socket.get(), *this));
    return Status();
  }

  void start(StreamObserver* observer) {
    observer_ = observer;
    update();
  }
  void want_readable(bool wanted) {
    wants_readable_ = wanted;
    update();
  }
  void want_writable() {
    wants_writable_ = true;
    update();
  }
  void close() {
    observer_ = nullptr;
    watcher_.reset();
    socket.reset();
  }

  void on_ready(bool readable, bool writable) override {
    const auto self = shared_from_this();  // the observer may destroy the stream
    if (writable && std::exchange(wants_writable_, false)) {
      update();
      observer_->on_writable();
    }
    if (observer_ != nullptr && readable && wants_readable_) observer_->on_readable();
  }

  EventLoop& loop;
  UniqueDescriptor socket;  // also used by the one who writes

 private:
  void update() {
    if (observer_ != nullptr) watcher_->watch(wants_readable_, wants_writable_);
  }

  std::unique_ptr<SocketWatcher> watcher_;
  StreamObserver* observer_ = nullptr;  // null before start() and after close()
  bool wants_readable_ = true;
  bool wants_writable_ = false;
};

Result<std::unique_ptr<Stream>> TcpStream::create(EventLoop& loop, UniqueDescriptor socket, Endpoint peer,
                                                  uint64_t number) {
  tune_connection(socket.get());
  Endpoint local = local_endpoint(socket.get());
  auto core = std::make_shared<Core>(loop, std::move(socket));
  NARU_TRY(core->prepare());
  return std::unique_ptr<Stream>(new TcpStream(std::move(core), std::move(local), std::move(peer), number));
}

TcpStream::TcpStream(std::shared_ptr<Core> core, Endpoint local, Endpoint peer, uint64_t number)
    : Stream(number), core_(std::move(core)), local_(std::move(local)), peer_(std::move(peer)) {}

TcpStream::~TcpStream() {
  core_->loop.run([core = core_] { core->close(); });
}

IoResult TcpStream::read_some(MutableBytesView to) {
  NARU_ASSERT(!to.empty(), "no room to read into");
  const ssize_t got = retry_interrupted([&] { return ::recv(core_->socket.get(), to.data(), to.size(), 0); });
  if (got < 0) return failed_call("receive from", peer_);
  if (got == 0) return {.kind = IoResult::Kind::end_of_stream};
  return progress(static_cast<size_t>(got));
}

IoResult TcpStream::write_some(std::span<const BytesView> parts, bool more_follows) {
  std::array<iovec, kPartsPerCall> vectors;
  size_t count = 0;
  for (const BytesView part : parts) {
    if (part.empty()) continue;
    if (count == vectors.size()) break;
    vectors[count++] = {const_cast<std::byte*>(part.data()), part.size()};  // the kernel only reads it
  }
  if (count == 0) return progress(0);
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  const int flags = MSG_NOSIGNAL | (more_follows ? MSG_MORE : 0);
  const ssize_t sent = retry_interrupted([&] {
    // Most answers are one part, and the kernel has less to look at then.
    if (count == 1) return ::send(core_->socket.get(), vectors[0].iov_base, vectors[0].iov_len, flags);
    return ::sendmsg(core_->socket.get(), &message, flags);
  });
  return sent < 0 ? failed_call("send to", peer_) : progress(static_cast<size_t>(sent));
}

IoResult TcpStream::send_file(const File& file, uint64_t position, size_t length) {
  if (length == 0) return progress(0);
  const auto ends_too_early = [&file] { return failed(error(ErrorCode::io_error, "{} ends too early", file.path())); };
  if (file.descriptor() < 0) {
    Bytes buffer(std::min(length, kCopiedSendFileBytes));
    const auto got = file.read_at(position, buffer);
    if (!got) return failed(got.error());
    if (*got == 0) return ends_too_early();
    const BytesView bytes = BytesView(buffer).first(*got);
    return write_some(std::span(&bytes, 1), false);
  }
  auto offset = static_cast<off_t>(position);
  const ssize_t sent = retry_interrupted(
      [&] { return ::sendfile(core_->socket.get(), file.descriptor(), &offset, std::min(length, kSendFileBytesMax)); });
  if (sent < 0) return failed_call("send to", peer_);
  return sent == 0 ? ends_too_early() : progress(static_cast<size_t>(sent));
}

void TcpStream::start(StreamObserver* observer) {
  NARU_ASSERT(core_->loop.is_current(), "a stream is started on a foreign thread");
  core_->start(observer);
}

void TcpStream::want_readable(bool wanted) {
  core_->loop.run([core = core_, wanted] { core->want_readable(wanted); });
}

void TcpStream::want_writable() {
  core_->loop.run([core = core_] { core->want_writable(); });
}

void TcpStream::close() {
  NARU_ASSERT(core_->loop.is_current(), "a stream is closed on a foreign thread");
  core_->close();
}

void TcpStream::run_on_loop(UniqueFunction<void()> work) {
  core_->loop.run(std::move(work));
}

}  // namespace naru
