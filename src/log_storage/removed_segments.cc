#include "log_storage/removed_segments.h"

namespace naru {

Status RemovedSegments::remove_files() const {
  // First the names of the segments behind them: else a power cut could leave none, and nobody would know where the log
  // went on.
  NARU_TRY(file_system->sync_directory(folder));
  Status first;
  for (const std::string& path : paths) {
    Status status = file_system->remove_file(path);
    if (status == ErrorCode::not_found || status.ok()) continue;
    if (first.ok()) first = std::move(status);
  }
  return first;
}

}  // namespace naru
