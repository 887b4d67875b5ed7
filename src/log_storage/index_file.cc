#include "log_storage/index_file.h"

#include <array>
#include <utility>

#include "foundation/assert.h"
#include "foundation/crc32c.h"
#include "foundation/endian.h"

namespace naru {
namespace {

constexpr size_t kTimeEntryCrcAt = 12;

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

template <class Entry>
Result<IndexFile<Entry>> IndexFile<Entry>::load(OpenFiles& files, std::string path) {
  IndexFile index(files, std::move(path));
  NARU_TRY_ASSIGN(const auto file, index.file());
  NARU_TRY_ASSIGN(const uint64_t size, file->size());
  std::array<std::byte, kHeaderSize> header;
  NARU_TRY_ASSIGN(const size_t got, file->read_at(0, header));
  if (got < kHeaderSize || load_big_endian<uint64_t>(header.data()) != Entry::kMagic ||
      load_big_endian<uint32_t>(header.data() + 8) != kFormatVersion ||
      load_big_endian<uint32_t>(header.data() + 12) != Entry::kSize || (size - kHeaderSize) % Entry::kSize != 0) {
    return failure(ErrorCode::corrupt_data, "{} is not an index of this version", index.path_);
  }
  index.file_is_ours_ = true;
  index.flushed_ = (size - kHeaderSize) / Entry::kSize;
  if (index.flushed_ > 0) {
    NARU_TRY_ASSIGN(index.last_, index.at(index.flushed_ - 1));
  }
  return index;
}

template <class Entry>
void IndexFile<Entry>::append(const Entry& entry) {
  pending_.push_back(entry);
  last_ = entry;
}

template <class Entry>
Bytes IndexFile<Entry>::encode_header() {
  Bytes header(kHeaderSize);
  store_big_endian(header.data(), Entry::kMagic);
  store_big_endian(header.data() + 8, kFormatVersion);
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
  flushed_ += pending_.size();
  pending_.clear();
}

template <class Entry>
Status IndexFile<Entry>::flush() {
  if (file_is_ours_ && pending_.empty()) return Status();
  NARU_TRY_ASSIGN(const auto opened, files_->open(path_, OpenMode::create));
  unsynced_ = true;
  if (!file_is_ours_) {
    NARU_TRY(opened->truncate(0));
    NARU_TRY(opened->write_at(0, encode_header()));
  }
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

template class IndexFile<OffsetIndexEntry>;
template class IndexFile<TimeIndexEntry>;

}  // namespace naru
