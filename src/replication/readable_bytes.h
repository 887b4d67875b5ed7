// How many bytes of a log have become readable, for those who wait for more: a core without I/O.
//
// Three counters that only grow: appended (what followers may fetch), committed (what consumers may read) and stable
// (what consumers of committed transactions may read). They count since the partition was opened, through all its
// roles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "foundation/ids.h"

namespace naru {

// Thread: the partition's strand.
class ReadableBytes {
 public:
  // While a transaction is open for long, what is committed behind its begin is noted in no more pieces than that; the
  // bytes are spread evenly over the offsets of a piece.
  static constexpr size_t kMaxPieces = 1024;

  uint64_t appended() const { return appended_; }
  uint64_t committed() const { return committed_; }
  uint64_t stable() const { return stable_; }

  void append(Offset begin, Offset end, uint64_t bytes) {
    appended_ += bytes;
    uncommitted_.push_back({begin, end, bytes});
  }
  // `stable` is the last stable offset, at most the high watermark.
  void commit(Offset high_watermark, Offset stable) {
    auto batch = uncommitted_.begin();
    for (; batch != uncommitted_.end() && batch->end <= high_watermark; ++batch) {
      committed_ += batch->bytes;
      if (unstable_.empty() && batch->end <= stable) {
        stable_ += batch->bytes;
      } else {
        add_unstable(*batch);
      }
    }
    uncommitted_.erase(uncommitted_.begin(), batch);
    stabilize(stable);
  }
  void truncate(Offset end) {
    while (!uncommitted_.empty() && uncommitted_.back().end > end) uncommitted_.pop_back();
    // What was committed is cut only after an unclean election.
    while (!unstable_.empty() && unstable_.back().end > end) unstable_.pop_back();
  }

 private:
  struct Batch {
    Offset begin;
    Offset end;
    uint64_t bytes;
  };
  void add_unstable(const Batch& batch) {
    unstable_.push_back(batch);
    if (unstable_.size() <= kMaxPieces) return;
    size_t kept = 0;
    for (size_t i = 0; i < unstable_.size(); i += 2) {
      Batch piece = unstable_[i];
      if (i + 1 < unstable_.size()) {
        piece.end = unstable_[i + 1].end;
        piece.bytes += unstable_[i + 1].bytes;
      }
      unstable_[kept++] = piece;
    }
    unstable_.resize(kept);
  }
  void stabilize(Offset stable) {
    auto piece = unstable_.begin();
    for (; piece != unstable_.end() && piece->end <= stable; ++piece) stable_ += piece->bytes;
    unstable_.erase(unstable_.begin(), piece);
    if (unstable_.empty() || stable <= unstable_.front().begin) return;
    Batch& cut = unstable_.front();
    const auto share = static_cast<double>(stable - cut.begin) / static_cast<double>(cut.end - cut.begin);
    const auto taken = std::min(cut.bytes, static_cast<uint64_t>(share * static_cast<double>(cut.bytes)));
    stable_ += taken;
    cut.bytes -= taken;
    cut.begin = stable;
  }

  uint64_t appended_ = 0;
  uint64_t committed_ = 0;
  uint64_t stable_ = 0;
  std::vector<Batch> uncommitted_;  // ascending, and so is the next
  std::vector<Batch> unstable_;     // committed
};

}  // namespace naru
