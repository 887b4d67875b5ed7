// Cuts a stream of bytes into lines. No I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "foundation/status.h"

namespace naru::command_line {

class LineSplitter {
 public:
  explicit LineSplitter(size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

  void add(std::string_view bytes);
  // No more bytes will come: what is left is a line, if it is not empty.
  void end() { ended_ = true; }

  // The next line without its newline; valid until the next call of anything. Nothing: more bytes are needed, or the
  // end was reached. message_too_large with the number of the line.
  Result<std::optional<std::string_view>> next();

  uint64_t lines() const { return lines_; }

 private:
  const size_t line_bytes_max_;
  std::string buffer_;
  size_t begin_ = 0;    // of what has not been given out
  size_t scanned_ = 0;  // up to here there is no newline behind begin_
  uint64_t lines_ = 0;
  bool ended_ = false;
};

}  // namespace naru::command_line
