// How many bytes of a log have become readable, for those who wait for more: a core without I/O.
//
// Two counters that only grow: appended (what followers may fetch) and committed (what consumers may read). They count
// since the partition was opened, through all its roles.
#pragma once

#include <cstdint>
#include <vector>

#include "foundation/ids.h"

namespace naru {

// Thread: the partition's strand.
class ReadableBytes {
 public:
  uint64_t appended() const { return appended_; }
  uint64_t committed() const { return committed_; }

  void append(Offset end, uint64_t bytes) {
    appended_ += bytes;
    uncommitted_.push_back({end, bytes});
  }
  void commit(Offset high_watermark) {
    auto batch = uncommitted_.begin();
    for (; batch != uncommitted_.end() && batch->end <= high_watermark; ++batch) committed_ += batch->bytes;
    uncommitted_.erase(uncommitted_.begin(), batch);
  }
  void truncate(Offset end) {
    while (!uncommitted_.empty() && uncommitted_.back().end > end) uncommitted_.pop_back();
  }

 private:
  struct Batch {
    Offset end;
    uint64_t bytes;
  };
  uint64_t appended_ = 0;
  uint64_t committed_ = 0;
  std::vector<Batch> uncommitted_;  // ascending
};

}  // namespace naru
