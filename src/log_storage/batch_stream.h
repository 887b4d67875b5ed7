// The batches of a segment file as whole byte ranges, from its begin to its end: for readers who look at all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "platform/file_system.h"
#include "record_format/record_batch.h"

namespace naru {

struct StreamedBatch {
  BatchHeader header;
  BytesView bytes;  // until the next call
};

// Reads ahead through one buffer, which grows with the largest batch. Every batch is checked as in scan_batches():
// corrupt_message with file, position and offset.
class BatchStream {
 public:
  BatchStream(std::shared_ptr<const File> file, Offset base_offset, uint64_t file_bytes);

  // Nothing at the end.
  Result<std::optional<StreamedBatch>> next();
  // Of the next batch: where it begins, and which offset it has to have.
  uint64_t position() const { return position_; }
  Offset expected() const { return expected_; }
  // What is wrong with it, after corrupt_message.
  const std::string& problem() const { return problem_; }

 private:
  // At least `count` bytes from position_ on, unless the file ends before.
  Result<BytesView> peek(size_t count);
  Status damaged(std::string_view reason);

  std::shared_ptr<const File> file_;
  const uint64_t file_bytes_;
  uint64_t position_ = 0;
  Offset expected_;
  Bytes buffer_;
  uint64_t buffer_position_ = 0;
  size_t buffered_ = 0;
  std::string problem_;
};

}  // namespace naru
