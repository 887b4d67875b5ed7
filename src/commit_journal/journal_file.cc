#include "commit_journal/journal_file.h"

#include <algorithm>
#include <utility>

#include "commit_journal/journal_reader.h"

namespace naru {
namespace {

constexpr size_t kFillBytes = 1 << 20;

std::string path_in(const std::string& folder) {
  return folder + "/" + std::string(kJournalFileName);
}

Status fill(File& file, uint64_t bytes) {
  const Bytes zeros(static_cast<size_t>(std::min<uint64_t>(bytes, kFillBytes)));
  for (uint64_t at = 0; at < bytes; at += zeros.size()) {
    NARU_TRY(
        file.write_at(at, BytesView(zeros).first(static_cast<size_t>(std::min<uint64_t>(zeros.size(), bytes - at)))));
  }
  return Status();
}

Status write_slot(File& file, const JournalSlot& slot) {
  NARU_TRY(file.write_at(slot.sequence % kJournalSlots * kJournalBlock, encode_journal_slot(slot)));
  return file.sync_data();
}

}  // namespace

Result<JournalFile> JournalFile::create(FileSystem& file_system, const std::string& folder, uint64_t ring_bytes,
                                        Random& random) {
  const std::string aside = path_in(folder) + ".tmp";
  const JournalSlot slot{.sequence = 1, .journal_id = random.uuid(), .ring_bytes = ring_bytes};
  const auto make = [&]() -> Result<std::shared_ptr<File>> {
    // Finding out by writing would leave everybody else without space for a while.
    NARU_TRY_ASSIGN(const DiskSpace space, file_system.space(folder));
    if (space.free_bytes < kJournalRingBegin + ring_bytes) {
      return failure(ErrorCode::disk_full, "{} needs {} bytes, and {} are free", path_in(folder),
                     kJournalRingBegin + ring_bytes, space.free_bytes);
    }
    NARU_TRY_ASSIGN(auto file, file_system.open(aside, OpenMode::create));
    NARU_TRY(file->truncate(0));
    NARU_TRY(fill(*file, kJournalRingBegin + ring_bytes));
    NARU_TRY(write_slot(*file, slot));
    NARU_TRY(file_system.rename(aside, path_in(folder)));
    NARU_TRY(file_system.sync_directory(folder));
    return file;
  };
  auto made = make();
  if (made) return JournalFile(std::move(*made), slot);
  // Its space is needed more than the reason why it could not be removed, if so.
  ignore(file_system.remove_file(aside));
  return failure(std::move(made).error());
}

Result<JournalFile> JournalFile::open(FileSystem& file_system, const std::string& folder) {
  NARU_TRY_ASSIGN(auto file, file_system.open(path_in(folder), OpenMode::write));
  NARU_TRY_ASSIGN(const JournalSlot slot, read_journal_slot(*file));
  return JournalFile(std::move(file), slot);
}

Status JournalFile::remove(FileSystem& file_system, const std::string& folder) {
  NARU_TRY(file_system.remove_file(path_in(folder)));
  return file_system.sync_directory(folder);
}

Status JournalFile::make_empty(Random& random) {
  JournalSlot next = slot_;
  ++next.sequence;
  next.journal_id = random.uuid();
  NARU_TRY(write_slot(*file_, next));
  slot_ = next;
  return Status();
}

Status JournalFile::write_round(uint64_t position, std::span<const BytesView> parts) {
  NARU_TRY(file_->write_at(kJournalRingBegin + position % slot_.ring_bytes, parts));
  return file_->sync_data();
}

}  // namespace naru
