#include "coordination_store/embedded/store_folder.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "foundation/log.h"

namespace naru {
namespace {

constexpr std::string_view kSnapshotName = "snapshot";
constexpr std::string_view kLogPrefix = "log-";
constexpr uint64_t kZerosAtOnce = 256u << 10;
constexpr uint64_t kMaxFileBytes = 1u << 30;  // far above what a store may hold; a larger file is not ours

std::string log_name(uint64_t first_round) {
  return fmt::format("{}{:020}", kLogPrefix, first_round);
}

// Names sort like their numbers, so the last one is the newest.
std::vector<std::string> log_names(const std::vector<DirectoryEntry>& entries) {
  std::vector<std::string> names;
  for (const DirectoryEntry& entry : entries) {
    const bool is_log = entry.name.starts_with(kLogPrefix) && !entry.name.ends_with(".tmp");
    if (is_log) names.push_back(entry.name);
  }
  std::ranges::sort(names);
  return names;
}

bool has_snapshot(const std::vector<DirectoryEntry>& entries) {
  return std::ranges::any_of(entries, [](const DirectoryEntry& entry) { return entry.name == kSnapshotName; });
}

Status refuse_missing(const std::string& folder, std::string_view found) {
  return error(ErrorCode::corrupt_data,
               "{} holds {}. It was in use before, so its files were lost or moved: restore the folder from a copy",
               folder, found);
}

std::string parent_of(const std::string& folder) {
  const size_t slash = folder.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : folder.substr(0, slash);
}

// Creates what is missing of a path. Also syncs the parent of a folder that is there already: whoever made it may have
// died before that.
Status create_folder_durably(FileSystem& files, const std::string& folder) {
  NARU_TRY_ASSIGN(const bool exists, files.exists(folder));
  const std::string parent = parent_of(folder);
  if (!exists) {
    if (parent != folder && parent != ".") NARU_TRY(create_folder_durably(files, parent));
    NARU_TRY(files.create_directories(folder));
  }
  return files.sync_directory(parent);
}

}  // namespace

Result<StoreFolder::Opened> StoreFolder::open(FileSystem& files, Random& random, std::string folder,
                                              StoreExpectation expectation) {
  NARU_TRY_ASSIGN(const bool exists, files.exists(folder));
  if (!exists && expectation == StoreExpectation::must_exist) return failure(refuse_missing(folder, "nothing"));
  NARU_TRY(create_folder_durably(files, folder));
  // Names that an earlier process saw but could not make durable must not go away under us.
  NARU_TRY(files.sync_directory(folder));
  NARU_TRY_ASSIGN(const auto entries, files.list(folder));
  const std::vector<std::string> logs = log_names(entries);

  std::unique_ptr<StoreFolder> opened(new StoreFolder(files, std::move(folder)));
  if (!logs.empty()) {
    opened->log_name_ = logs.back();
    NARU_TRY_ASSIGN(StoreRecovery recovery, opened->recover(has_snapshot(entries)));
    return Opened{std::move(opened), std::move(recovery)};
  }
  if (has_snapshot(entries)) return failure(refuse_missing(opened->folder_, "a snapshot and no log"));
  if (expectation == StoreExpectation::must_exist) return failure(refuse_missing(opened->folder_, "no log"));
  StoreRecovery fresh{.log = {random.next(), 1}, .log_end = kLogHeaderBytes, .last_round_begin = kLogHeaderBytes};
  NARU_TRY(opened->prepare_log(fresh.log, 0));
  NARU_TRY(opened->start_prepared_log());
  return Opened{std::move(opened), std::move(fresh)};
}

Result<StoreRecovery> StoreFolder::recover(bool has_snapshot) {
  const std::string log_path = path_of(log_name_);
  const std::string snapshot_path = path_of(kSnapshotName);
  NARU_TRY_ASSIGN(const Bytes log, read_whole_file(*files_, log_path, kMaxFileBytes));
  Bytes content;
  std::optional<StoreFile> snapshot;
  if (has_snapshot) {
    NARU_TRY_ASSIGN(content, read_whole_file(*files_, snapshot_path, kMaxFileBytes));
    snapshot = StoreFile{snapshot_path, content};
  }
  NARU_TRY_ASSIGN(StoreRecovery recovery, recover_store(snapshot, {log_path, log}));
  snapshot_bytes_ = content.size();
  NARU_TRY(make_durable(recovery));
  NARU_TRY(remove_leftovers());
  return recovery;
}

Status StoreFolder::make_durable(const StoreRecovery& recovery) {
  NARU_TRY_ASSIGN(log_, files_->open(path_of(log_name_), OpenMode::write));
  log_end_ = recovery.log_end;
  NARU_TRY_ASSIGN(file_end_, log_->size());
  if (recovery.bytes_cut > 0) {
    log_warn("coordination_store", "{}: cut {} bytes of a round whose write was never completed, behind round {}",
             log_->path(), recovery.bytes_cut, recovery.last_round);
    // Not cut off: on a full disk the room would be gone.
    NARU_TRY(write_zeros(*log_, log_end_, log_end_ + recovery.bytes_cut));
  }
  // The last round may be in the page cache only, of a process whose sync failed: a sync of clean pages would not write
  // it. Written again it is dirty, and the same bytes cannot be torn.
  Bytes last_round(recovery.log_end - recovery.last_round_begin);
  NARU_TRY_ASSIGN(const size_t got, log_->read_at(recovery.last_round_begin, last_round));
  if (got != last_round.size()) return error(ErrorCode::io_error, "{} became shorter while it was read", log_->path());
  if (!last_round.empty()) NARU_TRY(log_->write_at(recovery.last_round_begin, last_round));
  return log_->sync_data();
}

Status StoreFolder::remove_leftovers() {
  NARU_TRY_ASSIGN(const auto entries, files_->list(folder_));
  for (const DirectoryEntry& entry : entries) {
    const bool old_log = entry.name.starts_with(kLogPrefix) && entry.name != log_name_;
    const bool unfinished_snapshot = entry.name == std::string(kSnapshotName) + ".tmp";
    if (old_log || unfinished_snapshot) NARU_TRY(files_->remove_file(path_of(entry.name)));
  }
  return {};
}

Status StoreFolder::append(BytesView round) {
  NARU_TRY(log_->write_at(log_end_, round));
  NARU_TRY(log_->sync_data());
  log_end_ += round.size();
  file_end_ = std::max(file_end_, log_end_);
  return {};
}

Status StoreFolder::make_room(uint64_t bytes) {
  if (room() >= bytes) return {};
  const uint64_t end = log_end_ + bytes;
  if (const Status status = write_zeros(*log_, file_end_, end); !status.ok()) {
    ignore(log_->truncate(file_end_));  // what was written of it is not kept from others
    return status;
  }
  file_end_ = end;
  return {};
}

Status StoreFolder::write_zeros(File& file, uint64_t begin, uint64_t end) {
  const Bytes zeros(std::min<uint64_t>(end - begin, kZerosAtOnce));
  while (begin < end) {
    const auto count = static_cast<size_t>(std::min<uint64_t>(end - begin, zeros.size()));
    NARU_TRY(file.write_at(begin, BytesView(zeros).first(count)));
    begin += count;
  }
  return {};
}

Status StoreFolder::write_snapshot(const StoreState& state, uint64_t round) {
  const Bytes content = encode_snapshot(state, round);
  NARU_TRY(replace_file(*files_, folder_, std::string(kSnapshotName), content));
  snapshot_bytes_ = content.size();
  return {};
}

Status StoreFolder::prepare_log(LogHeader header, uint64_t room) {
  const Bytes content = encode_log_header(header);
  const std::string name = log_name(header.first_round);
  const std::string aside = path_of(name) + ".tmp";
  const Status status = [&]() -> Status {
    NARU_TRY_ASSIGN(const auto file, files_->open(aside, OpenMode::create));
    NARU_TRY(file->truncate(0));
    NARU_TRY(file->write_at(0, content));
    NARU_TRY(write_zeros(*file, content.size(), content.size() + room));
    return file->sync_data();
  }();
  if (!status.ok()) {
    ignore(files_->remove_file(aside));
    return status;
  }
  prepared_name_ = name;
  prepared_log_end_ = content.size();
  prepared_file_end_ = content.size() + room;
  return {};
}

Status StoreFolder::start_prepared_log() {
  NARU_TRY(files_->rename(path_of(prepared_name_) + ".tmp", path_of(prepared_name_)));
  NARU_TRY(files_->sync_directory(folder_));
  NARU_TRY_ASSIGN(log_, files_->open(path_of(prepared_name_), OpenMode::write));
  log_name_ = prepared_name_;
  log_end_ = prepared_log_end_;
  file_end_ = prepared_file_end_;
  return remove_leftovers();
}

}  // namespace naru
