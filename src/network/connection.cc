#include "network/connection.h"

#include <algorithm>
#include <utility>

#include "foundation/log.h"

namespace naru {
namespace {

// Reads per readiness event, so that one busy connection does not starve the others of its loop.
constexpr int kReadsPerEvent = 16;

}  // namespace

Connection::Connection(std::unique_ptr<Stream> stream, std::string listener_name, ConnectionSettings settings,
                       Environment environment)
    : stream_(std::move(stream)),
      listener_name_(std::move(listener_name)),
      settings_(settings),
      environment_(std::move(environment)),
      frames_(settings.max_frame_bytes) {}

Connection::~Connection() = default;

void Connection::start() {
  const MonotonicTime now = environment_.clock.now();
  last_activity_ns_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  start_idle_timer(now + settings_.idle_timeout);
  stream_->start(this);
}

// ---- input, on the loop

bool Connection::may_read() const {
  return !closed_ && !input_ended_ && !muted_ && !waiting_for_memory_ &&
         !too_many_in_flight_.load(std::memory_order_acquire);
}

void Connection::on_readable() {
  const auto self = shared_from_this();
  for (int reads = 0; reads < kReadsPerEvent && may_read(); ++reads) {
    const MutableBytesView space = frames_.space();
    const IoResult got = stream_->read_some(space);
    switch (got.kind) {
      case IoResult::Kind::would_block:
        return;
      case IoResult::Kind::end_of_stream:
        return end_input();
      case IoResult::Kind::failed:
        return close("");
      case IoResult::Kind::progress:
        break;
    }
    last_activity_ns_.store(environment_.clock.now().time_since_epoch().count(), std::memory_order_relaxed);
    frames_.received(got.bytes);
    if (!hand_out_frames()) return;
    if (got.bytes < space.size()) return;  // the socket is empty; saves the read that would say so
  }
}

// False: reading has to stop, for now or for good.
bool Connection::hand_out_frames() {
  while (may_read()) {
    FrameReader::Next next = frames_.next();
    if (!next.error.ok()) {
      ignore_further_input();  // closing may have to wait for whoever is sending now
      close(next.error.message());
      return false;
    }
    if (!next.frame) {
      watch_half_read_frame();
      if (const auto pending = frames_.pending_frame_bytes()) return pay_for(*pending);
      return true;
    }
    const size_t in_flight = in_flight_.fetch_add(1) + 1;
    if (in_flight >= settings_.max_in_flight) {
      too_many_in_flight_.store(true);
      stream_->want_readable(false);
      // A response may have left between the two lines above; then nobody else would start reading again.
      // Sequentially consistent, here and in send_inside(): one of the two sides must see what the other has written.
      if (in_flight_.load() < settings_.max_in_flight) {
        too_many_in_flight_.store(false);
        stream_->want_readable(true);
      }
    }
    environment_.processor.process({.connection = shared_from_this(),
                                    .slot = next_slot_++,
                                    .frame = std::move(*next.frame),
                                    .memory = std::move(paid_),
                                    .received = environment_.clock.now()});
  }
  return may_read();
}

// Pay before reading: a frame larger than a block is only read once there is memory for it. Smaller ones are bounded by
// the number of requests in flight.
bool Connection::pay_for(size_t bytes) {
  if (paid_.bytes() > 0 || bytes <= FrameReader::kBlockSize) return true;
  waiting_for_memory_ = true;
  asking_for_memory_ = true;
  const auto waiter = environment_.memory.reserve_when_free(
      MemoryAccount::request_bodies, bytes, [weak = weak_from_this()](MemoryLease lease) {
        const auto self = weak.lock();
        if (!self) return;
        self->stream_->run_on_loop([self, lease = std::move(lease)]() mutable {
          self->paid_ = std::move(lease);
          self->waiting_for_memory_ = false;
          if (!self->asking_for_memory_) self->resume_reading();
        });
      });
  asking_for_memory_ = false;
  if (!waiter) {
    ignore_further_input();
    close(waiter.error().message());
    return false;
  }
  if (!waiting_for_memory_) return true;  // it was there
  memory_waiter_ = *waiter;
  stream_->want_readable(false);
  return false;
}

void Connection::resume_reading() {
  if (closed_) return;
  if (hand_out_frames()) stream_->want_readable(true);
}

void Connection::watch_half_read_frame() {
  const bool half_read = frames_.in_the_middle();
  if (!half_read && frame_timer_running_) {
    environment_.scheduler.cancel_timer(frame_timer_);
    frame_timer_running_ = false;
  }
  if (!half_read || frame_timer_running_) return;
  frame_timer_running_ = true;
  const uint64_t waiting_for_slot = next_slot_;
  frame_timer_ = environment_.scheduler.start_timer(
      environment_.clock.now() + settings_.frame_timeout, [weak = weak_from_this(), waiting_for_slot] {
        const auto self = weak.lock();
        if (!self) return;
        self->stream_->run_on_loop([self, waiting_for_slot] {
          self->frame_timer_running_ = false;
          if (self->closed_) return;
          // Time in which the connection was not allowed to read is not the client's.
          const bool same_frame = self->next_slot_ == waiting_for_slot && self->frames_.in_the_middle();
          if (same_frame && self->may_read()) return self->close("a request was not complete after the frame timeout");
          self->watch_half_read_frame();
        });
      });
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
      if (!busy && last + self->settings_.idle_timeout <= now) return self->close("idle");
      self->start_idle_timer(std::max(now + Milliseconds(1),
                                      busy ? now + self->settings_.idle_timeout : last + self->settings_.idle_timeout));
    });
  });
}

