// Calls a function when the process is asked to end (SIGTERM, SIGINT).
#pragma once

#include <array>

#include "foundation/function.h"

struct uv_signal_s;

namespace naru {

class EventLoop;

// Made and destroyed on the loop's thread; the function runs there too, once per signal.
class SignalWatcher {
 public:
  SignalWatcher(EventLoop& loop, UniqueFunction<void(int signal)> received);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  EventLoop& loop_;
  UniqueFunction<void(int signal)> received_;
  std::array<uv_signal_s*, 2> handles_;  // freed by libuv's close callback
};

}  // namespace naru
