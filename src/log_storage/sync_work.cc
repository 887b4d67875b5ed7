#include "log_storage/sync_work.h"

#include <utility>

#include "log_storage/partition_folder.h"

namespace naru {

Status final_if_sync_failed(Status synced) {
  if (synced.ok()) return synced;
  return error(ErrorCode::io_error, "sync failed: {}", synced.to_string());
}

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
  for (const auto& file : parts_.files) NARU_TRY(final_if_sync_failed(file->sync_data()));
  if (checkpoint_) NARU_TRY(final_if_sync_failed(checkpoint_->sync_data()));
  if (active_) NARU_TRY(final_if_sync_failed(active_->sync_data()));
  if (parts_.names) NARU_TRY(final_if_sync_failed(file_system_->sync_directory(folder_)));
  if (snapshot_) snapshot_->write_aside();  // losing it does no harm
  return Status();
}

}  // namespace naru
