// The output half of Connection: everything here happens in the output strand, or goes there.
#include <utility>

#include "async/ready_queue.h"
#include "foundation/log.h"
#include "foundation/request_canary.h"
#include "network/connection.h"
#include "observability/metrics_registry.h"

namespace naru {
namespace {

// What is sent in one go before the loop looks after the other connections.
constexpr uint64_t kBytesPerDrain = 1 << 20;
// Bytes of ours that may wait for the client before its next requests have to.
constexpr uint64_t kUnsentBytesMax = 512 * 1024;

}  // namespace

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
    close_as_ = next->close_as;
    unsent_answers_.push_back(next->send_time);
    output_.push(std::move(*next));
  }
  const IoResult sent = output_.drain_into(*stream_, kBytesPerDrain);
  if (sent.kind == IoResult::Kind::failed) return close_inside(ConnectionEnd::client, "");
  output_blocked_.store(sent.kind == IoResult::Kind::would_block, std::memory_order_relaxed);
  if (!account_for_output()) {
    return close_inside(ConnectionEnd::unread_answers,
                        "its answers wait unread, and the memory for such answers is used up");
  }
  if (!output_.empty()) return stream_->want_writable();
  if (close_reason_) return close_inside(close_as_, *close_reason_);
  all_is_sent();
}

void Connection::all_is_sent() {
  const size_t answered = unsent_answers_.size();
  if (answered > 0) {
    const MonotonicTime now = environment_.clock.now();
    for (const SendTime& time : unsent_answers_) {
      if (time.histogram != nullptr) time.histogram->record(now - time.finished);
    }
    unsent_answers_.clear();
  }
  const size_t in_flight = in_flight_.fetch_sub(answered) - answered;
  if (in_flight == 0 && close_when_answered_.load(std::memory_order_acquire)) {
    return close_inside(end_when_answered_.load(std::memory_order_relaxed), "");
  }
  if (in_flight < settings_.max_in_flight && too_many_in_flight_.exchange(false)) go_on_reading();
}

// Not inside the strand: the next requests are not the business of this one's output.
void Connection::go_on_reading() {
  run_when_ready([self = shared_from_this()] { self->stream_->run_on_loop([self] { self->take_turn(); }); });
}

// Bytes of ours that wait for the client are paid for; file ranges cost no memory, but each keeps a file open. Beyond a
// limit of either, the client's next requests wait until it has read what is there. False: there is no memory left for
// clients that do not read.
bool Connection::account_for_output() {
  const uint64_t bytes = responses_.memory() + output_.memory();
  if (bytes > output_memory_.bytes()) {
    auto more = environment_.memory.charge(MemoryAccount::responses, bytes - output_memory_.bytes());
    if (!more) return false;
    output_memory_.merge(std::move(*more));
  } else {
    output_memory_.shrink_to(bytes);
  }
  const bool too_many_files = responses_.files() + output_.files() >= settings_.max_unsent_files &&
                              !is_planted(RequestCanary::unlimited_pinned_files);
  if (bytes > kUnsentBytesMax || too_many_files) {
    too_much_unsent_.store(true, std::memory_order_release);
  } else if (too_much_unsent_.load(std::memory_order_relaxed)) {
    too_much_unsent_.store(false, std::memory_order_release);
    go_on_reading();
  }
  return true;
}

void Connection::on_writable() {
  const auto keep_alive = shared_from_this();  // see Strand::run: the event must not hold the last reference
  // The client takes bytes, if slowly: it is not idle.
  last_activity_ns_.store(environment_.clock.now().time_since_epoch().count(), std::memory_order_relaxed);
  output_strand_.run([self = shared_from_this()] {
    if (!self->output_closed_) self->send_inside();
  });
}

void Connection::finish_and_close(ConnectionEnd why) {
  end_when_answered_.store(why, std::memory_order_relaxed);
  stream_->run_on_loop([self = shared_from_this()] {
    if (!self->closed_) self->ignore_further_input();
  });
  close_when_answered_.store(true, std::memory_order_release);
  gone_.cancel();  // parked fetches are answered now instead of later
  on_writable();   // closes at once if nothing is in flight
}

void Connection::close(ConnectionEnd why, std::string sentence) {
  output_strand_.run(
      [self = shared_from_this(), why, sentence = std::move(sentence)] { self->close_inside(why, sentence); });
}

void Connection::close_inside(ConnectionEnd why, const std::string& sentence) {
  if (output_closed_) return;
  output_closed_ = true;  // nobody writes any more, so the loop may close the stream
  output_.clear();
  responses_ = ResponseQueue();
  output_memory_.release();
  environment_.metrics.ended(why);
  if (!sentence.empty() && environment_.lines.line_allowed(environment_.clock.now())) {
    log_info("network", "closed the connection from {}: {}", peer().to_string(), sentence);
  }
  stream_->run_on_loop([self = shared_from_this()] { self->close_on_loop(); });
}

void Connection::close_on_loop() {
  if (std::exchange(closed_, true)) return;
  environment_.scheduler.cancel_timer(idle_timer_);
  if (waiting_for_memory_) environment_.memory.cancel(memory_waiter_);
  if (frame_timer_running_) environment_.scheduler.cancel_timer(frame_timer_);
  paid_.release();
  unpaid_frame_.reset();
  stream_->close();
  gone_.cancel();
  cut_off_.cancel();
  attachment_.reset();
  environment_.closed();
}

}  // namespace naru
