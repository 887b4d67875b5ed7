#include "log_storage/segment_swap.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "foundation/log.h"
#include "log_storage/batch_walk.h"
#include "log_storage/partition_folder.h"
#include "log_storage/recovery_table.h"
#include "log_storage/segment.h"

namespace naru {
namespace {

std::string staged_path(const std::string& folder, Offset base_offset, std::string_view suffix,
                        std::string_view stage = {}) {
  return fmt::format("{}/{}{}", folder, segment_file_name(base_offset, suffix), stage);
}

Status remove_if_there(FileSystem& file_system, OpenFiles& open_files, const std::string& path) {
  open_files.forget(path);
  Status status = file_system.remove_file(path);
  return status == ErrorCode::not_found ? Status() : status;
}

Status rename_if_there(FileSystem& file_system, OpenFiles& open_files, const std::string& from, const std::string& to) {
  open_files.forget(to);
  Status status = file_system.rename(from, to);
  return status == ErrorCode::not_found ? Status() : status;
}

}  // namespace

Status commit_swap(FileSystem& file_system, const std::string& folder, Offset base_offset) {
  NARU_TRY(file_system.rename(staged_path(folder, base_offset, kLogSuffix, kCleanedSuffix),
                              staged_path(folder, base_offset, kLogSuffix, kSwapSuffix)));
  return file_system.sync_directory(folder);
}

Status finish_swap(FileSystem& file_system, OpenFiles& open_files, const std::string& folder,
                   const std::vector<Offset>& replaced) {
  const Offset base = replaced.front();
  for (const std::string_view suffix : {kOffsetIndexSuffix, kTimeIndexSuffix, kAbortedIndexSuffix}) {
    NARU_TRY(remove_if_there(file_system, open_files, staged_path(folder, base, suffix)));
  }
  for (const Offset old : std::span(replaced).subspan(1)) {
    NARU_TRY(Segment::remove_files(file_system, open_files, folder, old));
  }
  // Before the new segment loses the name that says what it replaces.
  NARU_TRY(file_system.sync_directory(folder));
  const std::string log_path = staged_path(folder, base, kLogSuffix);
  open_files.forget(log_path);
  NARU_TRY(file_system.rename(staged_path(folder, base, kLogSuffix, kSwapSuffix), log_path));
  for (const std::string_view suffix : {kOffsetIndexSuffix, kTimeIndexSuffix, kAbortedIndexSuffix}) {
    NARU_TRY(rename_if_there(file_system, open_files, staged_path(folder, base, suffix, kCleanedSuffix),
                             staged_path(folder, base, suffix)));
  }
  return file_system.sync_directory(folder);
}

namespace {

struct Leftover {
  std::string path;
  LeftoverName name;
  Offset base;  // of a swap
};

// What the names in a folder say about compactions that were interrupted.
struct FoundNames {
  std::vector<Leftover> leftovers;
  std::vector<Offset> segments;
};

FoundNames find_leftovers(const std::vector<DirectoryEntry>& entries, const std::string& folder) {
  FoundNames found;
  for (const DirectoryEntry& entry : entries) {
    const std::string_view name = entry.name;
    if (const auto segment = parse_segment_file_name(name, kLogSuffix)) {
      found.segments.push_back(*segment);
    } else if (name.ends_with(kCleanedSuffix)) {
      found.leftovers.push_back({folder + "/" + entry.name, LeftoverName::cleaned, kNoOffset});
    } else if (name.ends_with(kSwapSuffix)) {
      const auto swap = parse_segment_file_name(name.substr(0, name.size() - kSwapSuffix.size()), kLogSuffix);
      if (swap) found.leftovers.push_back({folder + "/" + entry.name, LeftoverName::swap, *swap});
    }
  }
  // Swaps first: finishing one gives the indexes that belong to it their names.
  std::ranges::sort(found.leftovers, std::ranges::greater(), &Leftover::name);
  return found;
}

struct ScannedSwap {
  SwapContent content = SwapContent::whole;
  Offset end;
  std::string problem;
};

Result<ScannedSwap> scan_swap(FileSystem& file_system, const Leftover& leftover) {
  NARU_TRY_ASSIGN(const std::shared_ptr<const File> file, file_system.open(leftover.path, OpenMode::read));
  NARU_TRY_ASSIGN(const BatchScan scan,
                  scan_batches(file, leftover.base, kNoLeaderEpoch, [](const BatchHeader&, uint64_t) {}));
  if (!scan.all_valid()) return ScannedSwap{SwapContent::damaged, scan.valid_end, scan.problem};
  if (scan.valid_bytes == 0) return ScannedSwap{SwapContent::damaged, scan.valid_end, "it is empty"};
  return ScannedSwap{.end = scan.valid_end};
}

Status finish_interrupted(FileSystem& file_system, OpenFiles& open_files, const std::string& folder, Offset base,
                          Offset end, const std::vector<Offset>& segments) {
  std::vector<Offset> replaced{base};
  std::ranges::copy_if(segments, std::back_inserter(replaced), [&](Offset old) { return old > base && old < end; });
  NARU_TRY(finish_swap(file_system, open_files, folder, replaced));
  log_info("log_storage", "{}: finished an interrupted compaction of offsets {} to {}", folder, base, end);
  return Status();
}

}  // namespace

Status settle_swaps(FileSystem& file_system, OpenFiles& open_files, const std::string& folder,
                    std::vector<DirectoryEntry>& entries) {
  const FoundNames found = find_leftovers(entries, folder);
  if (found.leftovers.empty()) return Status();
  for (const Leftover& leftover : found.leftovers) {
    ScannedSwap scanned;
    if (leftover.name == LeftoverName::swap) {
      NARU_TRY_ASSIGN(scanned, scan_swap(file_system, leftover));
    }
    switch (decide(SwapFacts{leftover.name, scanned.content})) {
      case SwapAction::remove:
        NARU_TRY(remove_if_there(file_system, open_files, leftover.path));
        break;
      case SwapAction::finish:
        NARU_TRY(finish_interrupted(file_system, open_files, folder, leftover.base, scanned.end, found.segments));
        break;
      case SwapAction::refuse:
        return error(ErrorCode::corrupt_data,
                     "{} is damaged: {}. It was to take the place of segments that may be gone already. Restore the "
                     "file; or, if all of them are there, move it away and start again",
                     leftover.path, scanned.problem);
    }
  }
  NARU_TRY_ASSIGN(entries, file_system.list(folder));
  return Status();
}

}  // namespace naru
