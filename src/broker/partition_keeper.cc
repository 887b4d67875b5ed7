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

}  // namespace

PartitionKeeper::PartitionKeeper(Seams seams, const BrokerConfig& config, DurabilityService& durability,
                                 OpenFiles& open_files, HostedPartitions& hosted,
                                 std::vector<std::unique_ptr<LogDirectory>> directories)
    : seams_(seams),
      config_(config),
      partition_services_{.clock = seams.clock, .scheduler = seams.scheduler, .durability = durability},
      hosted_(hosted),
      directories_(std::move(directories)),
      open_files_(open_files) {}

Task<Status> PartitionKeeper::list_folders() {
  return on_worker(seams_.scheduler, [this]() -> Status {
    const std::scoped_lock lock(folders_mutex_);
    for (const auto& directory : directories_) {
      NARU_TRY_ASSIGN(const auto found, directory->partitions());
      for (const PartitionFolder& folder : found) {
        const auto [at, added] =
            folders_.try_emplace({folder.topic_id, folder.partition}, Location{directory.get(), folder.path});
        if (!added) {
          return error(ErrorCode::corrupt_data,
                       "{} and {} hold the same partition; move the older one out of the data folder", at->second.path,
                       folder.path);
        }
      }
    }
    return {};
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
  auto log = co_await open_log(identity, *config);
  if (!log) {
    log_error("partition", "{} is offline: {}", identity.to_string(), log.error().to_string());
    hosted_.add(identity,
                {.config = std::move(config), .offline_reason = Status(ErrorCode::log_offline, log.error().message())});
    co_return;
  }
  auto partition = std::make_shared<Partition>(identity, std::move(*log), config_.node_id, leader_epoch, *config,
                                               partition_services_);
  hosted_.add(identity, {.partition = std::move(partition), .config = std::move(config)});
}

Task<Result<std::unique_ptr<PartitionLog>>> PartitionKeeper::open_log(const PartitionIdentity& identity,
                                                                      const TopicConfig& config) {
  return on_worker(seams_.scheduler, [this, &identity, &config]() -> Result<std::unique_ptr<PartitionLog>> {
    NARU_TRY_ASSIGN(const Location location, locate_or_create(identity));
    NARU_TRY_ASSIGN(OpenedLog opened,
                    PartitionLog::open(seams_.files, open_files_, location.path, log_config_of(config),
                                       {.topic_id = identity.topic_id,
                                        .clean_shutdown = location.directory->was_clean_shutdown(),
                                        .now = seams_.clock.wall_now_ms()}));
    if (opened.report.remarkable()) log_warn("partition", "{}: {}", identity.to_string(), opened.report.to_string());
    return std::move(opened.log);
  });
}

Result<PartitionKeeper::Location> PartitionKeeper::locate_or_create(const PartitionIdentity& identity) {
  const std::scoped_lock lock(folders_mutex_);
  const PartitionKey key{identity.topic_id, identity.index};
  if (const auto known = folders_.find(key); known != folders_.end()) return known->second;

  const auto partitions_in = [this](const LogDirectory* directory) {
    return std::ranges::count(folders_, directory, [](const auto& folder) { return folder.second.directory; });
  };
  const auto& emptiest = *std::ranges::min_element(
      directories_, {}, [&](const std::unique_ptr<LogDirectory>& directory) { return partitions_in(directory.get()); });
  NARU_TRY_ASSIGN(std::string path, emptiest->create_partition(identity.topic, identity.index, identity.topic_id));
  return folders_.emplace(key, Location{emptiest.get(), std::move(path)}).first->second;
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
  if (const HostedPartition gone = hosted_.remove(topic.id, index)) {
    ignore(co_await gone.partition->close(Status(ErrorCode::unknown_topic_or_partition)));
  }
  co_return co_await on_worker(seams_.scheduler, [this, &topic, index]() -> Status {
    const std::scoped_lock lock(folders_mutex_);
    const auto folder = folders_.find({topic.id, index});
    if (folder == folders_.end()) return {};
    NARU_TRY_ASSIGN(const std::string doomed, folder->second.directory->begin_deletion(topic.name, index, topic.id));
    LogDirectory* directory = folder->second.directory;
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
  if (!all_closed)
    co_return error(ErrorCode::io_error, "not every log could be closed; the next start will recover them");
  co_return co_await on_worker(seams_.scheduler, [this]() -> Status {
    const std::scoped_lock lock(folders_mutex_);
    for (const auto& directory : directories_) {
      if (every_log_is_closed(*directory)) NARU_TRY(directory->mark_clean_shutdown());
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
