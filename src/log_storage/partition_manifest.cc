#include "log_storage/partition_manifest.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "foundation/byte_reader.h"
#include "foundation/byte_writer.h"
#include "foundation/crc32c.h"
#include "foundation/log.h"

namespace naru {
namespace {

constexpr std::string_view kVersionLine = "version: 1\n";
constexpr std::string_view kVersionKey = "version: ";
constexpr std::string_view kComment =
    "# The partitions whose folders are here: topic id, partition, topic. One that is listed and missing stays "
    "offline\n"
    "# until its folder is restored, or its line is removed while the broker is stopped: then it begins empty.\n";
constexpr uint64_t kMaxManifestBytes = 1u << 30;

constexpr std::string_view kEndsMagic = "naru.end";
constexpr uint16_t kEndsVersion = 1;

std::string format_listed(const ListedPartitions& listed) {
  std::string text = fmt::format("{}{}", kVersionLine, kComment);
  for (const auto& [id, topic] : listed) {
    text += fmt::format("{} {} {}\n", id.topic_id.to_string(), id.partition, topic);
  }
  return text;
}

std::optional<std::pair<LogId, std::string>> parse_line(std::string_view line) {
  const size_t first = line.find(' ');
  const size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos || second + 1 == line.size()) return std::nullopt;
  const auto topic_id = Uuid::parse(line.substr(0, first));
  int32_t partition = -1;
  const auto [end, problem] = std::from_chars(line.data() + first + 1, line.data() + second, partition);
  if (!topic_id || problem != std::errc() || end != line.data() + second || partition < 0) return std::nullopt;
  return std::pair(LogId{*topic_id, PartitionIndex(partition)}, std::string(line.substr(second + 1)));
}

Bytes format_ends(const DurableEnds& ends) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.write_bytes(as_bytes(kEndsMagic));
  writer.write_int<uint16_t>(kEndsVersion);
  writer.write_int<uint64_t>(ends.size());
  for (const auto& [id, end] : ends) {
    writer.write_int<uint64_t>(id.topic_id.high);
    writer.write_int<uint64_t>(id.topic_id.low);
    writer.write_int<int32_t>(id.partition.value());
    writer.write_int<uint64_t>(end.truncations);
    writer.write_int<int64_t>(end.end.value());
  }
  writer.write_int<uint32_t>(crc32c(bytes));
  return bytes;
}

// Nothing: damaged, or of a newer version.
std::optional<DurableEnds> parse_ends(BytesView bytes) {
  if (bytes.size() < sizeof(uint32_t)) return std::nullopt;
  const BytesView checked = bytes.first(bytes.size() - sizeof(uint32_t));
  if (ByteReader(bytes.subspan(checked.size())).read_int<uint32_t>() != crc32c(checked)) return std::nullopt;
  ByteReader reader(checked);
  if (as_text(reader.read_bytes(kEndsMagic.size())) != kEndsMagic) return std::nullopt;
  if (reader.read_int<uint16_t>() != kEndsVersion) return std::nullopt;
  DurableEnds ends;
  for (auto left = reader.read_int<uint64_t>(); left > 0 && reader.ok(); --left) {
    LogId id;
    id.topic_id.high = reader.read_int<uint64_t>();
    id.topic_id.low = reader.read_int<uint64_t>();
    id.partition = PartitionIndex(reader.read_int<int32_t>());
    DurableEnd end;
    end.truncations = reader.read_int<uint64_t>();
    end.end = Offset(reader.read_int<int64_t>());
    ends.insert_or_assign(id, end);
  }
  if (!reader.ok() || !reader.at_end()) return std::nullopt;
  return ends;
}

}  // namespace

bool is_shorter(const DurableEnd& now, const DurableEnd& before) {
  if (now.truncations != before.truncations) return now.truncations < before.truncations;
  return now.end < before.end;
}

