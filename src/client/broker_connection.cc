#include "client/broker_connection.h"

#include <chrono>

#include "client/broker_error.h"
#include "foundation/byte_reader.h"
#include "foundation/byte_writer.h"
#include "kafka_protocol/messages/api_versions_request.h"

namespace naru::client {
namespace {

// The answer begins with the correlation id and the error. A broker that does not know our version says so in the
// form of version 0, so the error has to be known before the rest can be read.
bool refuses_version(BytesView answer) {
  ByteReader reader(answer);
  reader.read_int<int32_t>();
  return reader.read_int<int16_t>() == wire_code(ErrorCode::unsupported_version);
}

}  // namespace

Task<Result<std::shared_ptr<BrokerConnection>>> BrokerConnection::open(Seams seams, Endpoint address,
                                                                       ConnectionOptions options,
                                                                       CancelToken cancelled) {
  auto stream = co_await seams.transport.connect(address, cancelled);
  if (!stream) co_return failure(ErrorCode::network_exception, "{}", stream.error().message());
  auto connection =
      std::make_shared<BrokerConnection>(seams, std::move(address), std::move(options), std::move(*stream));
  connection->stream_->start(connection.get());
  const CancelCallback on_cancel(cancelled, [weak = std::weak_ptr(connection)] {
    const auto to_close = weak.lock();
    if (!to_close) return;
    to_close->stream_->run_on_loop([weak] {
      if (const auto self = weak.lock()) self->close();
    });
  });
  const Status negotiated = co_await connection->negotiate();
  if (!negotiated.ok()) {
    connection->close();
    co_return failure(negotiated);
  }
  co_return connection;
}

BrokerConnection::BrokerConnection(Seams seams, Endpoint address, ConnectionOptions options,
                                   std::unique_ptr<Stream> stream)
    : seams_(seams),
      address_(std::move(address)),
      options_(std::move(options)),
      stream_(std::move(stream)),
      frames_(options_.response_bytes_max) {}

BrokerConnection::~BrokerConnection() {
  close();
}

void BrokerConnection::close() {
  give_up("the connection was closed");
}

Task<Status> BrokerConnection::negotiate() {
  const std::string_view api = "ApiVersions";
  int16_t version = kafka::api_row(kafka::ApiKey::api_versions).max_version;
  for (int attempt = 0; attempt < 2; ++attempt) {
    kafka::ApiVersionsRequest request{.client_software_name = options_.software_name,
                                      .client_software_version = options_.software_version};
    const int32_t id = next_correlation_id_++;
    auto frame = kafka::encode_request_frame(request, version, id, options_.client_id);
    NARU_CO_TRY_ASSIGN(const SharedBytes answer,
                       co_await exchange(std::move(frame.bytes), api, options_.request_timeout));
    const bool refused = refuses_version(answer.view());
    kafka::WireReader reader(answer.view());
    kafka::ApiVersionsResponse response;
    const auto header = kafka::decode_response(reader, response, refused ? int16_t{0} : version);
    NARU_CO_TRY(check_answer(reader.finish(), api, header.correlation_id, id));
    versions_ = ApiVersions(response);
    if (!refused) co_return broker_error(response.error_code, fmt::format("broker {}", address_.to_string()));
    version = versions_.choose(kafka::ApiKey::api_versions, {}).value_or(0);
  }
  co_return error(ErrorCode::unsupported_version, "broker {} refuses every version of ApiVersions",
                  address_.to_string());
}

Result<int16_t> BrokerConnection::version_of(kafka::ApiKey key, VersionRange usable) const {
  auto version = versions_.choose(key, usable);
  if (!version) {
    return failure(ErrorCode::unsupported_version, "broker {} is too old or too new for this: {}", address_.to_string(),
                   version.error().message());
  }
  return version;
}

Task<Result<SharedBytes>> BrokerConnection::exchange(Bytes frame, std::string_view api, Duration timeout) {
  if (broken()) co_return failure(problem_);
  const auto self = shared_from_this();
  Answer answer;
  waiting_.push_back(&answer);
  const auto timer = seams_.scheduler.start_timer(seams_.clock.now() + timeout, [self, api, timeout] {
    self->give_up(fmt::format("it did not answer {} within {} ms", api,
                              std::chrono::duration_cast<Milliseconds>(timeout).count()));
  });
  ignore(write(std::move(frame)));  // a failure is told to everybody who waits, this call included
  auto result = co_await answer;
  seams_.scheduler.cancel_timer(timer);
  co_return result;
}

Task<Result<Bytes>> BrokerConnection::forward(SharedBytes request, std::string_view api, Duration timeout) {
  // Key and version of the API, two bytes each, then the correlation id; an answer begins with it.
  constexpr size_t kRequestIdAt = 4, kIdSize = 4;
  const auto self = shared_from_this();
  const int32_t id = next_correlation_id_++;
  const BytesView asked = request.view();
  Bytes frame;
  ByteWriter writer(frame);
  writer.write_int(static_cast<int32_t>(asked.size()));
  writer.write_bytes(asked.first(kRequestIdAt));
  writer.write_int(id);
  writer.write_bytes(asked.subspan(kRequestIdAt + kIdSize));
  NARU_CO_TRY_ASSIGN(const SharedBytes answer, co_await exchange(std::move(frame), api, timeout));
  ByteReader reader(answer.view());
  const auto answered = reader.read_int<int32_t>();
  const Status decoded = reader.ok() ? Status() : Status(ErrorCode::corrupt_message, "it is too short");
  NARU_CO_TRY(check_answer(decoded, api, answered, id));
  Bytes told;
  ByteWriter teller(told);
  teller.write_int(static_cast<int32_t>(answer.size()));
  teller.write_bytes(asked.subspan(kRequestIdAt, kIdSize));
  teller.write_bytes(answer.view().subspan(kIdSize));
  co_return told;
}

Status BrokerConnection::check_answer(const Status& decoded, std::string_view api, int32_t answered, int32_t asked) {
  if (!decoded.ok()) {
    give_up(fmt::format("its answer to {} cannot be understood: {}", api, decoded.message()));
    return problem_;
  }
  if (answered != asked) {
    give_up(fmt::format("it answered request {} when {} was due", answered, asked));
    return problem_;
  }
  return {};
}

Status BrokerConnection::write(Bytes frame) {
  if (broken()) return problem_;
  output_.push(Response(std::move(frame)));
  flush();
  return problem_;
}

void BrokerConnection::flush() {
  const IoResult sent = output_.drain_into(*stream_);
  if (sent.kind == IoResult::Kind::would_block) stream_->want_writable();
  if (sent.kind == IoResult::Kind::failed) give_up(sent.error.message());
}

void BrokerConnection::on_writable() {
  if (!broken()) flush();
}

void BrokerConnection::on_readable() {
  const auto self = shared_from_this();  // a call that is answered may drop the last other reference
  while (!broken()) {
    const IoResult got = stream_->read_some(frames_.space());
    if (got.kind == IoResult::Kind::would_block) return;
    if (got.kind == IoResult::Kind::end_of_stream) return give_up("it closed the connection");
    if (got.kind == IoResult::Kind::failed) return give_up(got.error.message());
    frames_.received(got.bytes);
    deliver_frames();
  }
}

void BrokerConnection::deliver_frames() {
  while (!broken()) {
    FrameReader::Next next = frames_.next();
    if (!next.error.ok()) return give_up(next.error.message());
    if (!next.frame) return;
    if (waiting_.empty()) return give_up("it sent an answer that nobody asked for");
    Answer* answer = waiting_.front();
    waiting_.pop_front();
    answer->set(std::move(*next.frame));
  }
}

void BrokerConnection::give_up(std::string reason) {
  if (broken()) return;
  problem_ = error(ErrorCode::network_exception, "broker {}: {}", address_.to_string(), reason);
  stream_->close();
  output_.clear();
  const Status problem = problem_;
  auto waiting = std::exchange(waiting_, {});
  for (Answer* answer : waiting) answer->set(failure(problem));
}

}  // namespace naru::client
