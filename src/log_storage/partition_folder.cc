#include "log_storage/partition_folder.h"

#include <algorithm>
#include <charconv>

#include "log_storage/checkpoint_file.h"

namespace naru {
namespace {

constexpr size_t kOffsetDigits = 20;
constexpr std::string_view kMetadataVersionLine = "version: 0\n";
constexpr std::string_view kTopicIdKey = "topic_id: ";

}  // namespace

std::string segment_file_name(Offset base_offset, std::string_view suffix) {
  return fmt::format("{:020}{}", base_offset.value(), suffix);
}

std::optional<Offset> parse_segment_file_name(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix) || name.size() != kOffsetDigits + suffix.size()) return std::nullopt;
  const std::string_view digits = name.substr(0, kOffsetDigits);
  if (!std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc()) return std::nullopt;
  return Offset(value);
}

Status fill_new_partition_folder(FileSystem& file_system, const std::string& folder, const Uuid& topic_id) {
  const std::string metadata = fmt::format("{}{}{}\n", kMetadataVersionLine, kTopicIdKey, topic_id.to_string());
  // In place: nobody looks for the folder before all of it is there.
  NARU_TRY_ASSIGN(const auto file,
                  file_system.open(fmt::format("{}/{}", folder, kMetadataFileName), OpenMode::create_new));
  NARU_TRY(file->write_at(0, as_bytes(metadata)));
  NARU_TRY(file->sync_data());
  NARU_TRY_ASSIGN(CheckpointFile checkpoint, CheckpointFile::open(file_system, folder));
  NARU_TRY(checkpoint.write_both_and_sync({.durable_end = Offset(0), .log_start_offset = Offset(0)}));
  return file_system.sync_directory(folder);
}

Result<Uuid> read_partition_topic_id(FileSystem& file_system, const std::string& folder) {
  const std::string path = folder + "/" + std::string(kMetadataFileName);
  NARU_TRY_ASSIGN(const Bytes content, read_whole_file(file_system, path, 4096));
  std::string_view text = as_text(content);
  if (!text.starts_with(kMetadataVersionLine)) {
    return failure(ErrorCode::unsupported_format,
                   "{} does not begin with 'version: 0': it is damaged, or of a newer Naru", path);
  }
  text.remove_prefix(kMetadataVersionLine.size());
  if (text.starts_with(kTopicIdKey) && text.ends_with('\n')) {
    const auto id = Uuid::parse(text.substr(kTopicIdKey.size(), text.size() - kTopicIdKey.size() - 1));
    if (id) return *id;
  }
  return failure(ErrorCode::corrupt_data, "{} holds no topic id", path);
}

}  // namespace naru
