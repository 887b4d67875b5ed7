#include "log_storage/compaction_progress_file.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "log_storage/partition_folder.h"

namespace naru {
namespace {

constexpr std::string_view kVersion = "0";

std::optional<int64_t> take_number(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  int64_t value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + end, value);
  if (problem != std::errc() || stop != text.data() + end) return std::nullopt;
  text.remove_prefix(end + 1);
  return value;
}

}  // namespace

Result<CompactionProgress> read_compaction_progress(FileSystem& file_system, const std::string& folder,
                                                    uint64_t truncations) {
  const std::string path = folder + "/" + std::string(kCompactionFileName);
  const auto content = read_whole_file(file_system, path, 4096);
  if (!content && (content.error() == ErrorCode::not_found || content.error() == ErrorCode::corrupt_data)) {
    return CompactionProgress{};
  }
  if (!content) return failure(content.error());
  std::string_view text = as_text(*content);
  const std::string_view version = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), version.size() + 1));
  if (version != kVersion && !version.empty() && version.find_first_not_of("0123456789") == std::string_view::npos) {
    return failure(ErrorCode::unsupported_format, "{} is of format {}, this Naru knows {}: start a newer version", path,
                   version, kVersion);
  }
  const auto first_dirty = take_number(text);
  const auto horizon = take_number(text);
  const auto truncated = take_number(text);
  const bool whole = version == kVersion && first_dirty && *first_dirty >= 0 && horizon && truncated && text.empty();
  if (!whole || static_cast<uint64_t>(*truncated) != truncations) return CompactionProgress{};
  return CompactionProgress{.first_dirty = Offset(*first_dirty),
                            .next_delete_horizon = *horizon < 0 ? kNeverByClock : *horizon};
}

Status write_compaction_progress(FileSystem& file_system, const std::string& folder, const CompactionProgress& progress,
                                 uint64_t truncations) {
  const bool none = progress.next_delete_horizon == kNeverByClock;
  const std::string text = fmt::format("{}\n{}\n{}\n{}\n", kVersion, progress.first_dirty,
                                       none ? -1 : progress.next_delete_horizon, truncations);
  return replace_file(file_system, folder, std::string(kCompactionFileName), as_bytes(text));
}

}  // namespace naru
