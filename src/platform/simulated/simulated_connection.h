// One simulated connection: two ends, and for each the bytes on their way to it and those that have arrived.
#pragma once

#include <array>
#include <memory>

#include "platform/simulated/byte_fifo.h"
#include "platform/simulated/simulated_network.h"

namespace naru {

class SimulatedStream;

// Kept alive by its two streams and by the events that move its bytes.
class SimulatedConnection : public std::enable_shared_from_this<SimulatedConnection> {
 public:
  SimulatedConnection(SimulatedNetwork& network, const NetworkPeer& client, const NetworkPeer& server);

  void attach(int side, SimulatedStream* stream) { ends_[side].stream = stream; }

  IoResult read(int side, MutableBytesView to);
  IoResult write(int side, std::span<const BytesView> parts);
  size_t room_to_write(int side) const;
  bool has_failed(int side) const { return ends_[side].failed; }
  void start(int side);
  void want_readable(int side, bool wanted);
  void want_writable(int side);
  void half_close(int side);
  void close(int side);

  void cut();
  // The process behind `side` is dead: its stream fails from now on, and nothing is sent but what was on its way.
  void abandon(int side, bool silently);
  // Moves on what a blocked link has held back.
  void resume();

  const std::string& host(int side) const { return ends_[side].host; }
  SimulatedEventQueue::Owner owner(int side) const { return ends_[side].owner; }

 private:
  struct End {
    std::string host;
    SimulatedEventQueue::Owner owner = 0;
    SimulatedStream* stream = nullptr;  // null once closed
    bool started = false;
    bool wants_readable = true;
    bool wants_writable = false;
    bool readable_event_waits = false;
    bool writable_event_waits = false;
    bool gone = false;  // closed, or its process died: bytes that arrive are answered by a reset

    ByteFifo travelling;
    ByteFifo arrived;
    bool delivery_waits = false;
    bool end_travelling = false;  // behind the bytes
    bool end_arrived = false;
    bool failed = false;
    size_t sent_into_the_void = 0;  // after the cut, before this end noticed it
  };

  void schedule_delivery(int to);
  void deliver(int to);
  void take_arriving_bytes(End& end);
  void send_reset(int to);
  void fail(int side);
  void lose_suffix(ByteFifo& bytes);
  bool is_readable(const End& end) const;
  void notify_readable(int side);
  void notify_writable(int side);
  void after(Duration delay, UniqueFunction<void()> work);

  SimulatedNetwork& network_;
  std::array<End, 2> ends_;
  bool broken_ = false;
};

class SimulatedStream final : public Stream {
 public:
  SimulatedStream(std::shared_ptr<SimulatedConnection> connection, int side, SimulatedScheduler& scheduler,
                  Endpoint local, Endpoint peer, uint64_t number = 0);
  ~SimulatedStream() override;

  IoResult read_some(MutableBytesView to) override;
  IoResult write_some(std::span<const BytesView> parts, bool more_follows) override;
  IoResult send_file(const File& file, uint64_t position, size_t length) override;
  void start(StreamObserver* observer) override;
  void want_readable(bool wanted) override;
  void want_writable() override;
  void close() override;
  void run_on_loop(UniqueFunction<void()> work) override;
  const Endpoint& peer() const override { return peer_; }
  const Endpoint& local() const override { return local_; }

  void half_close() { connection_->half_close(side_); }
  StreamObserver* observer() const { return observer_; }

 private:
  const std::shared_ptr<SimulatedConnection> connection_;
  const int side_;
  SimulatedScheduler& scheduler_;
  const Endpoint local_;
  const Endpoint peer_;
  StreamObserver* observer_ = nullptr;
  bool closed_ = false;
};

}  // namespace naru
