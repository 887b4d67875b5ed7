// The snapshots of producer state in a log's folder: <20-digit offset>.producer-snapshot, a few of them.
//
// A snapshot is only ever a shortcut: without one, the state is read from the log. So a failure to write one harms
// nobody, and a damaged one is removed. What must never happen is that one survives the batches it was made of: those
// above the end of a recovered or truncated log are removed, durably, before anything is appended.
#pragma once

#include <string>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "log_storage/producer_state.h"
#include "platform/file_system.h"

namespace naru {

// A snapshot on its way to the disk: made on the strand, written on a worker, handed back to the strand.
struct ProducerSnapshotWork {
  FileSystem* file_system = nullptr;
  std::string folder;
  Offset offset;
  Bytes content;
  uint64_t producer_changes = 0;  // LogProducers' count of what it covers
  Status written = Status(ErrorCode::cancelled);

  // Writes and syncs it under a name that means nothing. Blocks.
  void write_aside();
};

// Thread: the partition's strand.
class ProducerSnapshotFiles {
 public:
  static constexpr size_t kKept = 3;  // the newest, and some to fall back on when it is damaged or truncated away

  // `offsets` of the files that are there, in any order.
  ProducerSnapshotFiles(FileSystem& file_system, std::string folder, std::vector<Offset> offsets);

  Offset newest() const { return offsets_.empty() ? kNoOffset : offsets_.back(); }
  const std::vector<Offset>& offsets() const { return offsets_; }

  // Removes those above `end` from the disk for good. Blocks.
  Status remove_above(Offset end);
  // Makes the names of those that are there durable. Blocks.
  Status sync_names() { return file_system_.sync_directory(folder_); }

  struct Loaded {
    ProducerState state;
    Offset offset = kNoOffset;  // kNoOffset: there is none that helps, and the state is empty
  };
  // The newest one that is whole and lies in [begin, end]; a damaged one is removed. Blocks.
  Result<Loaded> load(Offset begin, Offset end, const ProducerLimits& limits, RunningTimeMs now);

  // Gives what was written aside its name, and removes the oldest. Does not sync the folder: if the name is lost, an
  // older one is used.
  Status adopt(Offset offset);
  // Or removes it, if it is there.
  void discard(Offset offset);

 private:
  std::string path(Offset offset) const;
  std::string path_aside(Offset offset) const;
  Status remove(Offset offset);
  Status remove_oldest();

  FileSystem& file_system_;
  std::string folder_;
  std::vector<Offset> offsets_;  // ascending
};

}  // namespace naru
