#include "network/connection.h"

#include <algorithm>
#include <utility>

namespace naru {
namespace {

// What one connection gets in one turn of its loop, so that a busy one does not starve the others.
constexpr size_t kRequestsPerTurn = 32;
constexpr size_t kBytesPerTurn = 256 * 1024;
// What handling a request costs besides its bytes: coroutines, the decoded form, the answer.
constexpr size_t kMemoryPerRequest = 2 * 1024;
// A half-read request is looked at so often. If others wait for memory, so much of it has to have come in between:
// announcing a large request must not be enough to keep its memory from everybody else.
constexpr Duration kFrameLook = 1s;
constexpr size_t kLeastBytesPerLook = 256 * 1024;

}  // namespace

Connection::Connection(std::unique_ptr<Stream> stream, CallerPtr caller, Door& door, Environment environment)
    : stream_(std::move(stream)),
      door_(door),
      settings_(door.settings()),
      environment_(std::move(environment)),
      caller_(std::move(caller)),
      frames_(settings_.max_frame_bytes, door.make_framing()) {}

Connection::~Connection() = default;

void Connection::start() {
  const MonotonicTime now = environment_.clock.now();
  last_activity_ns_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  start_idle_timer(now + settings_.idle_timeout);
  stream_->start(this);
}

void Connection::start_on_its_loop() {
  stream_->run_on_loop([self = shared_from_this()] {
    if (!self->closed_) self->start();
  });
}

bool Connection::may_read() const {
  return !closed_ && !input_ended_ && !muted_ && !waiting_for_memory_ && holds_ == 0 &&
         !too_many_in_flight_.load(std::memory_order_acquire) && !too_much_unsent_.load(std::memory_order_acquire);
}

void Connection::on_readable() {
  const auto self = shared_from_this();
  take_turn();
}

// Everything that may let the connection go on ends up here. Handing out a request may come back to it: an answer
// that is there at once can end the reason for a pause.
void Connection::take_turn() {
  if (in_turn_ || continuing_ || closed_) return;
  in_turn_ = true;
  requests_left_ = kRequestsPerTurn;
  read_and_hand_out();
  in_turn_ = false;
  if (closed_) return;
  frames_.rest();
  watch_half_read_frame();
  const bool wanted = may_read();
  if (wanted == std::exchange(wants_readable_, wanted)) return;
  if (wanted) readable_since_ = environment_.clock.now();
  stream_->want_readable(wanted);
}

void Connection::read_and_hand_out() {
  if (!hand_out_frames()) return;
  for (size_t bytes = 0; bytes < kBytesPerTurn;) {
    MutableBytesView space = frames_.space();
    if (space.size() > kBytesPerTurn) space = space.first(kBytesPerTurn);
    const IoResult got = stream_->read_some(space);
    switch (got.kind) {
      case IoResult::Kind::would_block:
        return;
      case IoResult::Kind::end_of_stream:
        return end_input();
      case IoResult::Kind::failed:
        return close(ConnectionEnd::client, "");
      case IoResult::Kind::progress:
        break;
    }
    last_read_ = environment_.clock.now();
    last_activity_ns_.store(last_read_.time_since_epoch().count(), std::memory_order_relaxed);
    frames_.received(got.bytes);
    bytes += got.bytes;
    if (!hand_out_frames()) return;
    if (got.bytes < space.size()) return;  // the socket is empty; saves the read that would say so
  }
}

// False: reading has to stop, for now or for good.
bool Connection::hand_out_frames() {
  while (may_read()) {
    if (!unpaid_frame_ && !take_next_frame()) return may_read();
    if (requests_left_ == 0) {
      continue_in_next_turn();
      return false;
    }
    if (!pay_for(unpaid_frame_->size())) return false;
    --requests_left_;
    SharedBytes frame = std::move(*unpaid_frame_);
    unpaid_frame_.reset();
    hand_out(std::move(frame));
  }
  return false;
}

// False: there is no whole frame.
bool Connection::take_next_frame() {
  FrameReader::Next next = frames_.next();
  if (!next.error.ok()) {
    ignore_further_input();  // closing may have to wait for whoever is sending now
    close(ConnectionEnd::malformed, next.error.message());
    return false;
  }
  if (next.frame) {
    unpaid_frame_ = std::move(next.frame);
    return true;
  }
  // Large frames are paid before they are read.
  const auto pending = frames_.pending_frame_bytes();
  if (pending && *pending > FrameReader::kBlockSize) pay_for(*pending);
  return false;
}

void Connection::hand_out(SharedBytes frame) {
  const size_t in_flight = in_flight_.fetch_add(1) + 1;
  if (in_flight >= settings_.max_in_flight) {
    too_many_in_flight_.store(true);
    // A response may have left between the two lines above; then nobody else would start reading again.
    // Sequentially consistent, here and in all_is_sent(): one of the two sides must see what the other has written.
    if (in_flight_.load() < settings_.max_in_flight) too_many_in_flight_.store(false);
  }
  door_.process({.connection = shared_from_this(),
                 .caller = caller_,
                 .slot = next_slot_++,
                 .frame = std::move(frame),
                 .memory = std::exchange(paid_, MemoryLease()),
                 .received = last_read_});
}

// True: it is paid. False: a turn comes when it is, or the connection is closed.
bool Connection::pay_for(size_t frame_bytes) {
  const size_t bytes = FrameReader::memory_of(frame_bytes) + kMemoryPerRequest;
  if (paid_.bytes() >= bytes) return true;
  if (paid_.bytes() > 0) return pay_for_more(bytes - paid_.bytes());
  if (auto lease = environment_.memory.reserve_now(MemoryAccount::request_bodies, bytes)) {
    paid_ = std::move(*lease);
    return true;
  }
  // What has come already and is small does not stand in line behind what is large and may be long in coming.
  if (frame_bytes <= FrameReader::kBlockSize) {
    if (auto lease = environment_.small_requests.reserve_now(MemoryAccount::request_bodies, bytes)) {
      paid_ = std::move(*lease);
      return true;
    }
  }
  waiting_for_memory_ = true;
  const auto waiter = environment_.memory.reserve_when_free(
      MemoryAccount::request_bodies, bytes, [weak = weak_from_this()](MemoryLease lease) {
        const auto self = weak.lock();
        if (!self) return;
        self->stream_->run_on_loop([self, lease = std::move(lease)]() mutable {
          self->waiting_for_memory_ = false;
          if (self->closed_) return;
          self->paid_ = std::move(lease);
          self->take_turn();
        });
      });
  if (!waiter) {
    ignore_further_input();
    close(ConnectionEnd::memory, waiter.error().message());
    return false;
  }
  memory_waiter_ = *waiter;
  return !waiting_for_memory_;  // it may have been there after all
}

// For a frame whose end is not known. It never waits for more memory while it holds some: two such frames could
// deadlock.
bool Connection::pay_for_more(size_t bytes) {
  auto lease = environment_.memory.reserve_now(MemoryAccount::request_bodies, bytes);
  if (lease) {
    paid_.merge(std::move(*lease));
    return true;
  }
  ignore_further_input();
  close(ConnectionEnd::memory, "the memory budget has no room for a request that became larger");
  return false;
}

void Connection::continue_in_next_turn() {
  continuing_ = true;
  environment_.scheduler.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->stream_->run_on_loop([self] {
      self->continuing_ = false;
      self->take_turn();
    });
  });
}

