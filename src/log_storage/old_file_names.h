// Indexes and producer snapshots once had the names of Kafka's, with which they share no format. A folder of that time
// gets the names of today when it is opened, before anything in it is looked at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foundation/status.h"
#include "platform/file_system.h"

namespace naru {

struct RenamedSuffix {
  std::string_view old_suffix;
  std::string_view suffix;
};
// Also in front of ".cleaned", which compaction appends.
std::vector<RenamedSuffix> renamed_suffixes();

// Gives the files of a partition's folder their names of today, durably, and corrects `entries`, which is what the
// folder holds. Where a file has that name already, it is the newer one, and the old one is removed. Blocks. After a
// crash in between, each file has one name or the other, and the next call does the rest.
Status adopt_old_file_names(FileSystem& file_system, const std::string& folder, std::vector<DirectoryEntry>& entries);

}  // namespace naru
