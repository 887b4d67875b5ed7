#include "platform/real/signal_watcher.h"

#include <signal.h>
#include <uv.h>

#include <array>
#include <utility>

#include "foundation/assert.h"
#include "platform/real/event_loop.h"

namespace naru {
namespace {

constexpr std::array kSignals = {SIGTERM, SIGINT, SIGHUP};

// nohup starts a process like that, so that it survives its terminal.
bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

SignalWatcher::SignalWatcher(EventLoop& loop, UniqueFunction<void(int signal)> received)
    : loop_(loop), received_(std::move(received)) {
  for (const int watched : kSignals) {
    if (watched == SIGHUP && is_ignored(watched)) continue;
    uv_signal_t* const added = handles_.emplace_back(new uv_signal_t);
    uv_signal_init(loop_.uv(), added);
    added->data = this;
    const int failed = uv_signal_start(
        added,
        [](uv_signal_t* handle, int signal) {
          auto& watcher = *static_cast<SignalWatcher*>(handle->data);
          watcher.loop_.note_busy();
          watcher.received_(signal);
        },
        watched);
    NARU_ASSERT(failed == 0, "cannot watch signal {}: {}", watched, uv_strerror(failed));
  }
}

SignalWatcher::~SignalWatcher() {
  for (uv_signal_t* handle : handles_) {
    uv_close(reinterpret_cast<uv_handle_t*>(handle),
             [](uv_handle_t* closed) { delete reinterpret_cast<uv_signal_t*>(closed); });
  }
}

}  // namespace naru
