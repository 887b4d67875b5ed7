// The file "tombstone-horizon" of a compacted log: below which offset delete markers may be missing.
//
// Compaction drops delete markers, and the markers of transactions without records, when delete.retention.ms is over. A
// replica whose log ends before one of them may hold an older record of its key (or of its transaction), and would
// never learn that it is deleted: so it must not continue from such a log, but begins anew.
//
// Lines: format version 0; the offset; how often markers were dropped. It is durable before markers go, so a value may
// be too high after a crash, never too low.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "foundation/ids.h"
#include "foundation/status.h"
#include "platform/file_system.h"

namespace naru {

struct TombstoneHorizon {
  Offset offset{0};   // every marker that is missing lies below
  int64_t drops = 0;  // rises whenever markers are dropped: a copy that was begun with this value is whole with it
  bool operator==(const TombstoneHorizon&) const = default;

  // Markers below `end` go.
  TombstoneHorizon after_drop(Offset end) const;
};

// What is known of a log's horizon when it is opened.
struct StoredTombstoneHorizon {
  enum class Kind : uint8_t { none, damaged, stored };
  Kind kind = Kind::none;
  TombstoneHorizon value;
};

// unsupported_format when a newer Naru wrote it.
Result<StoredTombstoneHorizon> read_tombstone_horizon(FileSystem& file_system, const std::string& folder);
// Blocks on syncs.
Status write_tombstone_horizon(FileSystem& file_system, const std::string& folder, const TombstoneHorizon& horizon);

}  // namespace naru
