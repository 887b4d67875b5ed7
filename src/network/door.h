// What a listener speaks: how its bytes become requests, and who answers them.
#pragma once

#include <cstdint>
#include <memory>

#include "access/caller.h"
#include "foundation/shared_bytes.h"
#include "foundation/time.h"
#include "network/framing.h"
#include "observability/memory_budget.h"

namespace naru {

class Connection;

// A frame to be answered by exactly one Connection::respond().
struct Request {
  std::shared_ptr<Connection> connection;
  CallerPtr caller;
  uint64_t slot = 0;
  SharedBytes frame;       // the content, without what the framing puts around it
  MemoryLease memory;      // for the frame and the work on it
  MonotonicTime received;  // when its last byte was read
};

struct ConnectionSettings {
  size_t max_frame_bytes = 100 << 20;
  size_t max_in_flight = 64;
  Duration idle_timeout = 10min;
  Duration frame_timeout = 30s;        // a frame that has begun must be whole by then
  size_t max_unsent_files = SIZE_MAX;  // that unread answers keep open, before the next requests have to wait
};

// May serve several listeners. Outlives their connections.
class Door {
 public:
  virtual ~Door() = default;
  // Of the connections that are accepted from now on.
  virtual ConnectionSettings settings() const = 0;
  // For a new connection.
  virtual std::unique_ptr<Framing> make_framing() const = 0;
  // On the connection's loop, in the order of arrival; must not block.
  virtual void process(Request request) = 0;
};

}  // namespace naru
