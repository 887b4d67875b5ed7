#include "simulation/kafka_client.h"

namespace naru::simulation {

Task<Result<std::shared_ptr<KafkaClient>>> KafkaClient::connect(Seams seams, Endpoint address) {
  NARU_CO_TRY_ASSIGN(auto stream, co_await seams.transport.connect(address));
  auto client = std::make_shared<KafkaClient>(seams, std::move(address), std::move(stream));
  client->stream_->start(client.get());
  co_return client;
}

KafkaClient::~KafkaClient() {
  NARU_ASSERT(waiting_.empty(), "a client is destroyed while calls wait");
}

void KafkaClient::close() {
  if (std::exchange(broken_, true)) return;
  stream_->close();
  fail_all(Status(ErrorCode::network_exception, "closed"));
}

Task<Result<SharedBytes>> KafkaClient::exchange(Bytes frame, Duration timeout) {
  if (broken_) co_return failure(ErrorCode::network_exception, "not connected");
  const auto self = shared_from_this();
  OneShot<Result<SharedBytes>> answer;
  waiting_.push_back(&answer);
  const auto timer = seams_.scheduler.start_timer(seams_.clock.now() + timeout, [self] { self->close(); });
  write(std::move(frame));
  auto result = co_await answer;
  seams_.scheduler.cancel_timer(timer);
  co_return result;
}

void KafkaClient::write(Bytes bytes) {
  if (broken_) return;
  output_.push(Response(std::move(bytes)));
  flush();
}

void KafkaClient::flush() {
  const IoResult sent = output_.drain_into(*stream_);
  if (sent.kind == IoResult::Kind::would_block) stream_->want_writable();
  if (sent.kind == IoResult::Kind::failed) close();
}

void KafkaClient::on_writable() {
  if (!broken_) flush();
}

void KafkaClient::on_readable() {
  const auto self = shared_from_this();
  while (!broken_) {
    const MutableBytesView space = frames_.space();
    const IoResult got = stream_->read_some(space);
    if (got.kind == IoResult::Kind::would_block) return;
    if (got.kind != IoResult::Kind::progress) return close();
    frames_.received(got.bytes);
    while (!broken_) {
      FrameReader::Next next = frames_.next();
      if (!next.error.ok()) return close();
      if (!next.frame) break;
      if (waiting_.empty()) return close();  // an answer that nobody asked for
      auto* answer = waiting_.front();
      waiting_.pop_front();
      answer->set(std::move(*next.frame));
    }
  }
}

void KafkaClient::fail_all(const Status& status) {
  while (!waiting_.empty()) {
    auto* answer = waiting_.front();
    waiting_.pop_front();
    answer->set(failure(status));
  }
}

}  // namespace naru::simulation
