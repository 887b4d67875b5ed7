#include "log_storage/sync_work.h"

#include <utility>

#include "log_storage/partition_folder.h"

namespace naru {
namespace {

// After a failed sync nobody knows what is on the disk, whatever the reason was.
Status final_if_failed(Status status) {
  if (status.ok()) return status;
  return error(ErrorCode::io_error, "sync failed: {}", status.to_string());
}

}  // namespace

void UnsyncedParts::take_back(UnsyncedParts older) {
  older.files.insert(older.files.end(), files.begin(), files.end());
  files = std::move(older.files);
  checkpoint |= older.checkpoint;
  names |= older.names;
  epochs |= older.epochs;
}

Status SyncWork::perform() {
  NARU_TRY(failed_before_);
  // First, because it is the only step that can fail without harm: its file is replaced as a whole.
  if (parts_.epochs) {
    NARU_TRY(replace_file(*file_system_, folder_, std::string(kEpochFileName), as_bytes(epochs_text_)));
  }
  for (const auto& file : parts_.files) NARU_TRY(final_if_failed(file->sync_data()));
  if (checkpoint_) NARU_TRY(final_if_failed(checkpoint_->sync_data()));
  if (active_) NARU_TRY(final_if_failed(active_->sync_data()));
  if (parts_.names) NARU_TRY(final_if_failed(file_system_->sync_directory(folder_)));
  if (snapshot_) snapshot_->write_aside();  // losing it does no harm
  return Status();
}

}  // namespace naru
