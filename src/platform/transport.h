// The seam to the network: non-blocking byte streams with readiness events.
//
// A stream belongs to one event loop, which calls its observer. Reading happens on that loop; writing may happen on any
// thread, one at a time (the connection's output strand sees to that), so that whoever has an answer sends it itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "async/cancellation.h"
#include "async/task.h"
#include "foundation/bytes.h"
#include "foundation/function.h"
#include "foundation/status.h"
#include "platform/file_system.h"

namespace naru {

struct Endpoint {
  std::string host;
  uint16_t port = 0;

  std::string to_string() const;  // "127.0.0.1:9092", "[::1]:9092"
  bool is_loopback() const;       // reached from this machine only, as far as the text says
  bool is_everywhere() const { return host == "0.0.0.0" || host == "::"; }
  bool operator==(const Endpoint&) const = default;
};
// "host:port", "[v6]:port", ":port" (all interfaces).
Result<Endpoint> parse_endpoint(std::string_view text);

struct IoResult {
  enum class Kind : uint8_t {
    progress,       // `bytes` of the data were moved, at least one
    would_block,    // nothing now; wait for the event
    end_of_stream,  // reading only: the peer will send no more
    failed,         // the connection is gone; `error` says how
  };
  Kind kind = Kind::would_block;
  size_t bytes = 0;
  Status error;
};

class StreamObserver {
 public:
  virtual ~StreamObserver() = default;
  virtual void on_readable() = 0;  // bytes, end of stream, or an error: a read tells which
  virtual void on_writable() = 0;  // once per want_writable()
};

class Stream {
 public:
  // `number`: of a stream that was accepted.
  explicit Stream(uint64_t number = 0) : number_(number) {}
  virtual ~Stream() = default;

  // Rises in the order in which this process accepted its streams, whichever loop they went to; 0: it was not accepted.
  uint64_t number() const { return number_; }

  virtual IoResult read_some(MutableBytesView to) = 0;
  // `more_follows`: the caller sends the next bytes at once, so these need not go out in a packet of their own.
  virtual IoResult write_some(std::span<const BytesView> parts, bool more_follows) = 0;
  IoResult write_some(std::span<const BytesView> parts) { return write_some(parts, false); }
  virtual IoResult send_file(const File& file, uint64_t position, size_t length) = 0;

  // Starts the events; on_readable is level-triggered while reading is wanted (it is, at first). Loop thread only.
  virtual void start(StreamObserver* observer) = 0;
  virtual void want_readable(bool wanted) = 0;  // any thread
  virtual void want_writable() = 0;             // any thread
  // No observer call starts afterwards. On the stream's loop thread, and not while somebody writes.
  virtual void close() = 0;
  // Runs `work` on the stream's loop thread; at once if this is it.
  virtual void run_on_loop(UniqueFunction<void()> work) = 0;

  virtual const Endpoint& peer() const = 0;
  virtual const Endpoint& local() const = 0;

 private:
  const uint64_t number_;
};

// Stops accepting when destroyed; on a loop thread.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual const Endpoint& address() const = 0;  // with the real port if 0 was asked for
};

class Transport {
 public:
  virtual ~Transport() = default;

  // `accepted` is called on the new stream's own loop. Call from a loop thread.
  virtual Result<std::unique_ptr<Listener>> listen(const Endpoint& address,
                                                   UniqueFunction<void(std::unique_ptr<Stream>)> accepted) = 0;
  // ErrorCode::cancelled as soon as the token is cancelled; a connection that was about to be there is closed.
  virtual Task<Result<std::unique_ptr<Stream>>> connect(Endpoint address, CancelToken cancelled) = 0;
  Task<Result<std::unique_ptr<Stream>>> connect(Endpoint address) { return connect(std::move(address), {}); }
};

}  // namespace naru
