#include "platform/real/signal_watcher.h"

#include <signal.h>
#include <uv.h>

#include <utility>

#include "foundation/assert.h"
#include "platform/real/event_loop.h"

namespace naru {
namespace {

constexpr std::array kSignals = {SIGTERM, SIGINT};

}  // namespace

SignalWatcher::SignalWatcher(EventLoop& loop, UniqueFunction<void(int signal)> received)
    : loop_(loop), received_(std::move(received)) {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    handles_[i] = new uv_signal_t;
    uv_signal_init(loop_.uv(), handles_[i]);
    handles_[i]->data = this;
    const int failed = uv_signal_start(
        handles_[i],
        [](uv_signal_t* handle, int signal) {
          auto& watcher = *static_cast<SignalWatcher*>(handle->data);
          watcher.loop_.note_busy();
          watcher.received_(signal);
        },
        kSignals[i]);
    NARU_ASSERT(failed == 0, "cannot watch signal {}: {}", kSignals[i], uv_strerror(failed));
  }
}

SignalWatcher::~SignalWatcher() {
  for (uv_signal_t* handle : handles_) {
    uv_close(reinterpret_cast<uv_handle_t*>(handle),
             [](uv_handle_t* closed) { delete reinterpret_cast<uv_signal_t*>(closed); });
  }
}

}  // namespace naru
