// Goes over the batches of a segment file, one behind the other.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "foundation/function.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "log_storage/window_reader.h"
#include "record_format/record_batch.h"

namespace naru {

// Where the batches of a file end.
struct BatchesEnd {
  uint64_t position = 0;
  Offset offset{std::numeric_limits<int64_t>::max()};  // as far as it is known
};

// Looks at headers only. Every batch has to lie within the end and to begin at the offset where the one before ended;
// otherwise the answer is corrupt_message with file, position and offset.
class BatchWalk {
 public:
  // `expected`: the base offset of the batch at `position`.
  BatchWalk(std::shared_ptr<const File> file, uint64_t position, Offset expected, BatchesEnd end);

  bool at_end() const { return position_ >= end_.position; }
  // Of the next batch.
  uint64_t position() const { return position_; }
  // Its header, without going on: as often as wanted.
  Result<BatchHeader> peek();
  Result<BatchHeader> next();

 private:
  WindowReader reader_;
  uint64_t position_;
  Offset expected_;
  BatchesEnd end_;
};

struct BatchScan {
  uint64_t valid_bytes = 0;
  Offset valid_end;
  LeaderEpoch last_epoch = kNoLeaderEpoch;
  uint64_t file_bytes = 0;
  std::string problem;  // what is wrong with the batch at valid_bytes; empty when there is none

  bool all_valid() const { return problem.empty(); }
};

// Reads the file from its begin and checks each batch completely: header, CRC, offsets without a gap, epochs that do
// not go back. Ends at the first bad batch; "could not read" is an error. `visit` gets header and position of each good
// one. A batch that ends behind `given_up_from` counts as bad.
Result<BatchScan> scan_batches(const std::shared_ptr<const File>& file, Offset base_offset, LeaderEpoch epoch_before,
                               UniqueFunction<void(const BatchHeader&, uint64_t position)> visit,
                               Offset given_up_from = Offset(std::numeric_limits<int64_t>::max()));

}  // namespace naru
