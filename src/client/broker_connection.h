// One connection to one broker: requests out, answers in, matched by order and checked by correlation id.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "async/cancellation.h"
#include "async/one_shot.h"
#include "async/task.h"
#include "client/api_versions.h"
#include "kafka_protocol/frame.h"
#include "network/frame_reader.h"
#include "network/output_buffer.h"
#include "platform/seams.h"

namespace naru::client {

struct ConnectionOptions {
  std::string client_id = "naru";
  std::string software_name = "naru";      // told to the broker, too
  std::string software_version = "0";      // told to the broker
  Duration request_timeout = 30s;          // for the negotiation; calls name their own
  size_t response_bytes_max = 256u << 20;  // a larger answer breaks the connection
};

// Thread: the event loop on which it was opened, only (to_its_loop()); the platform of a client has one loop.
// Requests may be pipelined; the broker answers in order. Whatever is unexpected (a size or an answer that makes no
// sense, silence beyond a timeout, a reset) breaks the connection: every call that waits fails with network_exception
// and a message that names the broker, and its outcome is unknown. A broken connection stays broken: open a new one.
class BrokerConnection final : public StreamObserver, public std::enable_shared_from_this<BrokerConnection> {
 public:
  // Connects and learns the versions of the broker's APIs. Whoever cancels does not wait for a broker that does not
  // answer, or cannot be reached.
  static Task<Result<std::shared_ptr<BrokerConnection>>> open(Seams seams, Endpoint address, ConnectionOptions options,
                                                              CancelToken cancelled = {});

  BrokerConnection(Seams seams, Endpoint address, ConnectionOptions options, std::unique_ptr<Stream> stream);
  ~BrokerConnection() override;

  // The request is encoded before this returns, so what it points to need not live longer. unsupported_version, and
  // nothing sent, when the broker and `usable` have no version in common.
  template <class Response, class Request>
  Task<Result<Response>> call(const Request& request, Duration timeout, VersionRange usable = {}) {
    const auto version = version_of(Request::kApiKey, usable);
    if (!version) return fail<Response>(version.error());
    const int32_t id = next_correlation_id_++;
    auto frame = kafka::encode_request_frame(request, *version, id, options_.client_id);
    if (frame.failure != nullptr) return fail<Response>(Status(ErrorCode::invalid_request, frame.failure));
    return receive<Response>(shared_from_this(), std::move(frame.bytes), id, *version, timeout);
  }

  // Passes on a request that somebody else has encoded (a frame's content); yields a whole frame for him, with the
  // correlation id that he chose.
  Task<Result<Bytes>> forward(SharedBytes request, std::string_view api, Duration timeout);

  // `co_await connection->to_its_loop()`: the coroutine goes on there. Any thread.
  auto to_its_loop() {
    struct Awaiter {
      Stream& stream;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> coroutine) const {
        stream.run_on_loop([coroutine] { coroutine.resume(); });
      }
      void await_resume() const {}
    };
    return Awaiter{*stream_};
  }

  // A request that gets no answer: Produce with acks=0.
  template <class Request>
  Status send(const Request& request, VersionRange usable = {}) {
    NARU_TRY_ASSIGN(const int16_t version, version_of(Request::kApiKey, usable));
    auto frame = kafka::encode_request_frame(request, version, next_correlation_id_++, options_.client_id);
    if (frame.failure != nullptr) return Status(ErrorCode::invalid_request, frame.failure);
    return write(std::move(frame.bytes));
  }

  const Endpoint& address() const { return address_; }
  const ApiVersions& versions() const { return versions_; }
  bool broken() const { return !problem_.ok(); }
  // Calls that wait fail.
  void close();

 private:
  using Answer = OneShot<Result<SharedBytes>>;

  template <class Response>
  static Task<Result<Response>> fail(Status status) {
    co_return failure(std::move(status));
  }
  template <class Response>
  static Task<Result<Response>> receive(std::shared_ptr<BrokerConnection> self, Bytes frame, int32_t id,
                                        int16_t version, Duration timeout) {
    const std::string_view api = kafka::api_row(Response::kApiKey).name;
    NARU_CO_TRY_ASSIGN(const SharedBytes answer, co_await self->exchange(std::move(frame), api, timeout));
    kafka::WireReader reader(answer.view());
    Response response;
    const auto header = kafka::decode_response(reader, response, version);
    NARU_CO_TRY(self->check_answer(reader.finish(), api, header.correlation_id, id));
    co_return response;
  }

  Task<Status> negotiate();
  Result<int16_t> version_of(kafka::ApiKey key, VersionRange usable) const;
  Task<Result<SharedBytes>> exchange(Bytes frame, std::string_view api, Duration timeout);
  Status check_answer(const Status& decoded, std::string_view api, int32_t answered, int32_t asked);
  Status write(Bytes frame);

  void on_readable() override;
  void on_writable() override;
  void flush();
  void deliver_frames();
  void give_up(std::string reason);

  Seams seams_;
  const Endpoint address_;
  const ConnectionOptions options_;
  std::unique_ptr<Stream> stream_;
  FrameReader frames_;
  OutputBuffer output_;
  ApiVersions versions_;
  int32_t next_correlation_id_ = 0;
  std::deque<Answer*> waiting_;  // each lives in the frame of the coroutine that waits
  Status problem_;               // what broke the connection
};

}  // namespace naru::client
