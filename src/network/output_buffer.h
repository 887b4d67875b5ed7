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
  void clear() {
    chunks_.clear();
    sent_of_first_ = 0;
  }

  // Moves what the stream takes now: several small chunks in one call, a file range by send_file. would_block or failed
  // when the stream stops taking, progress with 0 bytes when nothing is left.
  IoResult drain_into(Stream& stream);

 private:
  IoResult send_some(Stream& stream);
  void advance(size_t bytes);

  std::deque<OutputChunk> chunks_;
  uint64_t sent_of_first_ = 0;
};

}  // namespace naru
