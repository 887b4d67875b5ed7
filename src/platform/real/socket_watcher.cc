#include "platform/real/socket_watcher.h"

#include <uv.h>

#include "foundation/assert.h"
#include "platform/real/event_loop.h"

namespace naru {

struct SocketWatcher::Handle {
  uv_poll_t uv{};
  EventLoop& loop;
  Target* target;  // null once the watcher is gone
  int wanted = 0;

  void apply() {
    if (wanted == 0) {
      uv_poll_stop(&uv);
    } else {
      uv_poll_start(&uv, wanted, [](uv_poll_t* poll, int status, int events) {
        static_cast<Handle*>(poll->data)->ready(status, events);
      });
    }
  }

  void ready(int status, int events) {
    loop.note_busy();
    if (status == 0) {
      target->on_ready((events & UV_READABLE) != 0, (events & UV_WRITABLE) != 0);
      return;
    }
    // libuv has stopped watching. Whoever reads may still find bytes that came before the error, and wants to be called
    // again until it has met the error itself.
    target->on_ready((wanted & UV_READABLE) != 0, (wanted & UV_WRITABLE) != 0);
    if (target != nullptr) apply();
  }
};

Result<std::unique_ptr<SocketWatcher>> SocketWatcher::create(EventLoop& loop, int socket, Target& target) {
  NARU_ASSERT(loop.is_current(), "a socket is watched from a foreign thread");
  auto handle = std::make_unique<Handle>(Handle{.loop = loop, .target = &target});
  const int failed = uv_poll_init(loop.uv(), &handle->uv, socket);
  if (failed != 0) return failure(ErrorCode::io_error, "cannot watch a socket: {}", uv_strerror(failed));
  handle->uv.data = handle.get();
  return std::unique_ptr<SocketWatcher>(new SocketWatcher(handle.release()));
}

SocketWatcher::~SocketWatcher() {
  NARU_ASSERT(handle_->loop.is_current(), "a socket's watcher is destroyed on a foreign thread");
  handle_->target = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(&handle_->uv),
           [](uv_handle_t* handle) { delete static_cast<Handle*>(handle->data); });
}

void SocketWatcher::watch(bool readable, bool writable) {
  const int wanted = (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0);
  if (wanted == handle_->wanted) return;
  handle_->wanted = wanted;
  handle_->apply();
}

}  // namespace naru
