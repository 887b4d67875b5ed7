#include "platform/simulated/simulated_connection.h"

#include <algorithm>
#include <utility>

#include "foundation/assert.h"

namespace naru {
namespace {

constexpr size_t kSendFileChunkBytes = 64 * 1024;

IoResult connection_failed() {
  return {.kind = IoResult::Kind::failed, .error = Status(ErrorCode::io_error, "connection reset")};
}
IoResult progress(size_t bytes) {
  return {.kind = IoResult::Kind::progress, .bytes = bytes};
}

}  // namespace

SimulatedConnection::SimulatedConnection(SimulatedNetwork& network, const NetworkPeer& client,
                                         const NetworkPeer& server)
    : network_(network) {
  ends_[0].host = client.host;
  ends_[0].owner = client.scheduler.owner();
  ends_[1].host = server.host;
  ends_[1].owner = server.scheduler.owner();
}

IoResult SimulatedConnection::read(int side, MutableBytesView to) {
  End& end = ends_[side];
  if (!end.arrived.empty()) {
    const size_t count = std::min(to.size(), end.arrived.size());
    std::copy_n(end.arrived.view().begin(), count, to.begin());
    end.arrived.drop_front(count);
    notify_writable(1 - side);
    return progress(count);
  }
  if (end.end_arrived) return {.kind = IoResult::Kind::end_of_stream};
  if (end.failed) return connection_failed();
  return {};
}

IoResult SimulatedConnection::write(int side, std::span<const BytesView> parts) {
  End& from = ends_[side];
  if (from.failed) return connection_failed();
  size_t total = 0;
  for (const BytesView part : parts) total += part.size();
  if (total == 0) return progress(0);
  size_t count = std::min(total, room_to_write(side));
  if (count == 0) return {};
  if (network_.random().one_in(4)) count = 1 + network_.random().below(count);
  if (broken_) {
    from.sent_into_the_void += count;
    return progress(count);
  }
  size_t left = count;
  for (const BytesView part : parts) {
    const size_t length = std::min(left, part.size());
    ends_[1 - side].travelling.append(part.first(length));
    left -= length;
  }
  schedule_delivery(1 - side);
  return progress(count);
}

size_t SimulatedConnection::room_to_write(int side) const {
  const End& to = ends_[1 - side];
  const size_t used =
      broken_ ? ends_[side].sent_into_the_void : to.travelling.size() + (to.gone ? 0 : to.arrived.size());
  return network_.options.buffer_bytes - std::min(used, network_.options.buffer_bytes);
}

void SimulatedConnection::start(int side) {
  ends_[side].started = true;
  notify_readable(side);
}

void SimulatedConnection::want_readable(int side, bool wanted) {
  ends_[side].wants_readable = wanted;
  notify_readable(side);
}

void SimulatedConnection::want_writable(int side) {
  ends_[side].wants_writable = true;
  notify_writable(side);
}

void SimulatedConnection::half_close(int side) {
  if (broken_) return;
  ends_[1 - side].end_travelling = true;
  schedule_delivery(1 - side);
}

void SimulatedConnection::close(int side) {
  End& end = ends_[side];
  end.stream = nullptr;
  if (std::exchange(end.gone, true)) return;
  // As kernels do: leaving bytes unread is answered by a reset, otherwise the peer sees an orderly end.
  if (!end.arrived.empty()) {
    send_reset(1 - side);
  } else {
    half_close(side);
  }
}

void SimulatedConnection::cut() {
  if (std::exchange(broken_, true)) return;
  for (int side = 0; side < 2; ++side) {
    End& end = ends_[side];
    // Sometimes it looks like an orderly end: then nothing of what was sent is missing.
    if (network_.random().one_in(3)) {
      end.end_travelling = true;
      schedule_delivery(side);
    } else {
      lose_suffix(end.travelling);
      end.end_travelling = false;
    }
    after(network_.random_between(0ns, network_.options.notice_max),
          [self = shared_from_this(), side] { self->fail(side); });
  }
}

void SimulatedConnection::abandon(int side, bool silently) {
  End& end = ends_[side];
  if (end.gone) return;
  SimulatedStream* leftover = end.stream;
  if (silently) {
    end.gone = true;
  } else {
    close(side);
  }
  end.stream = leftover;  // what is left of the process learns that this connection is of no use
  end.arrived = {};
  end.end_arrived = false;
  end.failed = true;
  notify_readable(side);
  notify_writable(side);
}

void SimulatedConnection::resume() {
  for (int side = 0; side < 2; ++side) {
    if (!ends_[side].travelling.empty() || ends_[side].end_travelling) schedule_delivery(side);
  }
}

void SimulatedConnection::schedule_delivery(int to) {
  if (std::exchange(ends_[to].delivery_waits, true)) return;
  after(network_.random_delay(ends_[1 - to].host, ends_[to].host), [self = shared_from_this(), to] {
    self->ends_[to].delivery_waits = false;
    self->deliver(to);
  });
}

void SimulatedConnection::deliver(int to) {
  End& end = ends_[to];
  if (network_.is_blocked(ends_[1 - to].host, end.host)) return;  // resume() comes back to it
  if (end.gone) {
    const bool had_bytes = !end.travelling.empty();
    end.travelling = {};
    end.end_travelling = false;
    if (had_bytes) send_reset(1 - to);
    return;
  }
  take_arriving_bytes(end);
  notify_readable(to);
  if (!end.travelling.empty() || end.end_travelling) schedule_delivery(to);
  const uint64_t cut_one_in = network_.options.cut_one_in;
  if (cut_one_in > 0 && network_.random().one_in(cut_one_in)) cut();
}

void SimulatedConnection::take_arriving_bytes(End& end) {
  Random& random = network_.random();
  if (!end.travelling.empty()) {
    size_t count = end.travelling.size();
    if (random.one_in(2)) count = 1 + random.below(count);
    const BytesView chunk = end.travelling.view().first(count);
    network_.queue().trace().mix(chunk);
    end.arrived.append(chunk);
    end.travelling.drop_front(count);
    if (random.one_in(2)) return;  // the end, if it is next, comes later; otherwise together with the last bytes
  }
  if (end.travelling.empty() && end.end_travelling) {
    end.end_travelling = false;
    end.end_arrived = true;
  }
}

void SimulatedConnection::send_reset(int to) {
  after(network_.random_delay(), [self = shared_from_this(), to] {
    const bool arrives = !self->network_.is_blocked(self->ends_[1 - to].host, self->ends_[to].host);
    if (arrives) self->fail(to);
  });
}

void SimulatedConnection::fail(int side) {
  End& end = ends_[side];
  if (end.failed || end.gone) return;
  end.failed = true;
  if (!end.end_travelling) end.travelling = {};
  if (!end.end_arrived && !end.end_travelling) lose_suffix(end.arrived);
  notify_readable(side);
  notify_writable(side);
}

void SimulatedConnection::lose_suffix(ByteFifo& bytes) {
  bytes.keep_front(network_.random().below(bytes.size() + 1));
}

bool SimulatedConnection::is_readable(const End& end) const {
  return end.stream != nullptr && end.started && end.wants_readable &&
         (!end.arrived.empty() || end.end_arrived || end.failed);
}

void SimulatedConnection::notify_readable(int side) {
  End& end = ends_[side];
  if (!is_readable(end) || std::exchange(end.readable_event_waits, true)) return;
  network_.queue().add(network_.queue().now() + network_.random_between(1us, 10us), end.owner,
                       [self = shared_from_this(), side] {
                         End& ready = self->ends_[side];
                         ready.readable_event_waits = false;
                         if (!self->is_readable(ready)) return;
                         ready.stream->observer()->on_readable();
                         self->notify_readable(side);
                       });
}

void SimulatedConnection::notify_writable(int side) {
  End& end = ends_[side];
  if (end.stream == nullptr || !end.started || !end.wants_writable) return;
  if (!end.failed && room_to_write(side) == 0) return;
  if (std::exchange(end.writable_event_waits, true)) return;
  network_.queue().add(network_.queue().now() + network_.random_between(1us, 10us), end.owner,
                       [self = shared_from_this(), side] {
                         End& ready = self->ends_[side];
                         ready.writable_event_waits = false;
                         if (ready.stream == nullptr || !std::exchange(ready.wants_writable, false)) return;
                         ready.stream->observer()->on_writable();
                       });
}

void SimulatedConnection::after(Duration delay, UniqueFunction<void()> work) {
  network_.queue().add(network_.queue().now() + delay, SimulatedEventQueue::kWorld, std::move(work));
}

SimulatedStream::SimulatedStream(std::shared_ptr<SimulatedConnection> connection, int side,
                                 SimulatedScheduler& scheduler, Endpoint local, Endpoint peer, uint64_t number)
    : Stream(number),
      connection_(std::move(connection)),
      side_(side),
      scheduler_(scheduler),
      local_(std::move(local)),
      peer_(std::move(peer)) {
  connection_->attach(side_, this);
}

SimulatedStream::~SimulatedStream() {
  close();
}

IoResult SimulatedStream::read_some(MutableBytesView to) {
  NARU_ASSERT(!closed_, "read from a closed stream");
  return connection_->read(side_, to);
}

IoResult SimulatedStream::write_some(std::span<const BytesView> parts, bool /*more_follows*/) {
  NARU_ASSERT(!closed_, "write to a closed stream");
  return connection_->write(side_, parts);
}

IoResult SimulatedStream::send_file(const File& file, uint64_t position, size_t length) {
  if (connection_->has_failed(side_)) return connection_failed();
  if (length == 0) return progress(0);
  const size_t count = std::min({length, connection_->room_to_write(side_), kSendFileChunkBytes});
  if (count == 0) return {};
  Bytes buffer(count);
  const auto got = file.read_at(position, buffer);
  if (!got) return {.kind = IoResult::Kind::failed, .error = got.error()};
  if (*got == 0) {
    return {.kind = IoResult::Kind::failed, .error = error(ErrorCode::io_error, "{} ends too early", file.path())};
  }
  const BytesView bytes = BytesView(buffer).first(*got);
  return write_some(std::span(&bytes, 1), false);
}

void SimulatedStream::start(StreamObserver* observer) {
  observer_ = observer;
  connection_->start(side_);
}

void SimulatedStream::want_readable(bool wanted) {
  connection_->want_readable(side_, wanted);
}
void SimulatedStream::want_writable() {
  connection_->want_writable(side_);
}

void SimulatedStream::close() {
  if (std::exchange(closed_, true)) return;
  connection_->close(side_);
}

void SimulatedStream::run_on_loop(UniqueFunction<void()> work) {
  if (scheduler_.on_worker()) {
    scheduler_.post(std::move(work));
  } else {
    work();
  }
}

}  // namespace naru
