// The folders of partitions in the data folders: which there are, making new ones, deleting.
//
// Names become durable with sync_names(), once for many folders: a folder that was created may be used, and one that
// was renamed for deletion is gone for good, only after that. It also lists new folders in the manifest of their data
// folder: one that is listed and not there is missing, and nobody makes it anew by mistake.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster_control/metadata_image.h"
#include "commit_journal/folder_journals.h"
#include "log_storage/log_directory.h"
#include "log_storage/partition_manifest.h"
#include "replication/partition.h"

namespace naru {

// Thread-safe, except that one partition is created or deleted by one thread at a time. Calls block: on workers.
class PartitionFolders {
 public:
  using PartitionKey = std::pair<Uuid, PartitionIndex>;
  struct Location {
    LogDirectory* directory = nullptr;
    CommitJournal* journal = nullptr;  // of the same data folder
    std::string topic;
    std::string path;
    bool durable = true;   // its name, as far as we know
    bool renamed = false;  // for deletion
  };

  // The journals are in the order of the directories; both outlive it.
  PartitionFolders(const std::vector<std::unique_ptr<LogDirectory>>& directories, FolderJournals& journals)
      : directories_(directories), journals_(journals) {}

  // Reads what is there, and what has to be; once. Refuses a partition that is in two data folders. What is there and
  // not listed is listed: it comes from a version without manifest, from another data folder, or from a crash.
  Status list();

  std::optional<Location> find(const Uuid& topic_id, PartitionIndex index) const;
  std::map<PartitionKey, Location> all() const;

  // Partitions that have to be here and are not, with the paths where they were.
  std::map<PartitionKey, std::string> missing() const;
  std::optional<std::string> missing_path(const Uuid& topic_id, PartitionIndex index) const;
  // It may be created as if it had never been here. Durable when it returns.
  Status forget_missing(const Uuid& topic_id, PartitionIndex index);

  // In the data folder that has the fewest. The next sync_names() makes its name durable; tell so by made_durable().
  Status create(const PartitionIdentity& identity);
  void made_durable(const PartitionIdentity& identity);

  // Deletion: rename, sync_names(), remove, and unlist the topic. A step that failed is gone on with at the next
  // attempt; ok when there is no such folder. The log must be closed before.
  Status rename_for_deletion(const DeletedTopic& topic, PartitionIndex index);
  Status remove(const DeletedTopic& topic, PartitionIndex index);
  Status unlist(const DeletedTopic& topic);

  // Makes durable what was created and renamed before the call, and lists what was created. One call at a time.
  Status sync_names();

 private:
  struct Missing {
    LogDirectory* directory = nullptr;
    std::string path;
  };

  Status bring_list_in_line(LogDirectory& directory);
  Status sync_and_list(LogDirectory& directory);
  size_t emptiest_directory();

  const std::vector<std::unique_ptr<LogDirectory>>& directories_;
  FolderJournals& journals_;
  mutable std::mutex mutex_;  // held for look-ups
  std::map<PartitionKey, Location> folders_;
  std::map<PartitionKey, Missing> missing_;
  std::map<const LogDirectory*, ListedPartitions> unlisted_;  // created, and not in the manifest yet
  std::map<const LogDirectory*, size_t> counts_;
  std::set<LogDirectory*> unsynced_;  // never gone through in its order, which no two runs share
};

}  // namespace naru
