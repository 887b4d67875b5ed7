#include "platform/real/signal_watcher.h"

#include <pthread.h>
#include <signal.h>
#include <uv.h>

#include <array>
#include <utility>
#include <vector>

#include "foundation/assert.h"

namespace naru {
namespace {

constexpr std::array kSignals = {SIGTERM, SIGINT, SIGHUP};

// nohup starts a process like that, so that it survives its terminal.
bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

// Of libuv, with nothing but signals.
struct SignalWatcher::Loop {
  explicit Loop(UniqueFunction<void(int signal)> to_call) : received(std::move(to_call)) {
    uv_loop_init(&loop);
    uv_async_init(&loop, &end, [](uv_async_t* asked) { uv_stop(asked->loop); });
    handles.reserve(kSignals.size());  // libuv keeps pointers to them
    for (const int signal : kSignals) {
      if (signal != SIGHUP || !is_ignored(signal)) watch(signal);
    }
  }
  // Nobody runs it any more.
  ~Loop() {
    for (uv_signal_t& handle : handles) uv_close(reinterpret_cast<uv_handle_t*>(&handle), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&end), nullptr);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void watch(int signal) {
    uv_signal_t& handle = handles.emplace_back();
    uv_signal_init(&loop, &handle);
    handle.data = this;
    const int failed = uv_signal_start(
        &handle, [](uv_signal_t* heard, int which) { static_cast<Loop*>(heard->data)->received(which); }, signal);
    NARU_ASSERT(failed == 0, "cannot watch signal {}: {}", signal, uv_strerror(failed));
  }

  UniqueFunction<void(int signal)> received;
  uv_loop_t loop{};
  uv_async_t end{};
  std::vector<uv_signal_t> handles;
};

SignalWatcher::SignalWatcher(UniqueFunction<void(int signal)> received)
    : loop_(std::make_unique<Loop>(std::move(received))), thread_([this] {
        pthread_setname_np(pthread_self(), "naru-signals");
        uv_run(&loop_->loop, UV_RUN_DEFAULT);
      }) {}

SignalWatcher::~SignalWatcher() {
  uv_async_send(&loop_->end);
  thread_.join();
}

}  // namespace naru
