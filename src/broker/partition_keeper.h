// Keeps the partitions on this broker in step with the metadata: opens, creates, reconfigures and deletes them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/task.h"
#include "async/task_group.h"
#include "broker/hosted_partitions.h"
#include "broker/live_config.h"
#include "broker/partition_folders.h"
#include "cluster_control/controller_start.h"
#include "cluster_control/metadata_image.h"
#include "cluster_control/turnstile.h"
#include "commit_journal/folder_journals.h"
#include "configuration/broker_config.h"
#include "log_storage/log_directory.h"
#include "log_storage/open_files.h"
#include "log_storage/unsynced_logs.h"
#include "platform/seams.h"
#include "replication/partition.h"

namespace naru {

// One call at a time, on any thread, but for take_roles() beside follow(): the publisher of the metadata sees to that,
// and close() comes after the last.
class PartitionKeeper final : private OfflineLogObserver {
 public:
  PartitionKeeper(Seams seams, const BrokerConfig& config, const LiveConfig& live_config, MetricsRegistry& metrics,
                  OpenFiles& open_files, UnsyncedLogs& unsynced_logs, HostedPartitions& hosted,
                  std::vector<std::unique_ptr<LogDirectory>> directories, const ProducerRules& producers,
                  IsrProposals& isr_proposals, const ClusterContact& contact, OfflineLogObserver& offline_logs);

  // Reads which partitions and which journaled batches the data folders hold, and recovers the logs: before this broker
  // registers, so that nobody makes it the leader of a log that it cannot use. Once, before follow(). Refuses a
  // partition that is in two folders, and a damaged journal.
  Task<Status> recover_folders();
  // After that: the logs that cannot be used, or are missing.
  PartitionIds unusable() const;

  std::vector<DataFolder> data_folders() const;
  // Writes the epoch of this broker's registration into the data folders; the result: those in which it is durable.
  Task<std::vector<Uuid>> write_broker_epoch(int64_t epoch);

  // Writes the cluster's id into the data folders, or refuses those of another cluster.
  Task<Status> bind_cluster(Uuid cluster_id);

  // Partitions that are here lead and follow as the image says, with the configuration that it says. Waits for no disk.
  // `may_take_roles`: if not, they stay what they are.
  // Costs what has changed since the image before, not what is there.
  Task<void> take_roles(MetadataImagePtr image, bool may_take_roles);

  // Returns when everything that `image` says is true here; roles are those of the newest image. A log that cannot be
  // opened is reported, kept as it is, and answered with its error; it does not keep the others from being served. The
  // result: topics whose recorded deletion is done on this broker. Costs what has changed since the image before, not
  // what is there.
  Task<std::vector<Uuid>> follow(MetadataImagePtr image);

  // After the first follow(): partitions that are known and nowhere to be found, while a data folder is new. Its disk
  // may just not be mounted, and partitions that begin empty would hide that.
  const Status& start_problem() const { return start_problem_; }

  // After the first follow(), before anything is appended: the logs are recovered, so the journals can be used.
  Task<void> begin_journals();
  // From then on, what is durable is noted outside of the partitions' folders, from time to time, until close().
  void start_noting() { noting_.spawn(note_durable_ends_for_ever()); }

  // Whether something may be possible later that was not in the last follow(): partitions that were new and could not
  // be made, whose logs could not be opened for want of space or descriptors, or went offline for it since. The next
  // follow() tries them again, with the same image, too. Any thread, also inside a partition's strand.
  bool wants_another_try() const;
  // Topics with partitions that are other objects since the last call: their logs were opened again.
  std::set<Uuid> take_reopened();

  // Why the folders of a deleted topic are still there; ok when they are gone. Any thread.
  Status deletion_problem(const Uuid& topic_id) const;

  // Closes every log and leaves the clean-shutdown mark where it is true: every log in the folder was closed in order.
  Task<Status> close();

 private:
  using PartitionKey = PartitionFolders::PartitionKey;
  struct Opening {
    PartitionIdentity identity;
    std::shared_ptr<const TopicConfig> config;
    ProducerId first_new_producer;  // TopicMetadata
    bool is_new = false;            // its folder's name is not durable yet
    bool is_lost = false;           // it was here, and is not any more
    Status problem;                 // with creating it
  };
  using OpenResult = Result<std::unique_ptr<PartitionLog>>;
  enum class Reopening : uint8_t {
    not_yet,
    as_it_is,
    repaired,  // without what is damaged, and what comes after that
  };
  // A log that cannot be used, and may be when others have what it lacks.
  struct LostLog {
    std::optional<DurableEnd> end;  // where it ends, if it ends too early
    bool damaged = false;           // it was refused; neither: the folder is missing
  };

  // The topics of those that were opened.
  Task<std::set<Uuid>> open_missing(std::vector<TopicMetadataPtr> topics);
  Status look_for_lost(const std::vector<Opening>& openings) const;
  // Topics whose partitions or configuration may have to be touched.
  std::vector<TopicMetadataPtr> to_be_followed(const MetadataImage& image);
  void configure(const TopicMetadata& topic);
  void assign(const TopicMetadata& topic);
  bool is_settled(const Uuid& topic_id, PartitionIndex index) const;
  Task<void> recover_log(const PartitionKey& key, const PartitionFolders::Location& location);
  std::optional<OpenResult> take_recovered(const PartitionKey& key);

