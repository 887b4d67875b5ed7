// Calls a function when the process is asked to end (SIGTERM, SIGINT), or its terminal is gone (SIGHUP, unless it was
// ignored from the beginning).
#pragma once

#include <vector>

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
  std::vector<uv_signal_s*> handles_;  // freed by libuv's close callback
};

}  // namespace naru
