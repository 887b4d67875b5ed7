// The files of a data folder that say what its partitions have to be, so that one that was lost is not taken for a new
// one. They lie outside of the partitions' folders: whatever happens to one of those is seen here.
//
//     partition-folders   which partitions have their folder here: text, so that an operator can take a line out
//     durable-ends        how far their logs were durable a short while ago
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/ids.h"
#include "foundation/status.h"
#include "log_storage/log_id.h"
#include "platform/file_system.h"

namespace naru {

inline constexpr std::string_view kManifestFileName = "partition-folders";
inline constexpr std::string_view kDurableEndsFileName = "durable-ends";

// A log was durable up to `end` when it had been truncated so often.
struct DurableEnd {
  uint64_t truncations = 0;
  Offset end{0};

  bool operator==(const DurableEnd&) const = default;
};
// Whether a log that now has been truncated so often and ends there is not what it was.
bool is_shorter(const DurableEnd& now, const DurableEnd& before);

using ListedPartitions = std::map<LogId, std::string>;  // and their topics' names
using DurableEnds = std::map<LogId, DurableEnd>;

// Not thread-safe; calls block. What a call that failed wanted is on the disk or not; the next one writes everything.
class PartitionManifest {
 public:
  // corrupt_data, unsupported_format. Ends that cannot be read are forgotten: then less is known, and nothing wrong.
  static Result<PartitionManifest> open(FileSystem& file_system, std::string folder);

  // False: the folder is new, or was written by a version without manifest.
  bool exists() const { return exists_; }
  const ListedPartitions& listed() const { return listed_; }
  const DurableEnds& ends() const { return ends_; }

  // Durable when it returns. Creates the manifest if it does not exist. Writes nothing if nothing changes.
  Status change(const ListedPartitions& added, const std::set<LogId>& removed = {});
  // Replaces what is known of these logs, as far as they are listed.
  Status note_ends(const DurableEnds& ends);

 private:
  PartitionManifest(FileSystem& file_system, std::string folder)
      : file_system_(&file_system), folder_(std::move(folder)) {}

  Status read_listed();
  Status read_ends();
  bool would_change(const ListedPartitions& added, const std::set<LogId>& removed) const;
  Status write_ends(DurableEnds ends);

  FileSystem* file_system_;
  std::string folder_;
  ListedPartitions listed_;
  DurableEnds ends_;
  bool exists_ = false;
  bool unsure_ = false;      // the last attempt to write the list has failed
  bool ends_stale_ = false;  // the file speaks of logs that are not listed
};

}  // namespace naru
