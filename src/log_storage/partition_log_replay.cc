// The part of opening a log that puts back what a commit journal holds and the log's own files have lost.
#include <utility>

#include "foundation/log.h"
#include "log_storage/checkpoint_file.h"
#include "log_storage/partition_folder.h"
#include "log_storage/partition_log.h"

namespace naru {

Status PartitionLog::replay(const OpenOptions& options, RecoveryReport& report) {
  for (const JournaledBatches& journaled : options.journaled) {
    for (const JournaledBatch& batch : journaled.batches) {
      switch (decide({end_offset(), latest_epoch(), truncations_}, batch)) {
        case ReplayAction::skip:
          break;
        case ReplayAction::append:
          NARU_TRY(replay_batch(*journaled.file, batch, options.now));
          ++report.replayed_batches;
          break;
        case ReplayAction::refuse:
          return error(ErrorCode::corrupt_data,
                       "{} ends at offset {}, but {} shows at position {} that offsets up to {} were durable: segment "
                       "files are missing or shorter than they were. Restore them; or, to accept the loss, remove the "
                       "file '{}' and start again",
                       folder_, end_offset(), journaled.file->path(), batch.position, batch.durable_before,
                       kCheckpointFileName);
      }
    }
  }
  if (report.replayed_batches == 0) return Status();
  report.end_offset = end_offset();
  SyncWork work = begin_sync();
  const Status performed = work.perform();
  NARU_TRY(finish_sync(std::move(work), performed));
  NARU_TRY(sync_checkpoint());
  log_info("log_storage", "{}: {} batches came back from the commit journal; the log ends at offset {}", folder_,
           report.replayed_batches, end_offset());
  return Status();
}

Status PartitionLog::replay_batch(const File& file, const JournaledBatch& batch, WallTimeMs now) {
  Bytes bytes(batch.bytes);
  NARU_TRY_ASSIGN(const size_t got, file.read_at(batch.position, bytes));
  // It was checked when the journal was read.
  if (got != bytes.size() || !batch_crc_matches(bytes)) {
    return error(ErrorCode::io_error, "{} has changed at position {} since it was read", file.path(), batch.position);
  }
  NARU_TRY_ASSIGN(const BatchHeader header, parse_batch_header(bytes));
  const auto appended = append_stored(bytes, header, now);
  return appended ? Status() : appended.error();
}

}  // namespace naru
