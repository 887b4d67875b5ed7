#include "log_storage/tombstone_horizon.h"

#include <algorithm>
#include <string_view>

#include "log_storage/number_lines.h"
#include "log_storage/partition_folder.h"

namespace naru {
namespace {

constexpr std::string_view kVersion = "0";

}  // namespace

TombstoneHorizon TombstoneHorizon::after_drop(Offset end) const {
  return {.offset = std::max(offset, end), .drops = drops + 1};
}

Result<StoredTombstoneHorizon> read_tombstone_horizon(FileSystem& file_system, const std::string& folder) {
  using Kind = StoredTombstoneHorizon::Kind;
  NARU_TRY_ASSIGN(const NumberLines lines,
                  read_number_lines(file_system, folder + "/" + std::string(kTombstoneFileName), kVersion, 2));
  if (lines.kind == NumberLines::Kind::missing) return StoredTombstoneHorizon{};
  if (lines.kind == NumberLines::Kind::damaged || lines.numbers[0] < 0 || lines.numbers[1] < 0) {
    return StoredTombstoneHorizon{.kind = Kind::damaged};
  }
  return StoredTombstoneHorizon{.kind = Kind::stored,
                                .value = {.offset = Offset(lines.numbers[0]), .drops = lines.numbers[1]}};
}

Status write_tombstone_horizon(FileSystem& file_system, const std::string& folder, const TombstoneHorizon& horizon) {
  const std::string text = fmt::format("{}\n{}\n{}\n", kVersion, horizon.offset, horizon.drops);
  return replace_file(file_system, folder, std::string(kTombstoneFileName), as_bytes(text));
}

}  // namespace naru