Result<PartitionManifest> PartitionManifest::open(FileSystem& file_system, std::string folder) {
  PartitionManifest manifest(file_system, std::move(folder));
  NARU_TRY(manifest.read_listed());
  NARU_TRY(manifest.read_ends());
  return manifest;
}

Status PartitionManifest::read_listed() {
  const std::string path = fmt::format("{}/{}", folder_, kManifestFileName);
  auto content = read_whole_file(*file_system_, path, kMaxManifestBytes);
  if (!content && content.error() == ErrorCode::not_found) return Status();
  if (!content) return std::move(content).error();
  std::string_view text = as_text(*content);
  if (text.starts_with(kVersionKey) && !text.starts_with(kVersionLine)) {
    return error(ErrorCode::unsupported_format, "{} was written by a newer version of Naru: start that one", path);
  }
  for (size_t number = 1; number == 1 || !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const bool is_partition = number > 1 && !line.starts_with('#');
    const auto parsed = is_partition ? parse_line(line) : std::nullopt;
    const bool is_right = number == 1 ? text.starts_with(kVersionLine) : parsed || !is_partition;
    if (end == std::string_view::npos || !is_right) {
      return error(ErrorCode::corrupt_data,
                   "{} is damaged in line {}: restore or remove the line. A partition that is not listed and whose "
                   "folder is missing begins empty",
                   path, number);
    }
    if (parsed) listed_.insert(*parsed);
    text.remove_prefix(end + 1);
  }
  exists_ = true;
  return Status();
}

Status PartitionManifest::read_ends() {
  const std::string path = fmt::format("{}/{}", folder_, kDurableEndsFileName);
  const auto content = read_whole_file(*file_system_, path, kMaxManifestBytes);
  if (!content) return content.error() == ErrorCode::not_found ? Status() : content.error();
  if (auto ends = parse_ends(*content)) {
    ends_ = std::move(*ends);
    ends_stale_ = std::erase_if(ends_, [this](const auto& end) { return !listed_.contains(end.first); }) > 0;
  } else {
    log_warn("log_storage",
             "{} is damaged, or of a newer version, and is not used: logs that are shorter than they were "
             "are not recognised by it in this start",
             path);
  }
  return Status();
}

bool PartitionManifest::would_change(const ListedPartitions& added, const std::set<LogId>& removed) const {
  if (!exists_ || unsure_ || ends_stale_) return true;
  const auto is_other = [this](const auto& partition) {
    const auto found = listed_.find(partition.first);
    return found == listed_.end() || found->second != partition.second;
  };
  return std::ranges::any_of(added, is_other) ||
         std::ranges::any_of(removed, [this](const LogId& id) { return listed_.contains(id); });
}

Status PartitionManifest::change(const ListedPartitions& added, const std::set<LogId>& removed) {
  if (!would_change(added, removed)) return Status();
  ListedPartitions next = listed_;
  DurableEnds ends = ends_;
  for (const LogId& id : removed) {
    next.erase(id);
    ends.erase(id);
  }
  for (const auto& [id, topic] : added) next.insert_or_assign(id, topic);
  // First: a partition that is made again under the same id does not have to be what it was.
  if (ends_stale_ || ends.size() != ends_.size()) NARU_TRY(write_ends(std::move(ends)));
  unsure_ = true;
  NARU_TRY(replace_file(*file_system_, folder_, std::string(kManifestFileName), as_bytes(format_listed(next))));
  unsure_ = false;
  exists_ = true;
  listed_ = std::move(next);
  return Status();
}

Status PartitionManifest::note_ends(const DurableEnds& ends) {
  DurableEnds next = ends_;
  for (const auto& [id, end] : ends) {
    if (listed_.contains(id)) next.insert_or_assign(id, end);
  }
  return write_ends(std::move(next));
}

Status PartitionManifest::write_ends(DurableEnds ends) {
  NARU_TRY(replace_file(*file_system_, folder_, std::string(kDurableEndsFileName), format_ends(ends)));
  ends_ = std::move(ends);
  ends_stale_ = false;
  return Status();
}

}  // namespace naru
