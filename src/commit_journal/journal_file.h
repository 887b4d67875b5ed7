// The file of a commit journal: made once at its full size, and written over and over.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "commit_journal/journal_format.h"
#include "foundation/status.h"
#include "platform/file_system.h"
#include "platform/random.h"

namespace naru {

inline constexpr std::string_view kJournalFileName = "commit-journal";

// Calls block. Thread: one at a time; the owner sees to that.
class JournalFile {
 public:
  // Makes the file, durably and with every byte written, so that later syncs need no metadata; replaces an older one.
  // disk_full: nothing is left behind.
  static Result<JournalFile> create(FileSystem& file_system, const std::string& folder, uint64_t ring_bytes,
                                    Random& random);
  // The file that is there. not_found when there is none; otherwise as read_journal_slot().
  static Result<JournalFile> open(FileSystem& file_system, const std::string& folder);
  // Durably.
  static Status remove(FileSystem& file_system, const std::string& folder);

  const std::shared_ptr<File>& file() const { return file_; }
  const JournalSlot& slot() const { return slot_; }

  // Gives the journal a new id, durably: no round that is in it counts any more.
  Status make_empty(Random& random);
  // Writes a round at its place and syncs it. A failure is final: nobody knows what is on the disk.
  Status write_round(uint64_t position, std::span<const BytesView> parts);

 private:
  JournalFile(std::shared_ptr<File> file, const JournalSlot& slot) : file_(std::move(file)), slot_(slot) {}

  std::shared_ptr<File> file_;
  JournalSlot slot_;
};

}  // namespace naru
