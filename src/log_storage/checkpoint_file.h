// The file "checkpoint" of a log: how far it is known to be durable.
//
// Two slots of one sector each, each with a sequence number and a CRC; the newest whole one counts. A write goes to one
// slot, again and again, until a sync has made that slot durable, and then to the other: whatever becomes of writes
// that were never synced, one slot is whole. A value is written only after the sync that makes it true, so an older
// value is still true.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "foundation/ids.h"
#include "foundation/status.h"
#include "platform/file_system.h"

namespace naru {

struct Checkpoint {
  Offset durable_end;
  Offset log_start_offset;
  uint64_t truncations = 0;  // how often the log was truncated: batches from before are void wherever else they are
  bool operator==(const Checkpoint&) const = default;
};

// Thread: the partition's strand.
class CheckpointFile {
 public:
  static constexpr size_t kSlotBytes = 512;
  static constexpr uint16_t kFormatVersion = 1;

  // Opens or creates it. Finishes what writes both slots and was interrupted. unsupported_format when a newer Naru
  // wrote it.
  static Result<CheckpointFile> open(FileSystem& file_system, const std::string& folder);

  // What the newest whole slot says; nothing when the file is new or both slots are damaged.
  const std::optional<Checkpoint>& value() const { return value_; }

  // Without a sync: after a power cut the previous value may be back. Never lowers durable_end.
  Status write(const Checkpoint& value);
  // Even if the newest slot says the same already. Twice, each followed by a sync of file() and synced(), and no older
  // value is left.
  Status write_once_more(const Checkpoint& value);
  Status sync();
  // The same elsewhere: a sync of file() has succeeded that began when sequence() was this.
  void synced(uint64_t sequence);
  uint64_t sequence() const { return sequence_; }
  Status write_and_sync(const Checkpoint& value);
  // Replaces both slots, so that no older value is left, and syncs.
  Status write_both_and_sync(const Checkpoint& value);

  const std::shared_ptr<File>& file() const { return file_; }

 private:
  explicit CheckpointFile(std::shared_ptr<File> file) : file_(std::move(file)) {}

  Status read_slots();
  Status write_slot(const Checkpoint& value);

  std::shared_ptr<File> file_;
  uint64_t sequence_ = 0;  // of the newest slot
  std::optional<Checkpoint> value_;
  size_t open_slot_ = 0;        // where the next write goes
  uint64_t open_sequence_ = 0;  // of the newest write to it; 0: none yet
};

}  // namespace naru
