// A sparse index: a file of fixed-size entries that increase. Not mapped into memory: the newest entries wait in memory
// until there are enough for one write, lookups in the rest are a binary search with small reads.
//
// An index is a hint. Whoever follows it compares the batch it leads to; a damaged entry costs time, never a wrong
// answer. The exception is the index of aborted transactions, which nothing can be compared with when it is read: its
// entries have CRCs, and the offset index beside it says how many there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/status.h"
#include "log_storage/aborted_transaction.h"
#include "log_storage/open_files.h"

namespace naru {

// The batch at `position` begins at base offset + relative_offset.
struct OffsetIndexEntry {
  static constexpr uint64_t kMagic = 0x6e6172752e696478;  // "naru.idx"
  static constexpr size_t kSize = 8;

  uint32_t relative_offset = 0;
  uint32_t position = 0;

  void encode(std::byte* to) const;
  static std::optional<OffsetIndexEntry> decode(const std::byte* from);
  bool operator==(const OffsetIndexEntry&) const = default;
};

// No batch up to and including the one at base offset + relative_offset has a later timestamp, and that one has it.
// With a CRC, because the log cannot disprove a wrong maximum without being read.
struct TimeIndexEntry {
  static constexpr uint64_t kMagic = 0x6e6172752e746978;  // "naru.tix"
  static constexpr size_t kSize = 16;

  int64_t timestamp = 0;
  uint32_t relative_offset = 0;

  void encode(std::byte* to) const;
  static std::optional<TimeIndexEntry> decode(const std::byte* from);
  bool operator==(const TimeIndexEntry&) const = default;
};

// Thread: the partition's strand.
template <class Entry>
class IndexFile {
 public:
  static constexpr size_t kHeaderSize = 16;  // magic, format version, entry size
  static constexpr uint32_t kFormatVersion = 1;
  // Of an offset index beside which there is an index of aborted transactions; the higher bytes are how many entries
  // that has, or the largest number they can hold.
  static constexpr uint32_t kFormatVersionWithAborted = 2;
  static constexpr uint32_t kMaxAbortedNoted = (1u << 24) - 1;

  // An index without entries; what the file holds, if there is one, is overwritten by the first flush.
  IndexFile(OpenFiles& files, std::string path) : files_(&files), path_(std::move(path)) {}
  // The index in the file. not_found; corrupt_data when header, size or last entry are wrong.
  static Result<IndexFile> load(OpenFiles& files, std::string path);
  // Looks at every entry, too: corrupt_data when one is damaged.
  static Result<IndexFile> load_whole(OpenFiles& files, std::string path);

  const std::string& path() const { return path_; }
  uint64_t size() const { return flushed_ + pending_.size(); }
  const std::optional<Entry>& last() const { return last_; }

  // Of an offset index: how many aborted transactions are noted beside it. In the file after the next flush.
  uint32_t aborted_noted() const { return aborted_noted_; }
  void note_aborted_count(uint64_t count);

  void append(const Entry& entry);
  // Enough entries wait in memory to be worth a write.
  bool flush_is_due() const { return pending_.size() >= kFlushEntries; }
  // Writes what waits; afterwards the file exists and holds the whole index. Can be tried again after a failure.
  Status flush();
  // Replaces the file by an index that was built anew, durably and at once: an index that is whole but too short would
  // be believed. `folder` is where path() is.
  Status replace_file_in(const std::string& folder);
  // For somebody else to write: the whole file of an index of which nothing is in a file yet. written_elsewhere() is
  // told when that file has the name path().
  Bytes whole_content() const;
  void written_elsewhere() { pending_is_written(); }
  Result<std::shared_ptr<File>> file();
  // Whether the file was written to and nobody has seen to a sync. It is not kept open for that: should the system fail
  // to write it back, then the index is found damaged one day, and built anew.
  bool unsynced() const { return unsynced_; }

  // The last entry for which `before` holds; it holds for a first part of the entries and not for the rest.
  template <class Predicate>
  Result<std::optional<Entry>> last_where(Predicate before);
  // Visits the entries from the first one on for which `before` does not hold, until `visit` returns false. True: it
  // never did.
  template <class Predicate, class Visit>
  Result<bool> visit_from(Predicate before, Visit visit);
  // Keeps the entries for which `before` holds.
  template <class Predicate>
  Status truncate(Predicate before);

 private:
  static constexpr size_t kFlushEntries = 512;

  static constexpr size_t kReadEntries = 64;

  Bytes encode_header() const;
  Bytes encode_pending() const;
  void pending_is_written();
  Result<Entry> at(uint64_t number);
  // Some entries of the file from this one on: at least one.
  Result<std::vector<Entry>> some_from(uint64_t number);
  template <class Predicate>
  Result<uint64_t> count_where(Predicate before);

  OpenFiles* files_;
  std::string path_;
  uint64_t flushed_ = 0;        // entries in the file
  bool file_is_ours_ = false;   // it has our header and `flushed_` good entries
  std::vector<Entry> pending_;  // entries behind them
  std::optional<Entry> last_;
  bool unsynced_ = false;
  uint32_t aborted_noted_ = 0;
  bool header_is_behind_ = false;
};

template <class Entry>
template <class Predicate>
Result<uint64_t> IndexFile<Entry>::count_where(Predicate before) {
  uint64_t low = 0;
  uint64_t high = size();
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    NARU_TRY_ASSIGN(const Entry entry, at(middle));
    if (before(entry)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <class Entry>
template <class Predicate>
Result<std::optional<Entry>> IndexFile<Entry>::last_where(Predicate before) {
  if (!last_ || before(*last_)) return last_;
  NARU_TRY_ASSIGN(const uint64_t count, count_where(before));
  if (count == 0) return std::nullopt;
  NARU_TRY_ASSIGN(const Entry entry, at(count - 1));
  return entry;
}

template <class Entry>
template <class Predicate, class Visit>
Result<bool> IndexFile<Entry>::visit_from(Predicate before, Visit visit) {
  if (!last_ || before(*last_)) return true;
  NARU_TRY_ASSIGN(uint64_t number, count_where(before));
  while (number < flushed_) {
    NARU_TRY_ASSIGN(const std::vector<Entry> some, some_from(number));
    for (const Entry& entry : some) {
      if (!visit(entry)) return false;
    }
    number += some.size();
  }
  for (; number < size(); ++number) {
    if (!visit(pending_[number - flushed_])) return false;
  }
  return true;
}

template <class Entry>
template <class Predicate>
Status IndexFile<Entry>::truncate(Predicate before) {
  NARU_TRY_ASSIGN(const uint64_t count, count_where(before));
  if (count == size()) return Status();
  std::optional<Entry> new_last;
  if (count > 0) {
    NARU_TRY_ASSIGN(new_last, at(count - 1));
  }
  if (count < flushed_) {
    NARU_TRY_ASSIGN(const auto opened, file());
    unsynced_ = true;
    NARU_TRY(opened->truncate(kHeaderSize + count * Entry::kSize));
    flushed_ = count;
  }
  pending_.resize(count - flushed_);
  last_ = new_last;
  return Status();
}

using OffsetIndex = IndexFile<OffsetIndexEntry>;
using TimeIndex = IndexFile<TimeIndexEntry>;
using AbortedIndex = IndexFile<AbortedTransaction>;
extern template class IndexFile<OffsetIndexEntry>;
extern template class IndexFile<TimeIndexEntry>;
extern template class IndexFile<AbortedTransaction>;

}  // namespace naru