void Connection::ignore_further_input() {
  input_ended_ = true;
  stream_->want_readable(false);
}

// The client will send no more. What it has asked for is still answered: it may only have closed its sending half.
void Connection::end_input() {
  ignore_further_input();
  finish_and_close();
}

// ---- output, in the strand

void Connection::respond(uint64_t slot, Response response) {
  output_strand_.run([self = shared_from_this(), slot, response = std::move(response)]() mutable {
    if (self->output_closed_) {
      self->in_flight_.fetch_sub(1, std::memory_order_acq_rel);
      return;
    }
    self->responses_.finish(slot, std::move(response));
    self->send_inside();
  });
}

void Connection::send_inside() {
  while (!close_reason_) {
    auto next = responses_.take_next();
    if (!next) break;
    close_reason_ = std::move(next->close_reason);
    output_.push(std::move(*next));
    ++unsent_answers_;
  }
  const IoResult sent = output_.drain_into(*stream_);
  if (sent.kind == IoResult::Kind::failed) return close_inside("");
  const bool blocked = sent.kind == IoResult::Kind::would_block;
  output_blocked_.store(blocked, std::memory_order_relaxed);
  if (blocked) return stream_->want_writable();
  if (close_reason_) return close_inside(*close_reason_);

  const size_t answered = std::exchange(unsent_answers_, 0);
  const size_t in_flight = in_flight_.fetch_sub(answered) - answered;
  if (in_flight == 0 && close_when_answered_.load(std::memory_order_acquire)) return close_inside("");
  if (in_flight < settings_.max_in_flight && too_many_in_flight_.exchange(false)) {
    stream_->run_on_loop([self = shared_from_this()] { self->resume_reading(); });
  }
}

void Connection::on_writable() {
  const auto keep_alive = shared_from_this();  // see Strand::run: the event must not hold the last reference
  // The client takes bytes, if slowly: it is not idle.
  last_activity_ns_.store(environment_.clock.now().time_since_epoch().count(), std::memory_order_relaxed);
  output_strand_.run([self = shared_from_this()] {
    if (!self->output_closed_) self->send_inside();
  });
}

void Connection::finish_and_close() {
  stream_->run_on_loop([self = shared_from_this()] {
    if (!self->closed_) self->ignore_further_input();
  });
  close_when_answered_.store(true, std::memory_order_release);
  gone_.cancel();  // parked fetches are answered now instead of later
  on_writable();   // closes at once if nothing is in flight
}

void Connection::close(std::string reason) {
  output_strand_.run([self = shared_from_this(), reason = std::move(reason)] { self->close_inside(reason); });
}

void Connection::close_inside(const std::string& reason) {
  if (output_closed_) return;
  output_closed_ = true;  // nobody writes any more, so the loop may close the stream
  output_.clear();
  if (!reason.empty()) log_info("network", "closed the connection from {}: {}", peer().to_string(), reason);
  stream_->run_on_loop([self = shared_from_this()] {
    if (std::exchange(self->closed_, true)) return;
    self->environment_.scheduler.cancel_timer(self->idle_timer_);
    if (self->waiting_for_memory_) self->environment_.memory.cancel(self->memory_waiter_);
    if (self->frame_timer_running_) self->environment_.scheduler.cancel_timer(self->frame_timer_);
    self->stream_->close();
    self->gone_.cancel();
    self->environment_.closed();
  });
}

void Connection::mute_until(MonotonicTime deadline) {
  stream_->run_on_loop([self = shared_from_this(), deadline] {
    if (self->closed_) return;
    self->muted_ = true;
    self->stream_->want_readable(false);
    self->environment_.scheduler.start_timer(deadline, [weak = self->weak_from_this()] {
      const auto muted = weak.lock();
      if (!muted) return;
      muted->stream_->run_on_loop([muted] {
        muted->muted_ = false;
        muted->resume_reading();
      });
    });
  });
}

}  // namespace naru
