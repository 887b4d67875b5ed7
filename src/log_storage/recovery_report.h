// What opening a log found and did.
#pragma once

#include <cstdint>
#include <string>

#include "foundation/ids.h"

namespace naru {

struct RecoveryReport {
  Offset start_offset;
  Offset end_offset;
  // The promise found in the checkpoint; kNoOffset when the checkpoint was missing or damaged.
  Offset promised_end = kNoOffset;
  uint64_t scanned_bytes = 0;
  // The torn tail: written, never promised, and gone.
  uint64_t dropped_bytes = 0;
  uint32_t dropped_segments = 0;
  uint32_t damaged_indexes = 0;  // of segments whose indexes were built anew although no crash explains it
  bool epochs_rebuilt = false;
  bool checkpoint_rebuilt = false;
  uint64_t replayed_batches = 0;  // that the log's own files had lost, and a commit journal held
  std::string why_cut;            // names file, position and offset of the first batch that was dropped

  // Something besides the normal was found; to_string() says what.
  bool remarkable() const {
    return dropped_bytes != 0 || dropped_segments != 0 || damaged_indexes != 0 || epochs_rebuilt || checkpoint_rebuilt;
  }
  std::string to_string() const;
};

}  // namespace naru
