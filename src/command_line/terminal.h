// The seam to the person or the script at the other end: standard input, output and error.
#pragma once

#include <cstdint>
#include <string_view>

#include "foundation/bytes.h"
#include "foundation/status.h"

namespace naru::command_line {

// Thread-safe, except that each stream is used by one thread at a time.
class Terminal {
 public:
  virtual ~Terminal() = default;

  // Blocks until everything is taken: on a worker if it may be much. An error means that nobody reads any more.
  virtual Status write_output(std::string_view text) = 0;
  virtual void write_error(std::string_view text) = 0;
  // Whether whoever read our output has gone. Without waiting.
  virtual bool output_is_closed() = 0;

  // Blocks: on a worker. 0 at the end, and from interrupt_input() on.
  virtual Result<size_t> read_input(MutableBytesView to) = 0;
  virtual void interrupt_input() = 0;

  enum class Channel : uint8_t { input, output, error };
  // Whether a person sits there, as opposed to a file or a pipe.
  virtual bool is_interactive(Channel channel) const = 0;
};

}  // namespace naru::command_line
