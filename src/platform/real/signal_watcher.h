// Calls a function when the process is asked to end (SIGTERM, SIGINT), or its terminal is gone (SIGHUP, unless it was
// ignored from the beginning).
#pragma once

#include <memory>
#include <thread>

#include "foundation/function.h"

namespace naru {

// The function runs on a thread of the watcher, once per signal, however busy the event loops are. Signals that come
// after the constructor has returned are heard. The destructor waits for a call that is under way.
class SignalWatcher {
 public:
  explicit SignalWatcher(UniqueFunction<void(int signal)> received);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  struct Loop;

  const std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

}  // namespace naru
