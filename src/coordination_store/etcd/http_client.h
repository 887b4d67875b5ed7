// HTTP requests through libcurl, on a thread of its own.
//
// The library is loaded when the first client is opened, not linked: with what it brings along it costs some 6 MB,
// which a broker that keeps its metadata elsewhere does not pay.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "async/cancellation.h"
#include "async/task.h"
#include "foundation/function.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "platform/clock.h"
#include "platform/scheduler.h"

namespace naru {

struct HttpAnswer {
  enum class Outcome : uint8_t {
    answered,  // `status` and `body` are what the server said
    not_sent,  // it never saw the request
    unknown,   // no answer: it may have seen it
  };
  Outcome outcome = Outcome::unknown;
  int status = 0;
  std::string body;
  std::string problem;
};

struct HttpRequest {
  std::string url;
  std::string body;  // JSON
  Duration timeout = 10s;
  // Over a connection of its own, because over an old one that breaks libcurl would send it a second time.
  bool once = false;
};

// Thread-safe. Opened once, before any request; closed before it is destroyed.
class HttpClient {
 public:
  using StreamId = uint64_t;

  HttpClient(const Clock& clock, Scheduler& scheduler);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // On a worker: reads the library from the disk.
  Status open();
  // On a worker: ends what is under way, with an unknown outcome, and waits for the thread. What comes later is not
  // sent.
  void close();
  // The same without waiting: close() is still needed. Any thread.
  void abort();

  // Goes on on an event loop.
  Task<HttpAnswer> post(HttpRequest request);
  // These two go on on the client's own thread, which must not be blocked: for what must not wait for event loops,
  // which have the requests of clients to deal with. A pause ends early when the token is cancelled or the client is
  // closed.
  Task<HttpAnswer> post_aside(HttpRequest request);
  // False: the client was aborted, and nothing is sent any more.
  Task<bool> pause_aside(Duration time, CancelToken token);

  // A POST whose answer comes in lines, without end. `line` and `ended` are called on the client's thread and must not
  // block; `ended` once, whatever ends the stream. Lines are cut after 64 KiB.
  StreamId start_stream(HttpRequest request, UniqueFunction<void(std::string_view)> line, UniqueFunction<void()> ended);
  void stop_stream(StreamId stream);
  void stop_all_streams();

 private:
  class Engine;

  const Clock& clock_;
  Scheduler& scheduler_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace naru
