// One client connection: frames in, responses out in the order of the requests.
//
// Reading happens on the stream's loop, in turns: so many requests and bytes, then the other connections. Responses
// come from any thread: the thread that has one enters the output strand and sends it itself; only a full socket goes
// back to the loop. Requests beyond the in-flight limit, or beyond the memory budget, or while the client does not read
// its answers, stay in the socket: the connection stops reading until it may go on, and TCP slows the client down.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/cancellation.h"
#include "async/strand.h"
#include "foundation/shared_bytes.h"
#include "network/connection_metrics.h"
#include "network/door.h"
#include "network/frame_reader.h"
#include "network/output_buffer.h"
#include "network/response_queue.h"
#include "observability/log_rate.h"
#include "observability/memory_budget.h"
#include "platform/seams.h"

namespace naru {

// What the layers above keep with a connection. Goes when the connection is closed, on its loop.
class ConnectionAttachment {
 public:
  virtual ~ConnectionAttachment() = default;
};

class Connection final : public StreamObserver, public std::enable_shared_from_this<Connection> {
 public:
  struct Environment {
    Clock& clock;
    Scheduler& scheduler;
    MemoryBudget& memory;
    MemoryBudget& small_requests;  // for those that would have to wait for `memory`
    ConnectionMetrics& metrics;
    LogRate& lines;                 // about closed connections
    UniqueFunction<void()> closed;  // called once, on the loop, when the stream is closed
    uint64_t number = 0;            // rises from connection to connection
  };

  Connection(std::unique_ptr<Stream> stream, CallerPtr caller, Door& door, Environment environment);
  ~Connection() override;

  void start();  // on the stream's loop
  // Any thread. Nothing happens if it was closed meanwhile.
  void start_on_its_loop();

  // Any thread. Exactly once per request; a Response without chunks keeps the order and sends nothing.
  void respond(uint64_t slot, Response response);
  // Any thread; the first reason counts. Logged as one line unless the sentence is empty.
  void close(ConnectionEnd why, std::string sentence);
  // Any thread. Reads no more; closes, for the given reason, when everything in flight is answered.
  void finish_and_close(ConnectionEnd why);
  // Any thread: no request is read before `deadline` (answer, then mute: throttling).
  void mute_until(MonotonicTime deadline);

  // From 1 on, in the order in which the broker's connections were accepted.
  uint64_t number() const { return environment_.number; }
  const Endpoint& peer() const { return stream_->peer(); }
  const Endpoint& local() const { return stream_->local(); }
  // Cancelled when nobody waits for more than what there is: when nobody will read a response any more, and already
  // when the connection is only going to be closed.
  CancelToken gone() const { return gone_.token(); }
  // Cancelled when nobody will read a response any more, and not earlier.
  CancelToken cut_off() const { return cut_off_.token(); }
  // Any thread.
  const PinnedFiles& pinned_files() const { return pinned_files_; }

  // Loop thread: what follows on this connection cannot be understood any more.
  void ignore_further_input();
  // Loop thread. For requests from the next one on; those under way keep the caller that they came with.
  void set_caller(CallerPtr caller) { caller_ = std::move(caller); }
  // Loop thread. At most one; a new one takes the place of the old.
  void attach(std::shared_ptr<ConnectionAttachment> attachment) { attachment_ = std::move(attachment); }
  const std::shared_ptr<ConnectionAttachment>& attachment() const { return attachment_; }

  // Hands out no request until release_requests(): for a handler that leaves the loop before its place in the order of
  // requests is settled. hold on the loop thread, release on any; in pairs.
  void hold_requests();
  void release_requests();

 private:
  void on_readable() override;
  void on_writable() override;

  // Loop thread.
  void take_turn();
  void read_and_hand_out();
  bool hand_out_frames();
  bool take_next_frame();
  void hand_out(SharedBytes frame);
  bool pay_for(size_t bytes);
  bool pay_for_more(size_t bytes);
  bool may_read() const;
  void continue_in_next_turn();
  void watch_half_read_frame();
  void start_frame_timer();
  void look_at_half_read_frame();
  void start_idle_timer(MonotonicTime deadline);
  void end_input();

  // Output strand.
  void send_inside();
  void all_is_sent();
  void go_on_reading();
  bool account_for_output();
  void close_inside(ConnectionEnd why, const std::string& sentence);
  void close_on_loop();

  std::unique_ptr<Stream> stream_;
  Door& door_;
  const ConnectionSettings settings_;
  Environment environment_;
  CancelSource gone_;
  CancelSource cut_off_;
  const PinnedFiles pinned_files_ = std::make_shared<std::atomic<size_t>>(0);

  // Loop thread only.
  CallerPtr caller_;
  FrameReader frames_;
  std::optional<SharedBytes> unpaid_frame_;  // whole, and waiting for memory
  uint64_t next_slot_ = 0;
  MemoryLease paid_;  // for the frame that comes next
  MonotonicTime last_read_;
  MonotonicTime readable_since_;  // since when it reads without a pause
  size_t requests_left_ = 0;      // of this turn
  bool in_turn_ = false;
  bool continuing_ = false;  // the next turn is posted
  bool wants_readable_ = true;
  bool waiting_for_memory_ = false;
  MemoryBudget::WaiterId memory_waiter_ = 0;
  int holds_ = 0;
  bool input_ended_ = false;
  bool muted_ = false;
  bool closed_ = false;
  Scheduler::TimerId idle_timer_ = 0;
  Scheduler::TimerId frame_timer_ = 0;
  bool frame_timer_running_ = false;
  // Of the half-read frame that the timer looks at.
  uint64_t watched_slot_ = 0;
  MonotonicTime frame_begun_;
  size_t frame_bytes_seen_ = 0;
  std::shared_ptr<ConnectionAttachment> attachment_;

  // Any thread. Whoever clears one of the flags that keep the connection from reading posts a turn.
  std::atomic<size_t> in_flight_{0};
  std::atomic<bool> too_many_in_flight_{false};
  std::atomic<bool> too_much_unsent_{false};
  std::atomic<bool> close_when_answered_{false};
  std::atomic<ConnectionEnd> end_when_answered_{ConnectionEnd::client};
  std::atomic<int64_t> last_activity_ns_{0};
  std::atomic<bool> output_blocked_{false};

  // Output strand only.
  ResponseQueue responses_;
  OutputBuffer output_;
  MemoryLease output_memory_;                // for what waits in the two
  std::vector<SendTime> unsent_answers_;     // count as in flight until the client takes them
  std::optional<std::string> close_reason_;  // of a response that was the last one
  ConnectionEnd close_as_ = ConnectionEnd::refused_request;
  bool output_closed_ = false;
  Strand output_strand_;
};

}  // namespace naru
