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

PartitionKeeper::PartitionKeeper(Seams seams, const BrokerConfig& config, const LiveConfig& live_config,
                                 MetricsRegistry& metrics, OpenFiles& open_files, HostedPartitions& hosted,
                                 std::vector<std::unique_ptr<LogDirectory>> directories, const ProducerRules& producers)
    : seams_(seams),
      config_(config),
      live_config_(live_config),
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
        ++folder_counts_[directories_[i].get()];
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
    const Status status = co_await delete_topic(topic);
    const std::scoped_lock lock(problems_mutex_);
    if (status.ok()) {
      deleted.push_back(id);
      deletion_problems_.erase(id);
    } else {
      deletion_problems_.insert_or_assign(id, status);
    }
  }
  const auto topics = to_be_followed(*image);
  co_await open_missing(topics);
  for (const TopicMetadataPtr& topic : topics) {
    hosted_.set_config(topic->id,
                       std::make_shared<const TopicConfig>(resolve_topic_config(*followed_config_, topic->configs)));
  }
  if (!std::exchange(strays_mentioned_, true)) warn_of_strays(*image);
  followed_ = std::move(image);
  co_return deleted;
}

std::vector<TopicMetadataPtr> PartitionKeeper::to_be_followed(const MetadataImage& image) {
  auto config = live_config_.current();
  const bool all = followed_config_ != config;
  followed_config_ = std::move(config);
  if (all) {
    forget_unmade();
    return {image.topics().begin(), image.topics().end()};
  }
  std::vector<TopicMetadataPtr> topics = image.topics_changed_since(*followed_);
  for (const PartitionKey& key : unmade_) {
    const TopicMetadata* topic = image.find_topic(key.first);
    if (topic == nullptr) continue;
    const auto same = [topic](const TopicMetadataPtr& other) { return other.get() == topic; };
    if (std::ranges::none_of(topics, same)) topics.push_back(*std::ranges::find_if(image.topics(), same));
  }
  forget_unmade();
  return topics;
}

// They are missing again, and so opened by open_missing().
void PartitionKeeper::forget_unmade() {
  for (const auto& [topic_id, index] : std::exchange(unmade_, {})) hosted_.remove(topic_id, index);
}

Status PartitionKeeper::deletion_problem(const Uuid& topic_id) const {
  const std::scoped_lock lock(problems_mutex_);
  const auto found = deletion_problems_.find(topic_id);
  return found == deletion_problems_.end() ? Status() : found->second;
}

Task<void> PartitionKeeper::open_missing(const std::vector<TopicMetadataPtr>& topics) {
  std::vector<Opening> openings;
  for (const TopicMetadataPtr& topic : topics) {
    std::shared_ptr<const TopicConfig> config;
    for (const PartitionStatePtr& state : topic->partitions) {
      if (!hosts(state->replicas, config_.node_id) || hosted_.contains(topic->id, state->index)) continue;
      if (!config) {
        config = std::make_shared<const TopicConfig>(resolve_topic_config(*followed_config_, topic->configs));
      }
      openings.push_back(
          {{.topic = topic->name, .topic_id = topic->id, .index = state->index}, state->leader_epoch, config});
    }
  }
  // Before clients are there, every worker opens logs. Later, half of them are left for what clients wait for.
  const auto workers = static_cast<size_t>(config_.num_io_threads);
  const size_t lanes = std::min(openings.size(), strays_mentioned_ ? (workers + 1) / 2 : workers);
  std::atomic<size_t> next = 0;
  TaskGroup group;
  for (size_t lane = 0; lane < lanes; ++lane) group.spawn(open_next(openings, next));
  co_await group.join();
}

Task<void> PartitionKeeper::open_next(const std::vector<Opening>& openings, std::atomic<size_t>& next) {
  for (size_t at = next.fetch_add(1); at < openings.size(); at = next.fetch_add(1)) {
    co_await open_partition(openings[at]);
  }
}

