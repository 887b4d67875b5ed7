#include "command_line/line_splitter.h"

#include <algorithm>

namespace naru::command_line {

void LineSplitter::add(std::string_view bytes) {
  buffer_.erase(0, begin_);
  scanned_ -= std::min(scanned_, begin_);
  begin_ = 0;
  buffer_ += bytes;
}

Result<std::optional<std::string_view>> LineSplitter::next() {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  const size_t newline = buffer_.find('\n', std::max(begin_, scanned_));
  const size_t length = newline == std::string::npos ? rest.size() : newline - begin_;
  if (length > line_bytes_max_)
    return failure(ErrorCode::message_too_large, "line {} is longer than {} bytes", lines_ + 1, line_bytes_max_);
  if (newline == std::string::npos && (!ended_ || rest.empty())) {
    scanned_ = buffer_.size();
    return std::nullopt;
  }
  ++lines_;
  begin_ += newline == std::string::npos ? length : length + 1;
  return rest.substr(0, length);
}

}  // namespace naru::command_line
