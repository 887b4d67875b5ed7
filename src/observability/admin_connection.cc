#include "observability/admin_connection.h"

#include <array>
#include <utility>

#include "observability/admin_server.h"

namespace naru {
namespace {

constexpr size_t kHeadBytesMax = 8 * 1024;
// For the request to come and the answer to go.
constexpr Duration kPatience = 5s;

bool head_is_whole(std::string_view head) {
  return head.find("\r\n\r\n") != std::string_view::npos || head.find("\n\n") != std::string_view::npos;
}

}  // namespace

void AdminConnection::start(Seams& seams) {
  seams.scheduler.start_timer(seams.clock.now() + kPatience, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->close();
  });
  stream_->start(this);
}

void AdminConnection::close() {
  if (std::exchange(closed_, true)) return;
  stream_->close();
  server_.forget(id_);
}

// One read for each event: whoever sends without pause keeps neither the others nor the timers from their turns.
void AdminConnection::on_readable() {
  const auto self = shared_from_this();
  std::array<std::byte, 2048> space;
  const IoResult got = stream_->read_some(space);
  if (got.kind == IoResult::Kind::would_block) return;
  if (got.kind != IoResult::Kind::progress) return close();
  if (!answer_.empty()) return;  // what follows the request is of no interest
  head_ += as_text(BytesView(space).first(got.bytes));
  if (head_is_whole(head_)) {
    answer_ = server_.answer(std::string_view(head_).substr(0, head_.find_first_of("\r\n")));
    send();
  } else if (head_.size() > kHeadBytesMax) {
    close();
  }
}

void AdminConnection::send() {
  const auto self = shared_from_this();
  while (!closed_ && sent_ < answer_.size()) {
    const BytesView rest = as_bytes(std::string_view(answer_).substr(sent_));
    const IoResult sent = stream_->write_some({&rest, 1});
    if (sent.kind == IoResult::Kind::would_block) return stream_->want_writable();
    if (sent.kind != IoResult::Kind::progress) return close();
    sent_ += sent.bytes;
  }
  close();
}

}  // namespace naru
