// Reads a file in pieces that usually lie close behind each other, through one small buffer.
#pragma once

#include <cstdint>
#include <memory>

#include "foundation/bytes.h"
#include "foundation/status.h"
#include "platform/file_system.h"

namespace naru {

class WindowReader {
 public:
  // `window_bytes` is the most that one read() can return. Bytes at and behind `limit` are treated as not there.
  WindowReader(std::shared_ptr<const File> file, uint64_t limit, size_t window_bytes);

  // Exactly `count` bytes at `position`; fewer only where the file or the limit ends. Valid until the next call.
  Result<BytesView> read(uint64_t position, size_t count);

  const File& file() const { return *file_; }
  uint64_t limit() const { return limit_; }
  size_t window_bytes() const { return window_bytes_; }

 private:
  std::shared_ptr<const File> file_;
  uint64_t limit_;
  size_t window_bytes_;
  Bytes window_;
  uint64_t window_position_ = 0;
};

}  // namespace naru
