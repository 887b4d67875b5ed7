// Chunks on their way into a stream: remembers how far the first one has gone. No I/O of its own.
#pragma once

#include <deque>

#include "network/response.h"
#include "platform/transport.h"

namespace naru {

class OutputBuffer {
 public:
  void push(Response response);
  bool empty() const { return chunks_.empty(); }
  void clear();

  // Bytes of ours that wait here; a chunk counts until the last byte of it is sent.
  uint64_t memory() const { return memory_; }
  // Files that are kept open, likewise.
  size_t files() const { return files_; }

  // Moves what the stream takes now, up to about `most` bytes: several small chunks in one call, a file range by
  // send_file. would_block or failed when the stream stops taking; progress when nothing is left, or when `most` is
  // reached: empty() tells.
  IoResult drain_into(Stream& stream, uint64_t most = UINT64_MAX);

 private:
  IoResult send_some(Stream& stream);
  void advance(size_t bytes);

  std::deque<OutputChunk> chunks_;
  uint64_t sent_of_first_ = 0;
  uint64_t memory_ = 0;
  size_t files_ = 0;
};

}  // namespace naru
