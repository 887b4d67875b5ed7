// A client of the simulation: speaks the real protocol in real bytes over a simulated connection.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "async/one_shot.h"
#include "async/task.h"
#include "kafka_protocol/frame.h"
#include "network/frame_reader.h"
#include "network/output_buffer.h"
#include "platform/seams.h"

namespace naru::simulation {

// Single-threaded, as the simulation is. Requests may be pipelined; answers are matched by their order and checked by
// their correlation id. Anything unexpected breaks the connection: every call that waits fails, with its outcome
// unknown.
class KafkaClient final : public StreamObserver, public std::enable_shared_from_this<KafkaClient> {
 public:
  static Task<Result<std::shared_ptr<KafkaClient>>> connect(Seams seams, Endpoint address);
  KafkaClient(Seams seams, Endpoint address, std::unique_ptr<Stream> stream)
      : seams_(seams), address_(std::move(address)), stream_(std::move(stream)) {}
  ~KafkaClient() override;

  // Sends at once when awaited. What the request points to must live until then.
  template <class Response, class Request>
  Task<Result<Response>> call(Request request, int16_t version, Duration timeout) {
    const int32_t id = next_correlation_id_++;
    auto frame = kafka::encode_request_frame(request, version, id, "simulation");
    NARU_CO_TRY_ASSIGN(const SharedBytes answer, co_await exchange(std::move(frame.bytes), timeout));
    kafka::WireReader reader(answer.view());
    Response response;
    const auto header = kafka::decode_response(reader, response, version);
    NARU_CO_TRY(reader.finish());
    if (header.correlation_id != id) {
      co_return failure(ErrorCode::corrupt_message, "answer {} to request {}", header.correlation_id, id);
    }
    co_return response;
  }

  // A request that gets no answer: acks=0.
  template <class Request>
  void send(const Request& request, int16_t version) {
    write(kafka::encode_request_frame(request, version, next_correlation_id_++, "simulation").bytes);
  }

  // Anything at all.
  void write(Bytes bytes);

  const Endpoint& address() const { return address_; }  // as it was asked for
  // No other connection has it.
  uint64_t number() const { return number_; }
  bool broken() const { return broken_; }
  void close();

 private:
  Task<Result<SharedBytes>> exchange(Bytes frame, Duration timeout);
  void on_readable() override;
  void on_writable() override;
  void flush();
  void fail_all(const Status& status);

  static inline uint64_t next_number_ = 0;

  Seams seams_;
  const uint64_t number_ = next_number_++;
  const Endpoint address_;
  std::unique_ptr<Stream> stream_;
  FrameReader frames_{100 << 20};
  OutputBuffer output_;
  int32_t next_correlation_id_ = 0;
  std::deque<OneShot<Result<SharedBytes>>*> waiting_;
  bool broken_ = false;
};

}  // namespace naru::simulation
