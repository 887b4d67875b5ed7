#include "log_storage/producer_snapshot_files.h"

#include <algorithm>
#include <utility>

#include "foundation/log.h"
#include "log_storage/partition_folder.h"
#include "log_storage/producer_snapshot.h"

namespace naru {
namespace {

Status write_and_sync(FileSystem& file_system, const std::string& path, BytesView content) {
  NARU_TRY_ASSIGN(const auto file, file_system.open(path, OpenMode::create));
  NARU_TRY(file->truncate(0));
  NARU_TRY(file->write_at(0, content));
  return file->sync_data();
}

}  // namespace

void ProducerSnapshotWork::write_aside() {
  const std::string path = folder + "/" + segment_file_name(offset, kProducerSnapshotAsideSuffix);
  written = write_and_sync(*file_system, path, content);
}

ProducerSnapshotFiles::ProducerSnapshotFiles(FileSystem& file_system, std::string folder, std::vector<Offset> offsets)
    : file_system_(file_system), folder_(std::move(folder)), offsets_(std::move(offsets)) {
  std::ranges::sort(offsets_);
}

std::string ProducerSnapshotFiles::path(Offset offset) const {
  return folder_ + "/" + segment_file_name(offset, kProducerSnapshotSuffix);
}
std::string ProducerSnapshotFiles::path_aside(Offset offset) const {
  return folder_ + "/" + segment_file_name(offset, kProducerSnapshotAsideSuffix);
}

Status ProducerSnapshotFiles::remove(Offset offset) {
  const Status removed = file_system_.remove_file(path(offset));
  if (!removed.ok() && removed.code() != ErrorCode::not_found) return removed;
  std::erase(offsets_, offset);
  return Status();
}

Status ProducerSnapshotFiles::remove_above(Offset end) {
  if (newest() <= end) return Status();
  while (newest() > end) NARU_TRY(remove(newest()));
  return sync_names();
}

Result<ProducerSnapshotFiles::Loaded> ProducerSnapshotFiles::load(Offset begin, Offset end,
                                                                  const ProducerLimits& limits, RunningTimeMs now) {
  NARU_TRY(remove_oldest());  // a power cut may have brought some back
  const std::vector<Offset> candidates(offsets_.rbegin(), offsets_.rend());
  for (const Offset offset : candidates) {
    if (offset > end || offset < begin) continue;
    auto content = read_whole_file(file_system_, path(offset));
    if (!content && content.error() != ErrorCode::corrupt_data) return failure(std::move(content).error());
    auto state = content ? decode_producer_snapshot(*content, offset, limits, now) : failure(content.error());
    if (state) return Loaded{std::move(*state), offset};
    log_warn("log_storage", "{} is of no use and is removed, an earlier one or the log replaces it: {}", path(offset),
             state.error().to_string());
    NARU_TRY(remove(offset));
  }
  return Loaded{ProducerState(limits)};
}

Status ProducerSnapshotFiles::adopt(Offset offset) {
  NARU_TRY(file_system_.rename(path_aside(offset), path(offset)));
  const auto at = std::ranges::lower_bound(offsets_, offset);
  if (at == offsets_.end() || *at != offset) offsets_.insert(at, offset);
  return remove_oldest();
}

void ProducerSnapshotFiles::discard(Offset offset) {
  ignore(file_system_.remove_file(path_aside(offset)));  // if that fails, too, the next start does it
}

Status ProducerSnapshotFiles::remove_oldest() {
  while (offsets_.size() > kKept) NARU_TRY(remove(offsets_.front()));
  return Status();
}

}  // namespace naru
