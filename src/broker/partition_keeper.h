// Keeps the partitions on this broker in step with the metadata: opens, creates, reconfigures and deletes them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/task.h"
#include "broker/hosted_partitions.h"
#include "cluster_control/metadata_image.h"
#include "commit_journal/folder_journals.h"
#include "configuration/broker_config.h"
#include "log_storage/log_directory.h"
#include "log_storage/open_files.h"
#include "platform/seams.h"
#include "replication/partition.h"

namespace naru {

// One call at a time, on any thread: the publisher of the metadata sees to that, and close() comes after the last.
class PartitionKeeper {
 public:
  PartitionKeeper(Seams seams, const BrokerConfig& config, MetricsRegistry& metrics, OpenFiles& open_files,
                  HostedPartitions& hosted, std::vector<std::unique_ptr<LogDirectory>> directories,
                  const ProducerRules& producers);

  // Reads which partitions and which journaled batches the data folders hold. Once, before follow(). Refuses a
  // partition that is in two folders, and a damaged journal.
  Task<Status> list_folders();

  // Writes the cluster's id into the data folders, or refuses those of another cluster.
  Task<Status> bind_cluster(Uuid cluster_id);

  // Returns when everything that `image` says is true here. A log that cannot be opened is reported, kept as it is, and
  // answered with its error; it does not keep the others from being served.
  // The result: topics whose recorded deletion is done on this broker.
  Task<std::vector<Uuid>> follow(MetadataImagePtr image);

  // After the first follow(), before anything is appended: the logs are recovered, so the journals can be used.
  Task<void> begin_journals();

  // Closes every log and leaves the clean-shutdown mark where it is true: every log in the folder was closed in order.
  Task<Status> close();

 private:
  using PartitionKey = std::pair<Uuid, PartitionIndex>;
  struct Location {
    LogDirectory* directory;
    CommitJournal* journal;  // of the same folder
    std::string path;
  };
  struct OpenedPartition {
    std::unique_ptr<PartitionLog> log;
    CommitJournal* journal;
  };

  Task<void> open_missing(const MetadataImage& image);
  Task<void> open_partition(PartitionIdentity identity, LeaderEpoch leader_epoch,
                            std::shared_ptr<const TopicConfig> config);
  Task<Result<OpenedPartition>> open_log(const PartitionIdentity& identity, const TopicConfig& config);
  Result<Location> locate_or_create(const PartitionIdentity& identity);
  Task<bool> delete_topic(const DeletedTopic& topic);
  Task<Status> delete_partition(const DeletedTopic& topic, PartitionIndex index);
  void warn_of_strays(const MetadataImage& image);
  bool every_log_is_closed(const LogDirectory& directory) const;

  Seams seams_;
  const BrokerConfig& config_;
  HostedPartitions& hosted_;
  std::vector<std::unique_ptr<LogDirectory>> directories_;
  FolderJournals journals_;  // one for each of the directories, in their order
  OpenFiles& open_files_;
  const ProducerRules producers_;

  std::mutex folders_mutex_;  // held on workers; LogDirectory is not thread-safe either
  std::map<PartitionKey, Location> folders_;
  bool strays_mentioned_ = false;
};

}  // namespace naru
