#include "log_storage/recovery_epochs.h"

#include <utility>

#include "log_storage/batch_walk.h"
#include "log_storage/partition_folder.h"
#include "log_storage/recovery_table.h"

namespace naru {
namespace {

struct ReadEpochs {
  EpochFile state = EpochFile::readable;
  EpochHistory history;
};

Result<ReadEpochs> read_epoch_file(FileSystem& file_system, const std::string& folder) {
  const auto content = read_whole_file(file_system, folder + "/" + std::string(kEpochFileName));
  if (!content) {
    if (content.error() == ErrorCode::not_found) return ReadEpochs{EpochFile::missing};
    if (content.error() == ErrorCode::corrupt_data) return ReadEpochs{EpochFile::damaged};
    return failure(content.error());
  }
  auto history = EpochHistory::parse(*content);
  if (!history) return ReadEpochs{EpochFile::damaged};
  return ReadEpochs{EpochFile::readable, std::move(*history)};
}

struct Correction {
  EpochHistory history;
  bool contradicts = false;  // no history is in accordance with both the file and the batches that were looked at

  void add(const EpochStart& start) {
    if (start.epoch < history.latest())
      contradicts = true;
    else
      history.assign(start.epoch, start.start_offset);
  }
};

// For segments that were scanned, what was found there; for the others, what the file says of their offsets.
Correction correct(const EpochHistory& stored, const std::vector<ExaminedSegment>& segments) {
  Correction correction;
  for (const ExaminedSegment& segment : segments) {
    if (segment.scanned()) {
      for (const EpochStart& start : segment.scanned_epochs.starts()) correction.add(start);
      continue;
    }
    for (const EpochStart& start : stored.starts()) {
      const bool before = &segment == &segments.front() && start.start_offset < segment.segment->base_offset();
      const bool inside =
          start.start_offset >= segment.segment->base_offset() && start.start_offset < segment.end.offset;
      if (before || inside) correction.add(start);
    }
    correction.contradicts |= segment.end.position > 0 && correction.history.latest() != segment.end.last_epoch;
  }
  return correction;
}

Result<EpochHistory> rebuild(const std::vector<ExaminedSegment>& segments) {
  EpochHistory history;
  for (const ExaminedSegment& segment : segments) {
    NARU_TRY_ASSIGN(auto file, segment.segment->file());
    BatchWalk walk(std::move(file), 0, segment.segment->base_offset(), {segment.end.position, segment.end.offset});
    while (!walk.at_end()) {
      const auto header = walk.next();
      if (!header && header.error() == ErrorCode::corrupt_message) {
        return failure(ErrorCode::corrupt_data, "cannot rebuild {}: {}", kEpochFileName, header.error().message());
      }
      if (!header) return failure(header.error());
      history.assign(header->leader_epoch, header->base_offset);
    }
  }
  return history;
}

}  // namespace

Result<SettledEpochs> settle_epoch_history(FileSystem& file_system, const std::string& folder, Offset log_start,
                                           const std::vector<ExaminedSegment>& segments) {
  NARU_TRY_ASSIGN(const ReadEpochs stored, read_epoch_file(file_system, folder));
  Correction correction = correct(stored.history, segments);
  correction.history.trim_start(log_start);
  const EpochAction action =
      decide(EpochFacts{stored.state, correction.contradicts                 ? EpochAgreement::contradicts
                                      : correction.history == stored.history ? EpochAgreement::agrees
                                                                             : EpochAgreement::differs_at_the_end});
  SettledEpochs settled;
  switch (action) {
    case EpochAction::keep:
      settled.history = stored.history;
      return settled;
    case EpochAction::correct_end:
      settled.history = std::move(correction.history);
      break;
    case EpochAction::rebuild: {
      NARU_TRY_ASSIGN(settled.history, rebuild(segments));
      settled.history.trim_start(log_start);
      // A log of one segment that was scanned is not missing anything: its first sync would have written the file.
      settled.rebuilt = stored.state != EpochFile::missing || segments.size() != 1 || !segments.front().scanned();
      break;
    }
  }
  settled.file_is_behind = stored.state != EpochFile::missing || !settled.history.starts().empty();
  return settled;
}

}  // namespace naru
