#include "fuzzing/fuzz_connection.h"

namespace naru::fuzzing {

Task<Result<std::shared_ptr<FuzzConnection>>> FuzzConnection::connect(Seams seams, Endpoint address) {
  NARU_CO_TRY_ASSIGN(auto stream, co_await seams.transport.connect(address));
  auto connection = std::make_shared<FuzzConnection>(std::move(stream));
  connection->stream_->start(connection.get());
  co_return connection;
}

FuzzConnection::~FuzzConnection() {
  close();
}

void FuzzConnection::send(Bytes bytes) {
  if (closed_) return;
  output_.push(Response(std::move(bytes)));
  flush();
}

void FuzzConnection::close() {
  if (std::exchange(closed_, true)) return;
  stream_->close();
  output_.clear();
}

void FuzzConnection::flush() {
  const IoResult sent = output_.drain_into(*stream_);
  if (sent.kind == IoResult::Kind::would_block) stream_->want_writable();
  if (sent.kind == IoResult::Kind::failed) close();
}

void FuzzConnection::on_writable() {
  if (!closed_) flush();
}

void FuzzConnection::on_readable() {
  const auto self = shared_from_this();
  while (!closed_) {
    const IoResult got = stream_->read_some(reader_.space());
    if (got.kind == IoResult::Kind::would_block) return reader_.rest();
    if (got.kind != IoResult::Kind::progress) return close();
    reader_.received(got.bytes);
    while (true) {
      FrameReader::Next next = reader_.next();
      if (!next.error.ok()) return close();
      if (!next.frame) break;
      frames_.push_back(std::move(*next.frame));
    }
  }
}

}  // namespace naru::fuzzing
