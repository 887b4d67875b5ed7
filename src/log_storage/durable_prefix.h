// How far a log is durable when its parts become so in two ways: a core without I/O.
//
// A sync of the log's own files covers everything that was appended before it. The commit journal covers single
// batches, and may be done with a later one before the files are with an earlier one:
//
//     offsets     0 ......... 100 ......... 900 ... 910
//                 synced      large batch,   in the
//                             being synced   journal      -> end() is 100; with the sync it becomes 910
//
// Thread: the log's strand.
#pragma once

#include <vector>

#include "foundation/ids.h"

namespace naru {

class DurablePrefix {
 public:
  explicit DurablePrefix(Offset end) : synced_end_(end), end_(end) {}

  // Everything below survives a power cut.
  Offset end() const { return end_; }
  // The part of it that the log's own files hold.
  Offset synced_end() const { return synced_end_; }

  // The files hold everything below `end`.
  void synced(Offset end);
  // The journal holds [base, end).
  void journaled(Offset base, Offset end);
  // Nothing at or behind `end` is part of the log any more.
  void truncated(Offset end);

 private:
  struct Range {
    Offset base;
    Offset end;
  };
  void advance(Offset end);

  Offset synced_end_;
  Offset end_;
  std::vector<Range> ahead_;  // journaled behind a gap; ascending, without overlap
};

}  // namespace naru
