// One data folder of a broker: who it belongs to, which partitions are in it, and whether it was left in order.
//
//     naru.properties              identity and format version; its presence makes the folder ours
//     partition-folders            which partitions have to be here: partition_manifest.h
//     durable-ends                 how far their logs were durable
//     clean-shutdown               every log was closed; removed by the next start before anything is written
//     <topic>-<n>/                 a partition
//     <topic>-<n>.<id>-new/        one that is being created: a leftover, removed at start
//     <topic>-<n>.<id>-delete/     one that is being deleted: a leftover, removed at start
//
// Other names are left alone, so that other parts of the broker can keep their folders here.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/uuid.h"
#include "log_storage/partition_manifest.h"
#include "platform/file_system.h"
#include "platform/random.h"

namespace naru {

struct DirectoryIdentity {
  BrokerId node_id;
  Uuid directory_id;
  Uuid cluster_id;            // zero until bind_cluster()
  int64_t broker_epoch = -1;  // the newest that was written; -1: none
  int32_t data_format = 0;    // as it was found; what is written is the current one
  bool operator==(const DirectoryIdentity&) const = default;
};

struct PartitionFolder {
  std::string topic;
  PartitionIndex partition;
  Uuid topic_id;
  std::string path;
};

// The file name of a partition's folder, and the way back; nothing when the name is not one.
std::string partition_folder_name(std::string_view topic, PartitionIndex partition);
std::optional<std::pair<std::string, PartitionIndex>> parse_partition_folder_name(std::string_view name);

// Thread: calls block, and one at a time, except that different partitions may be created and deleted at the same time;
// the owner sees to that. The manifest, the ends and the identity may be written from several threads. Holds the
// folder's lock while it lives.
class LogDirectory {
 public:
  // Takes the folder, creating it if it is missing or empty. Removes the clean-shutdown mark and leftovers. Refuses a
  // folder that is in use, of another node, of a newer format, or not ours, with a sentence that says what to do.
  static Result<std::unique_ptr<LogDirectory>> open(FileSystem& file_system, std::string path, BrokerId node_id,
                                                    Random& random);

  // The first call writes the cluster's id into the folder; later ones compare: inconsistent_cluster_id.
  Status bind_cluster(const Uuid& cluster_id);

  // Durable when it returns. A folder that is found with an older epoch later is an older copy of itself.
  Status write_broker_epoch(int64_t epoch);

  const std::string& path() const { return path_; }
  DirectoryIdentity identity() const;
  bool was_clean_shutdown() const { return was_clean_shutdown_; }

  // Sorted by folder name. A folder whose partition.metadata cannot be read fails the call and is named.
  Result<std::vector<PartitionFolder>> partitions();

  // Creates the folder of a partition, ready for PartitionLog::open(), and returns its path; all or nothing. Again,
  // after something failed, for the same partition: goes on. Durable, and so of use, after sync_names().
  Result<std::string> create_partition(std::string_view topic, PartitionIndex partition, const Uuid& topic_id);

  // Deletes a partition in two steps: after the first, which is quick, its name is free, and after sync_names() it is
  // gone for good; the second frees the space. The log must be destroyed before. inconsistent_topic_id when the folder
  // holds another topic's data; not_found when there is none.
  Result<std::string> begin_deletion(std::string_view topic, PartitionIndex partition, const Uuid& topic_id);
  Status finish_deletion(const std::string& path);
  // Makes the names of what was created and deleted durable.
  Status sync_names();

  // The manifest. The order keeps every crash harmless: a folder's name is durable before it is listed, and it is
  // listed before it is used. One that is there and not listed is listed. A deletion takes it off the list last, so
  // that it can begin on a full disk: until that is confirmed, the topic counts as deleted, and nobody misses the
  // folder.
  ListedPartitions listed() const;
  Status change_list(const ListedPartitions& added, const std::set<LogId>& removed = {});
  // What was known of the log; none: nothing.
  std::optional<DurableEnd> durable_end(const LogId& log) const;
  Status note_durable_ends(const DurableEnds& ends);

  // After every log was closed; nothing may be written afterwards.
  Status mark_clean_shutdown();

 private:
  LogDirectory(FileSystem& file_system, std::string path, std::unique_ptr<DirectoryLock> lock);

  Status read_manifest();

  Status load_or_create_identity(BrokerId node_id, Random& random);
  Status refuse_if_foreign();
  Status write_identity();
  // Before anything in the folder gets a form or a name that the version which made the folder does not know.
  Status raise_data_format();
  Status consume_clean_shutdown_mark();
  Status remove_leftovers();

  FileSystem& file_system_;
  const std::string path_;
  std::unique_ptr<DirectoryLock> lock_;
  mutable std::mutex mutex_;  // guards the next two, also while they are written
  DirectoryIdentity identity_;
  std::optional<PartitionManifest> manifest_;
  bool was_clean_shutdown_ = false;
};

}  // namespace naru