  // Logs that went offline for want of something, or are damaged, and are opened again: partition_keeper_reopening.cc.
  void offline_logs_changed() override;
  void damage_suspected(const LogId& id) override { offline_logs_.damage_suspected(id); }
  Task<void> close_to_reopen();
  Task<Reopening> may_reopen(const Partition& partition);
  Reopening may_reopen_damaged(const PartitionState& state, const OfflineDamage& damage) const;
  Task<void> close_one_to_reopen(HostedPartition hosted, Reopening reopening);
  // From where on the log is given up when it is opened, because others have it.
  std::optional<Offset> given_up_from(const PartitionKey& key) const;
  bool was_closed_to_reopen(const PartitionKey& key) const;
  // It was opened again, or is deleted.
  void let_go_of_closed(const PartitionKey& key, CommitJournal& journal);

  // Of those that are lost here: other replicas are in sync, and this one is not, so that it may catch up from nothing.
  Task<std::vector<PartitionKey>> safe_elsewhere();
  Task<void> give_up_lost();
  Status accept_loss(const PartitionKey& key);
  Task<void> make_folder(Opening& opening);
  Task<void> open_partition(Opening& opening);
  Task<OpenResult> open_log(const PartitionIdentity& identity, const LogConfig& config,
                            const PartitionFolders::Location& location);
  OpenResult open_here(const PartitionIdentity& identity, const LogConfig& config,
                       const PartitionFolders::Location& location);
  Status check_length(const PartitionIdentity& identity, const PartitionLog& log,
                      const PartitionFolders::Location& location);
  void serve(Opening& opening, const PartitionFolders::Location& location, std::unique_ptr<PartitionLog> log);
  void report_offline(Opening& opening, const Status& problem, bool unmade);
  Status why_missing(const std::string& path) const;
  Task<void> note_durable_ends_for_ever();
  Task<void> note_durable_ends();
  Task<Status> delete_topic(const DeletedTopic& topic);
  Task<void> close_and_rename(const DeletedTopic& topic, size_t number, Status& problem);
  Task<void> remove_renamed(const DeletedTopic& topic, size_t number, Status& problem);
  Task<void> close_in_order(Partition& partition, std::atomic<bool>& all_closed);
  // How many logs are opened or deleted at the same time.
  size_t lanes() const;
  void warn_of_strays(const MetadataImage& image);
  bool every_log_is_closed(const LogDirectory& directory) const;

  Seams seams_;
  const BrokerConfig& config_;
  const LiveConfig& live_config_;
  HostedPartitions& hosted_;
  std::vector<std::unique_ptr<LogDirectory>> directories_;
  FolderJournals journals_;  // one for each of the directories, in their order
  OpenFiles& open_files_;
  UnsyncedLogs& unsynced_logs_;
  const ProducerRules producers_;
  IsrProposals& isr_proposals_;
  const ClusterContact& contact_;
  OfflineLogObserver& offline_logs_;

  PartitionFolders folders_{directories_, journals_};
  mutable std::mutex unopened_mutex_;           // guards the next seven
  std::map<PartitionKey, ErrorCode> unopened_;  // by the last follow(), which the next one tries again
  std::map<PartitionKey, ErrorCode> retried_;   // of those, by the follow() that runs now
  std::map<PartitionKey, LostLog> lost_;
  std::map<PartitionKey, Offset> given_up_;       // what is damaged, of logs that are about to be opened: OpenOptions
  std::map<PartitionKey, OpenResult> recovered_;  // until the first follow() has been there
  // The former partitions of logs that are about to be opened again: a commit journal may hold what is theirs.
  std::map<PartitionKey, std::shared_ptr<Partition>> closed_;
  std::set<Uuid> reopened_;                          // for take_reopened()
  std::atomic<bool> any_to_reopen_{false};           // some may have gone offline for want of something
  std::atomic<bool> any_offline_{false};             // some could not be opened, now or earlier
  std::atomic<bool> lost_for_want_of_space_{false};  // some could begin anew, but for a full disk
  mutable std::mutex problems_mutex_;
  std::map<Uuid, Status> deletion_problems_;

  // As of the last take_roles(); whoever has the turn reads and writes them.
  Turnstile role_turns_{0};
  MetadataImagePtr role_image_ = std::make_shared<const MetadataImage>();
  std::shared_ptr<const BrokerConfig> role_config_;
  bool has_roles_ = false;

  // As of the last follow().
  MetadataImagePtr followed_ = std::make_shared<const MetadataImage>();
  std::shared_ptr<const BrokerConfig> followed_config_;
  bool strays_mentioned_ = false;
  bool listed_ = false;  // list_folders() went well
  bool bound_ = false;   // bind_cluster() was there, so the broker has started
  Status start_problem_;

  std::mutex noted_mutex_;
  DurableEnds noted_;
  TaskGroup noting_;
};

}  // namespace naru
