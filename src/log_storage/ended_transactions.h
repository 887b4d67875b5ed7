// Transactions whose marker is in the log but may not be committed yet: their records are held back as if they were
// open, because another leader may not have the marker. A core without I/O.
#pragma once

#include <cstddef>
#include <deque>

#include "foundation/ids.h"

namespace naru {

// A value. Thread: the partition's strand.
class EndedTransactions {
 public:
  // Beyond it, the two oldest become one that ends with the later of them: readers wait a little longer.
  static constexpr size_t kMax = 4096;

  struct Entry {
    Offset first_offset;
    Offset marker_offset;
    bool operator==(const Entry&) const = default;
  };

  // In the order of their markers.
  void add(const Entry& entry);
  void committed(Offset high_watermark);

  // The first offset of those with a marker at or above the high watermark; kNoOffset: there is none.
  Offset first_unstable(Offset high_watermark) const;
  const std::deque<Entry>& entries() const { return entries_; }

 private:
  // Both offsets ascend: one that begins no later than those before it stands for them, too.
  std::deque<Entry> entries_;
};

}  // namespace naru
