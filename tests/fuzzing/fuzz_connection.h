// A connection of the fuzzer: sends whatever bytes, keeps the frames that come until somebody takes them.
#pragma once

#include <memory>
#include <vector>

#include "async/task.h"
#include "foundation/shared_bytes.h"
#include "network/frame_reader.h"
#include "network/output_buffer.h"
#include "platform/seams.h"

namespace naru::fuzzing {

// One thread. Frames are decoded by whoever takes them, outside of the event that brought them, so that the time of an
// event is the broker's.
class FuzzConnection final : public StreamObserver, public std::enable_shared_from_this<FuzzConnection> {
 public:
  static Task<Result<std::shared_ptr<FuzzConnection>>> connect(Seams seams, Endpoint address);
  explicit FuzzConnection(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}
  ~FuzzConnection() override;

  void send(Bytes bytes);
  void stop_reading() { stream_->want_readable(false); }
  void close();

  bool is_closed() const { return closed_; }
  // Bytes that the broker has not taken yet.
  uint64_t unsent() const { return output_.memory(); }
  std::vector<SharedBytes> take_frames() { return std::exchange(frames_, {}); }

 private:
  void on_readable() override;
  void on_writable() override;
  void flush();

  std::unique_ptr<Stream> stream_;
  FrameReader reader_{100 << 20};
  OutputBuffer output_;
  std::vector<SharedBytes> frames_;
  bool closed_ = false;
};

}  // namespace naru::fuzzing
