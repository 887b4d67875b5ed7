// Keeps the partitions on this broker in step with the metadata: opens, creates, reconfigures and deletes them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "async/task.h"
#include "broker/hosted_partitions.h"
#include "broker/live_config.h"
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
  PartitionKeeper(Seams seams, const BrokerConfig& config, const LiveConfig& live_config, MetricsRegistry& metrics,
                  OpenFiles& open_files, HostedPartitions& hosted,
                  std::vector<std::unique_ptr<LogDirectory>> directories, const ProducerRules& producers);

  // Reads which partitions and which journaled batches the data folders hold. Once, before follow(). Refuses a
  // partition that is in two folders, and a damaged journal.
  Task<Status> list_folders();

  // Writes the cluster's id into the data folders, or refuses those of another cluster.
  Task<Status> bind_cluster(Uuid cluster_id);

  // Returns when everything that `image` says is true here. A log that cannot be opened is reported, kept as it is, and
  // answered with its error; it does not keep the others from being served.
  // The result: topics whose recorded deletion is done on this broker.
  // Costs what has changed since the image before, not what is there.
  Task<std::vector<Uuid>> follow(MetadataImagePtr image);

  // After the first follow(), before anything is appended: the logs are recovered, so the journals can be used.
  Task<void> begin_journals();

  // Why the folders of a deleted topic are still there; ok when they are gone. Any thread.
  Status deletion_problem(const Uuid& topic_id) const;

  // Closes every log and leaves the clean-shutdown mark where it is true: every log in the folder was closed in order.
  Task<Status> close();

 private:
  using PartitionKey = std::pair<Uuid, PartitionIndex>;
  struct Location {
    LogDirectory* directory;
    CommitJournal* journal;  // of the same folder
    std::string path;
    bool doomed = false;                // renamed for deletion; its space is not free yet
    std::shared_ptr<Partition> closed;  // for deletion; the journal has not been told yet
  };
  struct Opening {
    PartitionIdentity identity;
    LeaderEpoch leader_epoch;
    std::shared_ptr<const TopicConfig> config;
  };
  struct OpenedPartition {
    std::unique_ptr<PartitionLog> log;
    CommitJournal* journal;
  };

  Task<void> open_missing(const std::vector<TopicMetadataPtr>& topics);
  // Topics whose partitions or configuration may have to be touched.
  std::vector<TopicMetadataPtr> to_be_followed(const MetadataImage& image);
  void forget_unmade();
  Task<void> open_next(const std::vector<Opening>& openings, std::atomic<size_t>& next);
  Task<void> open_partition(Opening opening);
  Task<Result<OpenedPartition>> open_log(const PartitionIdentity& identity, const TopicConfig& config);
  Result<Location> locate_or_create(const PartitionIdentity& identity);
  size_t emptiest_directory();
  Task<Status> delete_topic(const DeletedTopic& topic);
  Task<Status> delete_partition(const DeletedTopic& topic, PartitionIndex index);
  Status delete_folder(const DeletedTopic& topic, PartitionIndex index, std::shared_ptr<Partition> closed);
  void warn_of_strays(const MetadataImage& image);
  bool every_log_is_closed(const LogDirectory& directory) const;

  Seams seams_;
  const BrokerConfig& config_;
  const LiveConfig& live_config_;
  HostedPartitions& hosted_;
  std::vector<std::unique_ptr<LogDirectory>> directories_;
  FolderJournals journals_;  // one for each of the directories, in their order
  OpenFiles& open_files_;
  const ProducerRules producers_;

  std::mutex folders_mutex_;  // held for look-ups
  std::map<PartitionKey, Location> folders_;
  std::map<const LogDirectory*, size_t> folder_counts_;
  std::set<PartitionKey> unmade_;  // whose folder could not be created; tried again with every image
  mutable std::mutex problems_mutex_;
  std::map<Uuid, Status> deletion_problems_;

  // As of the last follow().
  MetadataImagePtr followed_ = std::make_shared<const MetadataImage>();
  std::shared_ptr<const BrokerConfig> followed_config_;
  bool strays_mentioned_ = false;
};

}  // namespace naru
