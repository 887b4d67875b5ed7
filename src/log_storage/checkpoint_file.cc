#include "log_storage/checkpoint_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "foundation/assert.h"
#include "foundation/crc32c.h"
#include "foundation/endian.h"
#include "log_storage/partition_folder.h"

namespace naru {
namespace {

constexpr uint32_t kMagic = 0x6e617275;  // "naru"
constexpr size_t kMagicAt = 0, kVersionAt = 4, kSequenceAt = 8, kDurableEndAt = 16, kLogStartAt = 24,
                 kTruncationsAt = 32;
constexpr size_t kCrcAt = CheckpointFile::kSlotBytes - 4;

using Slot = std::array<std::byte, CheckpointFile::kSlotBytes>;

Slot encode_slot(uint64_t sequence, const Checkpoint& value) {
  Slot slot{};
  store_big_endian(slot.data() + kMagicAt, kMagic);
  store_big_endian(slot.data() + kVersionAt, CheckpointFile::kFormatVersion);
  store_big_endian(slot.data() + kSequenceAt, sequence);
  store_big_endian(slot.data() + kDurableEndAt, value.durable_end.value());
  store_big_endian(slot.data() + kLogStartAt, value.log_start_offset.value());
  store_big_endian(slot.data() + kTruncationsAt, value.truncations);
  store_big_endian(slot.data() + kCrcAt, crc32c({slot.data(), kCrcAt}));
  return slot;
}

bool is_whole(BytesView slot) {
  return slot.size() == CheckpointFile::kSlotBytes && load_big_endian<uint32_t>(slot.data() + kMagicAt) == kMagic &&
         load_big_endian<uint32_t>(slot.data() + kCrcAt) == crc32c(slot.first(kCrcAt));
}

}  // namespace

Result<CheckpointFile> CheckpointFile::open(FileSystem& file_system, const std::string& folder) {
  CheckpointFile checkpoint(file_system, folder + "/" + std::string(kCheckpointFileName));
  NARU_TRY_ASSIGN(const auto file, file_system.open(checkpoint.path_, OpenMode::create));
  NARU_TRY(checkpoint.read_slots(*file));
  return checkpoint;
}

Status CheckpointFile::read_slots(File& file) {
  std::array<uint64_t, 2> sequences{};
  std::array<Checkpoint, 2> values{};
  std::array<std::byte, 2 * kSlotBytes> content;
  NARU_TRY_ASSIGN(const size_t got, file.read_at(0, content));
  for (size_t i = 0; i < sequences.size(); ++i) {
    const size_t begin = std::min(i * kSlotBytes, got);
    const BytesView slot = BytesView(content).subspan(begin, std::min(kSlotBytes, got - begin));
    if (!is_whole(slot)) continue;
    const auto version = load_big_endian<uint16_t>(slot.data() + kVersionAt);
    if (version != kFormatVersion) {
      return error(ErrorCode::unsupported_format, "{} is of format {}, this Naru knows {}: start a newer version",
                   path_, version, kFormatVersion);
    }
    sequences[i] = load_big_endian<uint64_t>(slot.data() + kSequenceAt);
    values[i] = {Offset(load_big_endian<int64_t>(slot.data() + kDurableEndAt)),
                 Offset(load_big_endian<int64_t>(slot.data() + kLogStartAt)),
                 load_big_endian<uint64_t>(slot.data() + kTruncationsAt)};
  }
  // The newer of two whole slots may be in the page cache only, left by a process that died: the older one is durable.
  const size_t newer = sequences[0] > sequences[1] ? 0 : 1;
  const bool both_whole = sequences[1 - newer] > 0;
  sequence_ = sequences[newer];
  if (sequence_ > 0) value_ = values[newer];
  const bool start_or_truncations_differ =
      values[0].log_start_offset != values[1].log_start_offset || values[0].truncations != values[1].truncations;
  if (!both_whole || !start_or_truncations_differ) {
    open_slot_ = both_whole ? newer : 1 - newer;
    if (sequence_ > 0) safe_value_ = values[1 - open_slot_];
    return Status();
  }
  // It died while it wrote both. From now on the newer value counts, so no older one may come back.
  NARU_TRY(file.sync_data());
  open_slot_ = 1 - newer;
  return write_and_sync(file, *value_);
}

Status CheckpointFile::write(const Checkpoint& value) {
  if (value_ == value || holders_ > 0) return Status();
  const auto written = write_once_more(value);
  return written ? Status() : written.error();
}

Result<std::shared_ptr<File>> CheckpointFile::write_once_more(const Checkpoint& value) {
  NARU_ASSERT(!value_ || value.durable_end >= value_->durable_end, "the durable end goes back from {} to {}",
              value_->durable_end, value.durable_end);
  NARU_TRY_ASSIGN(auto file, file_system_->open(path_, OpenMode::write));
  NARU_TRY(write_slot(*file, value));
  return file;
}

Status CheckpointFile::write_and_sync(const Checkpoint& value) {
  NARU_TRY_ASSIGN(const auto file, file_system_->open(path_, OpenMode::write));
  return write_and_sync(*file, value);
}

Status CheckpointFile::write_both_and_sync(const Checkpoint& value) {
  NARU_TRY_ASSIGN(const auto file, file_system_->open(path_, OpenMode::write));
  NARU_TRY(write_and_sync(*file, value));
  return write_and_sync(*file, value);
}

Status CheckpointFile::write_and_sync(File& file, const Checkpoint& value) {
  NARU_TRY(write_slot(file, value));
  NARU_TRY(file.sync_data());
  synced(sequence_);
  return Status();
}

Status CheckpointFile::write_slot(File& file, const Checkpoint& value) {
  NARU_TRY(file.write_at(open_slot_ * kSlotBytes, encode_slot(sequence_ + 1, value)));
  open_sequence_ = ++sequence_;
  value_ = value;
  return Status();
}

void CheckpointFile::synced(uint64_t sequence) {
  // A later write may be in the slot by now, and nobody knows what of it is on the disk.
  if (open_sequence_ == 0 || open_sequence_ > sequence) return;
  open_slot_ = 1 - open_slot_;
  open_sequence_ = 0;
  safe_value_ = value_;
}

}  // namespace naru