Task<void> PartitionKeeper::open_partition(Opening opening) {
  auto& [identity, leader_epoch, config] = opening;
  auto opened = co_await open_log(identity, *config);
  const std::scoped_lock lock(folders_mutex_);
  const PartitionKey key{identity.topic_id, identity.index};
  const auto folder = folders_.find(key);
  if (!opened) {
    log_error("partition", "{} is offline: {}", identity.to_string(), opened.error().to_string());
    const bool unmade = folder == folders_.end();
    if (unmade) unmade_.insert(key);
    hosted_.add(identity, {.config = std::move(config),
                           .offline_reason = Status(ErrorCode::log_offline, opened.error().message()),
                           .unmade = unmade});
    co_return;
  }
  const PartitionServices services{
      .clock = seams_.clock, .scheduler = seams_.scheduler, .durability = *opened->journal};
  auto partition =
      std::make_shared<Partition>(identity, std::move(opened->log), config_.node_id, leader_epoch, *config, services);
  hosted_.add(
      identity,
      {.partition = std::move(partition), .config = std::move(config), .log_dir = folder->second.directory->path()});
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
  const PartitionKey key{identity.topic_id, identity.index};
  LogDirectory* directory = nullptr;
  CommitJournal* journal = nullptr;
  {
    const std::scoped_lock lock(folders_mutex_);
    if (const auto known = folders_.find(key); known != folders_.end()) return known->second;
    const size_t chosen = emptiest_directory();
    directory = directories_[chosen].get();
    journal = &journals_.of(chosen);
    ++folder_counts_[directory];
  }
  auto path = directory->create_partition(identity.topic, identity.index, identity.topic_id);
  const std::scoped_lock lock(folders_mutex_);
  if (!path) {
    --folder_counts_[directory];
    return failure(path.error());
  }
  return folders_.emplace(key, Location{directory, journal, std::move(*path)}).first->second;
}

size_t PartitionKeeper::emptiest_directory() {
  const auto count = [this](const std::unique_ptr<LogDirectory>& directory) { return folder_counts_[directory.get()]; };
  return static_cast<size_t>(std::ranges::min_element(directories_, {}, count) - directories_.begin());
}

Task<Status> PartitionKeeper::delete_topic(const DeletedTopic& topic) {
  Status first_problem;
  for (int32_t index = 0; index < topic.partition_count; ++index) {
    const Status status = co_await delete_partition(topic, PartitionIndex(index));
    if (status.ok()) continue;
    // Tried again with the next image, or after a restart.
    log_error("partition", "could not delete {}-{}: {}", topic.name, index, status.to_string());
    if (first_problem.ok()) first_problem = status;
  }
  co_return first_problem;
}

Task<Status> PartitionKeeper::delete_partition(const DeletedTopic& topic, PartitionIndex index) {
  const HostedPartition gone = hosted_.remove(topic.id, index);
  if (gone) {
    ignore(co_await gone.partition->close(Status(ErrorCode::unknown_topic_or_partition)));
  }
  co_return co_await on_worker(seams_.scheduler,
                               [this, &topic, index, &gone] { return delete_folder(topic, index, gone.partition); });
}

// Two steps, of which the second frees the space and may take long. A failed one is gone on with at the next attempt.
Status PartitionKeeper::delete_folder(const DeletedTopic& topic, PartitionIndex index,
                                      std::shared_ptr<Partition> closed) {
  const PartitionKey key{topic.id, index};
  Location location;
  {
    const std::scoped_lock lock(folders_mutex_);
    const auto folder = folders_.find(key);
    if (folder == folders_.end()) return {};
    if (closed) folder->second.closed = std::move(closed);
    location = folder->second;
  }
  if (!location.doomed) {
    NARU_TRY_ASSIGN(location.path, location.directory->begin_deletion(topic.name, index, topic.id));
    if (location.closed) location.journal->closed(*location.closed);
    journals_.replayed({topic.id, index});
    location.closed.reset();
    location.doomed = true;
    const std::scoped_lock lock(folders_mutex_);
    folders_.insert_or_assign(key, location);
  }
  NARU_TRY(location.directory->finish_deletion(location.path));
  const std::scoped_lock lock(folders_mutex_);
  folders_.erase(key);
  --folder_counts_[location.directory];
  return {};
}

void PartitionKeeper::warn_of_strays(const MetadataImage& image) {
  const std::scoped_lock lock(folders_mutex_);
  for (const auto& [key, location] : folders_) {
    if (location.doomed || image.find_topic(key.first) != nullptr) continue;
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
           return location.directory != &directory || location.doomed || hosted_.find(key.first, key.second);
         });
}

}  // namespace naru
