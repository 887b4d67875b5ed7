#include "log_storage/index_file.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "foundation/assert.h"
#include "foundation/crc32c.h"
#include "foundation/endian.h"

namespace naru {
namespace {

constexpr size_t kTimeEntryCrcAt = 12;
constexpr int16_t kAbortedVersion = 0;
constexpr size_t kAbortedCrcAt = 34;

}  // namespace

void OffsetIndexEntry::encode(std::byte* to) const {
  store_big_endian(to, relative_offset);
  store_big_endian(to + 4, position);
}

std::optional<OffsetIndexEntry> OffsetIndexEntry::decode(const std::byte* from) {
  return OffsetIndexEntry{load_big_endian<uint32_t>(from), load_big_endian<uint32_t>(from + 4)};
}

void TimeIndexEntry::encode(std::byte* to) const {
  store_big_endian(to, timestamp);
  store_big_endian(to + 8, relative_offset);
  store_big_endian(to + kTimeEntryCrcAt, crc32c({to, kTimeEntryCrcAt}));
}

std::optional<TimeIndexEntry> TimeIndexEntry::decode(const std::byte* from) {
  if (load_big_endian<uint32_t>(from + kTimeEntryCrcAt) != crc32c({from, kTimeEntryCrcAt})) return std::nullopt;
  return TimeIndexEntry{load_big_endian<int64_t>(from), load_big_endian<uint32_t>(from + 8)};
}

void AbortedTransaction::encode(std::byte* to) const {
  store_big_endian(to, kAbortedVersion);
  store_big_endian(to + 2, producer_id.value());
  store_big_endian(to + 10, first_offset.value());
  store_big_endian(to + 18, last_offset.value());
  store_big_endian(to + 26, stable_end.value());
  store_big_endian(to + kAbortedCrcAt, crc32c({to, kAbortedCrcAt}));
}

std::optional<AbortedTransaction> AbortedTransaction::decode(const std::byte* from) {
  if (load_big_endian<uint32_t>(from + kAbortedCrcAt) != crc32c({from, kAbortedCrcAt}) ||
      load_big_endian<int16_t>(from) != kAbortedVersion) {
    return std::nullopt;
  }
  return AbortedTransaction{.producer_id = ProducerId(load_big_endian<int64_t>(from + 2)),
                            .first_offset = Offset(load_big_endian<int64_t>(from + 10)),
                            .last_offset = Offset(load_big_endian<int64_t>(from + 18)),
                            .stable_end = Offset(load_big_endian<int64_t>(from + 26))};
}

template <class Entry>
Result<IndexFile<Entry>> IndexFile<Entry>::load(OpenFiles& files, std::string path) {
  IndexFile index(files, std::move(path));
  NARU_TRY_ASSIGN(const auto file, index.file());
  NARU_TRY_ASSIGN(const uint64_t size, file->size());
  std::array<std::byte, kHeaderSize> header{};
  NARU_TRY_ASSIGN(const size_t got, file->read_at(0, header));
  const auto version = load_big_endian<uint32_t>(header.data() + 8);
  const bool with_aborted =
      std::is_same_v<Entry, OffsetIndexEntry> && (version & 0xff) == kFormatVersionWithAborted && version >> 8 > 0;
  if (got < kHeaderSize || load_big_endian<uint64_t>(header.data()) != Entry::kMagic ||
      (version != kFormatVersion && !with_aborted) || load_big_endian<uint32_t>(header.data() + 12) != Entry::kSize ||
      (size - kHeaderSize) % Entry::kSize != 0) {
    return failure(ErrorCode::corrupt_data, "{} is not an index of this version", index.path_);
  }
  if (with_aborted) index.aborted_noted_ = version >> 8;
  index.file_is_ours_ = true;
  index.flushed_ = (size - kHeaderSize) / Entry::kSize;
  if (index.flushed_ > 0) {
    NARU_TRY_ASSIGN(index.last_, index.at(index.flushed_ - 1));
  }
  return index;
}

template <class Entry>
Result<IndexFile<Entry>> IndexFile<Entry>::load_whole(OpenFiles& files, std::string path) {
  NARU_TRY_ASSIGN(IndexFile index, load(files, std::move(path)));
  for (uint64_t number = 0; number < index.flushed_;) {
    NARU_TRY_ASSIGN(const auto some, index.some_from(number));
    number += some.size();
  }
  return index;
}

template <class Entry>
void IndexFile<Entry>::note_aborted_count(uint64_t count) {
  const auto noted = static_cast<uint32_t>(std::min<uint64_t>(count, kMaxAbortedNoted));
  header_is_behind_ |= std::exchange(aborted_noted_, noted) != noted;
}

template <class Entry>
void IndexFile<Entry>::append(const Entry& entry) {
  pending_.push_back(entry);
  last_ = entry;
}

template <class Entry>
Bytes IndexFile<Entry>::encode_header() const {
  Bytes header(kHeaderSize);
  store_big_endian(header.data(), Entry::kMagic);
  store_big_endian(header.data() + 8,
                   aborted_noted_ == 0 ? kFormatVersion : aborted_noted_ << 8 | kFormatVersionWithAborted);
  store_big_endian(header.data() + 12, static_cast<uint32_t>(Entry::kSize));
  return header;
}

template <class Entry>
Bytes IndexFile<Entry>::encode_pending() const {
  Bytes bytes(pending_.size() * Entry::kSize);
  for (size_t i = 0; i < pending_.size(); ++i) pending_[i].encode(bytes.data() + i * Entry::kSize);
  return bytes;
}

template <class Entry>
void IndexFile<Entry>::pending_is_written() {
  file_is_ours_ = true;
  header_is_behind_ = false;
  flushed_ += pending_.size();
  pending_.clear();
}

template <class Entry>
Status IndexFile<Entry>::flush() {
  if (file_is_ours_ && pending_.empty() && !header_is_behind_) return Status();
  NARU_TRY_ASSIGN(const auto opened, files_->open(path_, OpenMode::create));
  unsynced_ = true;
  if (!file_is_ours_) NARU_TRY(opened->truncate(0));
  if (!file_is_ours_ || header_is_behind_) NARU_TRY(opened->write_at(0, encode_header()));
  NARU_TRY(opened->write_at(kHeaderSize + flushed_ * Entry::kSize, encode_pending()));
  pending_is_written();
  return Status();
}

template <class Entry>
Bytes IndexFile<Entry>::whole_content() const {
  NARU_ASSERT(flushed_ == 0, "{} is partly in the file", path_);
  Bytes content = encode_header();
  append_bytes(content, encode_pending());
  return content;
}

template <class Entry>
Status IndexFile<Entry>::replace_file_in(const std::string& folder) {
  const Bytes content = whole_content();
  files_->forget(path_);
  NARU_TRY(replace_file(files_->file_system(), folder, path_.substr(folder.size() + 1), content));
  pending_is_written();
  return Status();
}

template <class Entry>
Result<std::shared_ptr<File>> IndexFile<Entry>::file() {
  return files_->open(path_);
}

template <class Entry>
Result<Entry> IndexFile<Entry>::at(uint64_t number) {
  if (number >= flushed_) return pending_[number - flushed_];
  NARU_TRY_ASSIGN(const auto opened, file());
  std::array<std::byte, Entry::kSize> bytes;
  NARU_TRY_ASSIGN(const size_t got, opened->read_at(kHeaderSize + number * Entry::kSize, bytes));
  const auto entry = got == bytes.size() ? Entry::decode(bytes.data()) : std::nullopt;
  if (!entry) return failure(ErrorCode::corrupt_data, "{}: entry {} is damaged", path_, number);
  return *entry;
}

template <class Entry>
Result<std::vector<Entry>> IndexFile<Entry>::some_from(uint64_t number) {
  NARU_TRY_ASSIGN(const auto opened, file());
  const auto count = static_cast<size_t>(std::min<uint64_t>(kReadEntries, flushed_ - number));
  Bytes bytes(count * Entry::kSize);
  NARU_TRY_ASSIGN(const size_t got, opened->read_at(kHeaderSize + number * Entry::kSize, bytes));
  std::vector<Entry> entries;
  entries.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto entry = got == bytes.size() ? Entry::decode(bytes.data() + i * Entry::kSize) : std::nullopt;
    if (!entry) return failure(ErrorCode::corrupt_data, "{}: entry {} is damaged", path_, number + i);
    entries.push_back(*entry);
  }
  return entries;
}

template class IndexFile<OffsetIndexEntry>;
template class IndexFile<TimeIndexEntry>;
template class IndexFile<AbortedTransaction>;

}  // namespace naru
