#include "log_storage/old_file_names.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>

#include "foundation/log.h"
#include "log_storage/partition_folder.h"

namespace naru {
namespace {

constexpr std::array<RenamedSuffix, 4> kRenamed{{{".index", kOffsetIndexSuffix},
                                                 {".timeindex", kTimeIndexSuffix},
                                                 {".txnindex", kAbortedIndexSuffix},
                                                 {".snapshot", kProducerSnapshotSuffix}}};
constexpr std::string_view kBeingWritten = ".tmp";  // never counts, and nobody would write it again under this name

struct OldName {
  Offset offset;
  std::string_view suffix_of_today;
  std::string_view stage;  // behind the suffix
};

// Nothing when the name is not an old one. Called for every file of every folder at a start.
std::optional<OldName> parse_old_name(std::string_view name) {
  OldName old;
  for (const std::string_view stage : {kCleanedSuffix, kBeingWritten}) {
    if (name.ends_with(stage)) old.stage = stage;
  }
  name.remove_suffix(old.stage.size());
  for (const RenamedSuffix& renamed : kRenamed) {
    const auto offset = parse_segment_file_name(name, renamed.old_suffix);
    if (!offset) continue;
    old.offset = *offset;
    old.suffix_of_today = renamed.suffix;
    return old;
  }
  return std::nullopt;
}

bool holds_old_names(const std::vector<DirectoryEntry>& entries) {
  return std::ranges::any_of(entries,
                             [](const DirectoryEntry& entry) { return parse_old_name(entry.name).has_value(); });
}

}  // namespace

std::vector<RenamedSuffix> renamed_suffixes() {
  return {kRenamed.begin(), kRenamed.end()};
}

Status adopt_old_file_names(FileSystem& file_system, const std::string& folder, std::vector<DirectoryEntry>& entries) {
  if (!holds_old_names(entries)) return Status();
  std::set<std::string> names;
  for (const DirectoryEntry& entry : entries) names.insert(entry.name);
  for (const DirectoryEntry& entry : entries) {
    const auto old = parse_old_name(entry.name);
    if (!old) continue;
    const std::string path = folder + "/" + entry.name;
    const std::string today = fmt::format("{}{}", segment_file_name(old->offset, old->suffix_of_today), old->stage);
    if (old->stage == kBeingWritten || names.contains(today)) {
      NARU_TRY(file_system.remove_file(path));
    } else {
      NARU_TRY(file_system.rename(path, folder + "/" + today));
    }
  }
  // Before the files are changed or replaced under the names of today.
  NARU_TRY(file_system.sync_directory(folder));
  log_debug("log_storage", "{}: files of an earlier version got the names of today", folder);
  NARU_TRY_ASSIGN(entries, file_system.list(folder));
  return Status();
}

}  // namespace naru
