// The file "checkpoint" of a log: how far it is known to be durable.
//
// Two slots of one sector each, each with a sequence number and a CRC; the newest whole one counts. A write goes to one
// slot, again and again, until a sync has made that slot durable, and then to the other: whatever becomes of writes
// that were never synced, one slot is whole. A value is written only after the sync that makes it true, so an older
// value is still true.
//
// The file is open only while it is used, although there are writes that were never synced: what is to be durable is
// written once more, and synced through the File that wrote it. Only that one hears of everything that went wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

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

  // Without a sync: after a power cut the previous value may be back. Never lowers durable_end. Does nothing while
  // writes are held.
  Status write(const Checkpoint& value);
  // As long as somebody syncs what must not be overtaken: each write() would go to the same slot, and nobody could say
  // any more what of it is on the disk.
  void hold_writes() { ++holders_; }
  void release_writes() { --holders_; }
  // Even if the newest slot says the same already, and returns the file to be synced. Twice, each followed by a sync
  // and synced(), and no older value is left.
  Result<std::shared_ptr<File>> write_once_more(const Checkpoint& value);
  // Makes value() durable.
  Status sync() { return write_and_sync(*value_); }
  // The same elsewhere: a sync of the file has succeeded that was written when sequence() was this.
  void synced(uint64_t sequence);
  uint64_t sequence() const { return sequence_; }
  // What the slot says that no write goes to: so much survives whatever happens to the other one.
  const std::optional<Checkpoint>& safe_value() const { return safe_value_; }
  Status write_and_sync(const Checkpoint& value);
  // Replaces both slots, so that no older value is left, and syncs.
  Status write_both_and_sync(const Checkpoint& value);

 private:
  CheckpointFile(FileSystem& file_system, std::string path) : file_system_(&file_system), path_(std::move(path)) {}

  Status read_slots(File& file);
  Status write_slot(File& file, const Checkpoint& value);
  Status write_and_sync(File& file, const Checkpoint& value);

  FileSystem* file_system_;
  std::string path_;
  uint64_t sequence_ = 0;  // of the newest slot
  std::optional<Checkpoint> value_;
  size_t open_slot_ = 0;        // where the next write goes
  uint64_t open_sequence_ = 0;  // of the newest write to it; 0: none yet
  std::optional<Checkpoint> safe_value_;
  int holders_ = 0;
};

}  // namespace naru
