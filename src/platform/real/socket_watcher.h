// Tells when a socket is readable or writable. Belongs to one event loop: made, used and destroyed on its thread.
#pragma once

#include <memory>

#include "foundation/status.h"

namespace naru {

class EventLoop;

class SocketWatcher {
 public:
  class Target {
   public:
    virtual ~Target() = default;
    // May destroy the watcher. An error of the socket counts as both: the next call on the socket tells.
    virtual void on_ready(bool readable, bool writable) = 0;
  };

  // The socket and the target must outlive the watcher.
  static Result<std::unique_ptr<SocketWatcher>> create(EventLoop& loop, int socket, Target& target);
  ~SocketWatcher();
  SocketWatcher(const SocketWatcher&) = delete;
  SocketWatcher& operator=(const SocketWatcher&) = delete;

  // Level-triggered, until changed.
  void watch(bool readable, bool writable);

 private:
  struct Handle;

  explicit SocketWatcher(Handle* handle) : handle_(handle) {}

  Handle* const handle_;  // freed by libuv's close callback
};

}  // namespace naru