void Connection::hold_requests() {
  ++holds_;
}

void Connection::release_requests() {
  stream_->run_on_loop([self = shared_from_this()] {
    --self->holds_;
    self->take_turn();
  });
}

void Connection::watch_half_read_frame() {
  const bool half_read = frames_.in_the_middle();
  if (!half_read && frame_timer_running_) {
    environment_.scheduler.cancel_timer(frame_timer_);
    frame_timer_running_ = false;
  }
  if (!half_read || frame_timer_running_) return;
  watched_slot_ = next_slot_;
  frame_begun_ = environment_.clock.now();
  frame_bytes_seen_ = 0;
  start_frame_timer();
}

void Connection::start_frame_timer() {
  frame_timer_running_ = true;
  frame_timer_ = environment_.scheduler.start_timer(
      environment_.clock.now() + std::min(kFrameLook, settings_.frame_timeout), [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->stream_->run_on_loop([self] {
          self->frame_timer_running_ = false;
          if (!self->closed_) self->look_at_half_read_frame();
        });
      });
}

void Connection::look_at_half_read_frame() {
  if (next_slot_ != watched_slot_ || !frames_.in_the_middle()) return watch_half_read_frame();
  // Time in which the connection was not allowed to read is not the client's, unless it is because it does not read.
  const Duration read_for = environment_.clock.now() - std::max(readable_since_, frame_begun_);
  if (may_read() && read_for >= settings_.frame_timeout) {
    return close(ConnectionEnd::slow_request, "a request was not complete after the frame timeout");
  }
  const size_t came = frames_.unread() - std::exchange(frame_bytes_seen_, frames_.unread());
  const bool could_come = may_read() ? read_for >= kFrameLook : too_much_unsent_.load(std::memory_order_acquire);
  if (paid_.bytes() > 0 && could_come && came < kLeastBytesPerLook && environment_.memory.waiting() > 0) {
    return close(ConnectionEnd::slow_request, "others wait for the memory of a request that does not arrive");
  }
  start_frame_timer();
}

void Connection::start_idle_timer(MonotonicTime deadline) {
  idle_timer_ = environment_.scheduler.start_timer(deadline, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->stream_->run_on_loop([self] {
      if (self->closed_) return;
      const MonotonicTime last{Duration(self->last_activity_ns_.load(std::memory_order_relaxed))};
      const MonotonicTime now = self->environment_.clock.now();
      // A parked fetch is busy; a client that takes no bytes is not.
      const bool busy = self->in_flight_.load() > 0 && !self->output_blocked_.load(std::memory_order_relaxed);
      if (!busy && last + self->settings_.idle_timeout <= now) return self->close(ConnectionEnd::idle, "idle");
      self->start_idle_timer(std::max(now + Milliseconds(1),
                                      busy ? now + self->settings_.idle_timeout : last + self->settings_.idle_timeout));
    });
  });
}

void Connection::ignore_further_input() {
  input_ended_ = true;
  if (std::exchange(wants_readable_, false)) stream_->want_readable(false);
}

// The client will send no more. What it has asked for is still answered: it may only have closed its sending half.
void Connection::end_input() {
  ignore_further_input();
  finish_and_close(ConnectionEnd::client);
}

void Connection::mute_until(MonotonicTime deadline) {
  stream_->run_on_loop([self = shared_from_this(), deadline] {
    if (self->closed_) return;
    self->muted_ = true;
    if (std::exchange(self->wants_readable_, false)) self->stream_->want_readable(false);
    self->environment_.scheduler.start_timer(deadline, [weak = self->weak_from_this()] {
      const auto muted = weak.lock();
      if (!muted) return;
      muted->stream_->run_on_loop([muted] {
        muted->muted_ = false;
        muted->take_turn();
      });
    });
  });
}

}  // namespace naru
