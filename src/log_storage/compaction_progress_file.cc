#include "log_storage/compaction_progress_file.h"

#include <string_view>

#include "log_storage/number_lines.h"
#include "log_storage/partition_folder.h"

namespace naru {
namespace {

constexpr std::string_view kVersion = "0";

}  // namespace

Result<CompactionProgress> read_compaction_progress(FileSystem& file_system, const std::string& folder,
                                                    uint64_t truncations) {
  NARU_TRY_ASSIGN(const NumberLines lines,
                  read_number_lines(file_system, folder + "/" + std::string(kCompactionFileName), kVersion, 3));
  if (lines.kind != NumberLines::Kind::whole || lines.numbers[0] < 0) return CompactionProgress{};
  if (static_cast<uint64_t>(lines.numbers[2]) != truncations) return CompactionProgress{};
  return CompactionProgress{.first_dirty = Offset(lines.numbers[0]),
                            .next_delete_horizon = lines.numbers[1] < 0 ? kNeverByClock : lines.numbers[1]};
}

Status write_compaction_progress(FileSystem& file_system, const std::string& folder, const CompactionProgress& progress,
                                 uint64_t truncations) {
  const bool none = progress.next_delete_horizon == kNeverByClock;
  const std::string text = fmt::format("{}\n{}\n{}\n{}\n", kVersion, progress.first_dirty,
                                       none ? -1 : progress.next_delete_horizon, truncations);
  return replace_file(file_system, folder, std::string(kCompactionFileName), as_bytes(text));
}

}  // namespace naru
