#include "broker/partition_keeper.h"

#include <algorithm>
#include <utility>

#include "async/task_group.h"
#include "foundation/log.h"

namespace naru {
namespace {

bool hosts(const std::vector<BrokerId>& replicas, BrokerId self) {
  return std::ranges::find(replicas, self) != replicas.end();
}

std::vector<FolderJournals::Folder> journal_folders(const std::vector<std::unique_ptr<LogDirectory>>& directories) {
  std::vector<FolderJournals::Folder> folders;
  for (const auto& directory : directories) folders.push_back({directory->path(), directory->was_clean_shutdown()});
  return folders;
}

JournalSettings journal_settings(const BrokerConfig& config) {
  return {.enabled = config.journal_enable,
          .bytes = config.journal_bytes,
          .batch_max_bytes = config.journal_batch_max_bytes};
}

}  // namespace

PartitionKeeper::PartitionKeeper(Seams seams, const BrokerConfig& config, MetricsRegistry& metrics,
                                 OpenFiles& open_files, HostedPartitions& hosted,
                                 std::vector<std::unique_ptr<LogDirectory>> directories, const ProducerRules& producers)
    : seams_(seams),
      config_(config),
      hosted_(hosted),
      directories_(std::move(directories)),
      journals_(seams, journal_folders(directories_), journal_settings(config), metrics),
      open_files_(open_files),
      producers_(producers) {}

Task<Status> PartitionKeeper::list_folders() {
  return on_worker(seams_.scheduler, [this]() -> Status {
    const std::scoped_lock lock(folders_mutex_);
    for (size_t i = 0; i < directories_.size(); ++i) {
      NARU_TRY_ASSIGN(const auto found, directories_[i]->partitions());
      for (const PartitionFolder& folder : found) {
        const auto [at, added] = folders_.try_emplace({folder.topic_id, folder.partition},
                                                      Location{directories_[i].get(), &journals_.of(i), folder.path});
        if (!added) {
          return error(ErrorCode::corrupt_data,
                       "{} and {} hold the same partition; move the older one out of the data folder", at->second.path,
                       folder.path);
        }
      }
    }
    return journals_.read();
  });
}

Task<void> PartitionKeeper::begin_journals() {
  return on_worker(seams_.scheduler, [this] {
    const std::scoped_lock lock(folders_mutex_);
    std::set<LogId> present;
    for (const auto& [key, location] : folders_) present.insert({key.first, key.second});
    journals_.begin(present);
  });
}

Task<Status> PartitionKeeper::bind_cluster(Uuid cluster_id) {
  return on_worker(seams_.scheduler, [this, cluster_id]() -> Status {
    const std::scoped_lock lock(folders_mutex_);
    for (const auto& directory : directories_) NARU_TRY(directory->bind_cluster(cluster_id));
    return {};
  });
}

Task<std::vector<Uuid>> PartitionKeeper::follow(MetadataImagePtr image) {
  std::vector<Uuid> deleted;
  // Deletions first: a topic that was deleted and made again needs its name back.
  for (const auto& [id, topic] : image->deleted_topics()) {
    if (!hosts(topic.pending_brokers, config_.node_id)) continue;
    if (co_await delete_topic(topic)) deleted.push_back(id);
  }
  co_await open_missing(*image);
  for (const TopicMetadataPtr& topic : image->topics()) {
    hosted_.set_config(topic->id, std::make_shared<const TopicConfig>(resolve_topic_config(config_, topic->configs)));
  }
  if (!std::exchange(strays_mentioned_, true)) warn_of_strays(*image);
  co_return deleted;
}

Task<void> PartitionKeeper::open_missing(const MetadataImage& image) {
  TaskGroup openings;
  for (const TopicMetadataPtr& topic : image.topics()) {
    std::shared_ptr<const TopicConfig> config;
    for (const PartitionStatePtr& state : topic->partitions) {
      if (!hosts(state->replicas, config_.node_id) || hosted_.contains(topic->id, state->index)) continue;
      if (!config) config = std::make_shared<const TopicConfig>(resolve_topic_config(config_, topic->configs));
      openings.spawn(open_partition({.topic = topic->name, .topic_id = topic->id, .index = state->index},
                                    state->leader_epoch, config));
    }
  }
  co_await openings.join();
}

Task<void> PartitionKeeper::open_partition(PartitionIdentity identity, LeaderEpoch leader_epoch,
                                           std::shared_ptr<const TopicConfig> config) {
  auto opened = co_await open_log(identity, *config);
  if (!opened) {
    log_error("partition", "{} is offline: {}", identity.to_string(), opened.error().to_string());
    hosted_.add(identity, {.config = std::move(config),
                           .offline_reason = Status(ErrorCode::log_offline, opened.error().message())});
    co_return;
  }
  const PartitionServices services{
      .clock = seams_.clock, .scheduler = seams_.scheduler, .durability = *opened->journal};
  auto partition =
      std::make_shared<Partition>(identity, std::move(opened->log), config_.node_id, leader_epoch, *config, services);
  hosted_.add(identity, {.partition = std::move(partition), .config = std::move(config)});
}

Task<Result<PartitionKeeper::OpenedPartition>> PartitionKeeper::open_log(const PartitionIdentity& identity,
                                                                         const TopicConfig& config) {
  return on_worker(seams_.scheduler, [this, &identity, &config]() -> Result<OpenedPartition> {
    NARU_TRY_ASSIGN(const Location location, locate_or_create(identity));
    const LogId id{identity.topic_id, identity.index};
    const auto journaled = journals_.unreplayed(id);
    NARU_TRY_ASSIGN(OpenedLog opened,
                    PartitionLog::open(seams_.files, open_files_, location.path, log_config_of(config),
                                       {.topic_id = identity.topic_id,
                                        .clean_shutdown = location.directory->was_clean_shutdown(),
                                        .now = seams_.clock.wall_now_ms(),
                                        .journaled = journaled,
                                        .producers = producers_}));
    if (opened.report.remarkable()) log_warn("partition", "{}: {}", identity.to_string(), opened.report.to_string());
    journals_.replayed(id);
    return OpenedPartition{std::move(opened.log), location.journal};
  });
}

Result<PartitionKeeper::Location> PartitionKeeper::locate_or_create(const PartitionIdentity& identity) {
  const std::scoped_lock lock(folders_mutex_);
  const PartitionKey key{identity.topic_id, identity.index};
  if (const auto known = folders_.find(key); known != folders_.end()) return known->second;

  const auto partitions_in = [this](const LogDirectory* directory) {
    return std::ranges::count(folders_, directory, [](const auto& folder) { return folder.second.directory; });
  };
  const auto emptiest = std::ranges::min_element(
      directories_, {}, [&](const std::unique_ptr<LogDirectory>& directory) { return partitions_in(directory.get()); });
  LogDirectory& chosen = **emptiest;
  CommitJournal& journal = journals_.of(static_cast<size_t>(emptiest - directories_.begin()));
  NARU_TRY_ASSIGN(std::string path, chosen.create_partition(identity.topic, identity.index, identity.topic_id));
  return folders_.emplace(key, Location{&chosen, &journal, std::move(path)}).first->second;
}

Task<bool> PartitionKeeper::delete_topic(const DeletedTopic& topic) {
  bool done = true;
  for (int32_t index = 0; index < topic.partition_count; ++index) {
    const Status status = co_await delete_partition(topic, PartitionIndex(index));
    if (status.ok()) continue;
    done = false;  // tried again with the next image, or after a restart
    log_error("partition", "could not delete {}-{}: {}", topic.name, index, status.to_string());
  }
  co_return done;
}

Task<Status> PartitionKeeper::delete_partition(const DeletedTopic& topic, PartitionIndex index) {
  const HostedPartition gone = hosted_.remove(topic.id, index);
  if (gone) {
    ignore(co_await gone.partition->close(Status(ErrorCode::unknown_topic_or_partition)));
  }
  co_return co_await on_worker(seams_.scheduler, [this, &topic, index, &gone]() -> Status {
    const std::scoped_lock lock(folders_mutex_);
    const auto folder = folders_.find({topic.id, index});
    if (folder == folders_.end()) return {};
    NARU_TRY_ASSIGN(const std::string doomed, folder->second.directory->begin_deletion(topic.name, index, topic.id));
    LogDirectory* directory = folder->second.directory;
    if (gone) folder->second.journal->closed(*gone.partition);
    journals_.replayed({topic.id, index});
    folders_.erase(folder);
    return directory->finish_deletion(doomed);
  });
}

void PartitionKeeper::warn_of_strays(const MetadataImage& image) {
  const std::scoped_lock lock(folders_mutex_);
  for (const auto& [key, location] : folders_) {
    if (image.find_topic(key.first) != nullptr) continue;
    log_warn("partition", "{} belongs to no known topic and is left alone; remove it by hand if it is not needed",
             location.path);
  }
}

Task<Status> PartitionKeeper::close() {
  bool all_closed = true;
  for (const auto& partition : hosted_.all()) {
    const Status status = co_await partition->close(Status(ErrorCode::shutting_down));
    if (status.ok()) continue;
    all_closed = false;
    log_error("partition", "{} was not closed in order: {}", partition->identity().to_string(), status.to_string());
  }
  co_await journals_.drain();
  if (!all_closed)
    co_return error(ErrorCode::io_error, "not every log could be closed; the next start will recover them");
  co_return co_await on_worker(seams_.scheduler, [this]() -> Status {
    const std::scoped_lock lock(folders_mutex_);
    for (size_t i = 0; i < directories_.size(); ++i) {
      if (!every_log_is_closed(*directories_[i])) continue;
      journals_.of(i).leave_empty();
      NARU_TRY(directories_[i]->mark_clean_shutdown());
    }
    return {};
  });
}

// A log that was never opened, because it refused or belongs to no topic, is as it was when the broker started.
bool PartitionKeeper::every_log_is_closed(const LogDirectory& directory) const {
  return directory.was_clean_shutdown() || std::ranges::all_of(folders_, [&](const auto& folder) {
           const auto& [key, location] = folder;
           return location.directory != &directory || hosted_.find(key.first, key.second);
         });
}

}  // namespace naru
