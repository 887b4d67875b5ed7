// A TCP connection on one event loop. See Stream for who may call what from where.
#pragma once

#include <memory>

#include "platform/real/unique_descriptor.h"
#include "platform/transport.h"

namespace naru {

class EventLoop;

class TcpStream final : public Stream {
 public:
  // On the loop's thread, with a connected non-blocking socket.
  static Result<std::unique_ptr<Stream>> create(EventLoop& loop, UniqueDescriptor socket, Endpoint peer,
                                                uint64_t number = 0);
  // Closes the connection; from another thread a little later.
  ~TcpStream() override;

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

 private:
  class Core;

  TcpStream(std::shared_ptr<Core> core, Endpoint local, Endpoint peer, uint64_t number);

  const std::shared_ptr<Core> core_;  // shared with what other threads have posted to the loop
  const Endpoint local_;
  const Endpoint peer_;
};

}  // namespace naru
