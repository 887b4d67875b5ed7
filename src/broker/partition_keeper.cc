#include "broker/partition_keeper.h"

#include <algorithm>
#include <span>
#include <utility>

#include "broker/in_lanes.h"
#include "foundation/canary.h"
#include "foundation/log.h"
#include "foundation/shortage.h"

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
                                 MetricsRegistry& metrics, OpenFiles& open_files, UnsyncedLogs& unsynced_logs,
                                 HostedPartitions& hosted, std::vector<std::unique_ptr<LogDirectory>> directories,
                                 const ProducerRules& producers, IsrProposals& isr_proposals,
                                 const ClusterContact& contact, OfflineLogObserver& offline_logs)
    : seams_(seams),
      config_(config),
      live_config_(live_config),
      hosted_(hosted),
      directories_(std::move(directories)),
      journals_(seams, journal_folders(directories_), journal_settings(config), metrics),
      open_files_(open_files),
      unsynced_logs_(unsynced_logs),
      producers_(producers),
      isr_proposals_(isr_proposals),
      contact_(contact),
      offline_logs_(offline_logs) {}

Task<void> PartitionKeeper::begin_journals() {
  return on_worker(seams_.scheduler, [this] {
    std::set<LogId> present;
    for (const auto& [key, location] : folders_.all()) present.insert({key.first, key.second});
    // What a journal holds of a folder that is missing is needed when the folder is restored.
    for (const auto& [key, path] : folders_.missing()) present.insert({key.first, key.second});
    journals_.begin(present);
  });
}

Task<Status> PartitionKeeper::bind_cluster(Uuid cluster_id) {
  return on_worker(seams_.scheduler, [this, cluster_id]() -> Status {
    for (const auto& directory : directories_) NARU_TRY(directory->bind_cluster(cluster_id));
    bound_ = true;
    return {};
  });
}

Task<void> PartitionKeeper::take_roles(MetadataImagePtr image, bool may_take_roles) {
  const auto turn = co_await role_turns_.enter_always();
  auto config = live_config_.current();
  const bool other_config = role_config_ != config;
  role_config_ = std::move(config);
  const auto changed = image->topics_changed_since(*role_image_);
  const std::span<const TopicMetadataPtr> all = image->topics();
  for (const TopicMetadataPtr& topic : other_config ? all : std::span(changed)) configure(*topic);
  may_take_roles = may_take_roles || is_planted(Canary::roles_before_settled);
  if (may_take_roles) {
    for (const TopicMetadataPtr& topic : has_roles_ ? std::span(changed) : all) assign(*topic);
  }
  has_roles_ = may_take_roles;
  role_image_ = std::move(image);
}

void PartitionKeeper::configure(const TopicMetadata& topic) {
  hosted_.set_config(topic.id, std::make_shared<const TopicConfig>(resolve_topic_config(*role_config_, topic.configs)));
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
  co_await give_up_lost();
  co_await close_to_reopen();
  const std::set<Uuid> opened = co_await open_missing(to_be_followed(*image));
  {
    const auto turn = co_await role_turns_.enter_always();
    for (const Uuid& id : opened) {
      const TopicMetadata* topic = role_image_->find_topic(id);
      if (topic == nullptr) continue;
      configure(*topic);
      if (has_roles_ || is_planted(Canary::opened_before_settled)) assign(*topic);
    }
  }
  if (!std::exchange(strays_mentioned_, true)) {
    warn_of_strays(*image);
    const std::scoped_lock lock(unopened_mutex_);
    recovered_.clear();
  }
  followed_ = std::move(image);
  co_return deleted;
}

std::vector<TopicMetadataPtr> PartitionKeeper::to_be_followed(const MetadataImage& image) {
  auto config = live_config_.current();
  const bool all = followed_config_ != config;
  followed_config_ = std::move(config);
  {
    const std::scoped_lock lock(unopened_mutex_);
    retried_ = std::exchange(unopened_, {});
  }
  if (all) return {image.topics().begin(), image.topics().end()};
  std::vector<TopicMetadataPtr> topics = image.topics_changed_since(*followed_);
  std::set<Uuid> again;
  for (const auto& [key, problem] : retried_) again.insert(key.first);
  for (const TopicMetadataPtr& topic : topics) again.erase(topic->id);
  if (!again.empty()) {
    std::ranges::copy_if(image.topics(), std::back_inserter(topics),
                         [&again](const TopicMetadataPtr& topic) { return again.contains(topic->id); });
  }
  return topics;
}

// A partition ignores what it knows already.
void PartitionKeeper::assign(const TopicMetadata& topic) {
  for (const PartitionStatePtr& state : topic.partitions) {
    const HostedPartition hosted = hosted_.find(topic.id, state->index);
    if (!hosted) continue;
    hosted.partition->assign({.leader = state->leader,
                              .leader_epoch = state->leader_epoch,
                              .partition_epoch = state->partition_epoch,
                              .replicas = state->replicas,
                              .isr = state->isr});
  }
}

bool PartitionKeeper::wants_another_try() const {
  if (lost_for_want_of_space_ || any_to_reopen_) return true;
  {
    const std::scoped_lock lock(unopened_mutex_);
    if (!unopened_.empty()) return true;
  }
  const std::scoped_lock lock(problems_mutex_);
  return std::ranges::any_of(deletion_problems_, [](const auto& problem) { return is_shortage(problem.second); });
}

// Not here, and not tried in vain, either.
bool PartitionKeeper::is_settled(const Uuid& topic_id, PartitionIndex index) const {
  return hosted_.contains(topic_id, index) && !retried_.contains({topic_id, index});
}

Status PartitionKeeper::deletion_problem(const Uuid& topic_id) const {
  const std::scoped_lock lock(problems_mutex_);
  const auto found = deletion_problems_.find(topic_id);
  return found == deletion_problems_.end() ? Status() : found->second;
}

Task<std::set<Uuid>> PartitionKeeper::open_missing(std::vector<TopicMetadataPtr> topics) {
  std::set<Uuid> opened;
  std::vector<Opening> openings;
  for (const TopicMetadataPtr& topic : topics) {
    std::shared_ptr<const TopicConfig> config;
    for (const PartitionStatePtr& state : topic->partitions) {
      if (!hosts(state->replicas, config_.node_id) || is_settled(topic->id, state->index)) continue;
      if (!config) {
        config = std::make_shared<const TopicConfig>(resolve_topic_config(*followed_config_, topic->configs));
      }
      openings.push_back({.identity = {.topic = topic->name, .topic_id = topic->id, .index = state->index},
                          .config = config,
                          .first_new_producer = topic->first_new_producer});
    }
  }
  if (openings.empty()) co_return opened;
  if (!bound_) {
    start_problem_ = look_for_lost(openings);
    if (!start_problem_.ok()) co_return opened;
  }
  co_await in_lanes(openings.size(), lanes(), [&](size_t at) { return make_folder(openings[at]); });
  if (std::ranges::any_of(openings, &Opening::is_new)) {
    const Status synced = co_await on_worker(seams_.scheduler, [this] { return folders_.sync_names(); });
    for (Opening& opening : openings) {
      if (!opening.is_new) continue;
      if (synced.ok()) {
        folders_.made_durable(opening.identity);
      } else {
        opening.problem = synced;
      }
    }
  }
  co_await in_lanes(openings.size(), lanes(), [&](size_t at) { return open_partition(openings[at]); });
  // Not one by one: of those that are tried again, some would seem to be well in between.
  if (any_offline_) offline_logs_.offline_logs_changed();
  for (const Opening& opening : openings) opened.insert(opening.identity.topic_id);
  co_return opened;
}

// When a broker starts, all partitions have folders, or are listed and so known to be lost, but those whose creation
// was interrupted. Those of a data folder without manifest may be lost, too.
Status PartitionKeeper::look_for_lost(const std::vector<Opening>& openings) const {
  const auto lost = [this](const Opening& opening) {
    const auto& [topic, topic_id, index] = opening.identity;
    return !folders_.find(topic_id, index) && !folders_.missing_path(topic_id, index);
  };
  const auto first = std::ranges::find_if(openings, lost);
  if (first == openings.end()) return {};
  const std::string which = fmt::format("{} partitions of known topics have no folder, {} is the first of them",
                                        std::ranges::count_if(openings, lost), first->identity.to_string());
  const auto is_new = [](const auto& directory) { return directory->identity().cluster_id.is_zero(); };
  const auto empty = std::ranges::find_if(directories_, is_new);
  if (empty == directories_.end() || empty == directories_.begin()) {
    log_warn("partition",
             "{}: they begin empty. After a crash while a topic was created that is as it should be; else "
             "their data is missing",
             which);
    return {};
  }
  return error(ErrorCode::corrupt_data,
               "{}, and the data folder {} is new: is its disk not mounted? Mount it; or, to go on with these "
               "partitions empty, start once without that folder (log.dirs)",
               which, (*empty)->path());
}

// Before clients are there, every worker opens logs. Later, half of them are left for what clients wait for.
size_t PartitionKeeper::lanes() const {
  const auto workers = static_cast<size_t>(config_.num_io_threads);
  return strays_mentioned_ ? (workers + 1) / 2 : workers;
}

Task<void> PartitionKeeper::make_folder(Opening& opening) {
  const PartitionIdentity& identity = opening.identity;
  const auto found = folders_.find(identity.topic_id, identity.index);
  opening.is_new = !found || !found->durable;  // the last attempt may have ended between the two steps
  if (found) co_return;
  if (const auto lost = folders_.missing_path(identity.topic_id, identity.index)) {
    opening.problem = why_missing(*lost);
    opening.is_lost = true;
    opening.is_new = false;
    co_return;
  }
  opening.problem = co_await on_worker(seams_.scheduler, [this, &identity] { return folders_.create(identity); });
  if (!opening.problem.ok()) opening.is_new = false;
}

Task<void> PartitionKeeper::open_partition(Opening& opening) {
  if (!opening.problem.ok()) {
    report_offline(opening, opening.problem, !opening.is_lost);
    co_return;
  }
  const auto location = folders_.find(opening.identity.topic_id, opening.identity.index);
  auto log = co_await open_log(opening.identity, log_config_of(*opening.config), *location);
  if (log && opening.first_new_producer != kNoProducerId) (*log)->learn_complete_from(opening.first_new_producer);
  if (log) {
    serve(opening, *location, std::move(*log));
  } else {
    report_offline(opening, log.error(), opening.is_new);
  }
}

void PartitionKeeper::serve(Opening& opening, const PartitionFolders::Location& location,
                            std::unique_ptr<PartitionLog> log) {
  const PartitionServices services{.clock = seams_.clock,
                                   .scheduler = seams_.scheduler,
                                   .durability = *location.journal,
                                   .unsynced_logs = unsynced_logs_,
                                   .isr_proposals = &isr_proposals_,
                                   .replica_lag_time_max = config_.replication.lag_time_max,
                                   .contact = &contact_,
                                   .offline_logs = this};
  auto partition =
      std::make_shared<Partition>(opening.identity, std::move(log), config_.node_id, *opening.config, services);
  hosted_.add(opening.identity,
              {.partition = std::move(partition), .config = opening.config, .log_dir = location.directory->path()});
  const PartitionKey key(opening.identity.topic_id, opening.identity.index);
  if (retried_.contains(key)) log_info("partition", "{} is served again", opening.identity.to_string());
  {
    const std::scoped_lock lock(unopened_mutex_);
    given_up_.erase(key);
  }
  let_go_of_closed(key, *location.journal);
}

void PartitionKeeper::report_offline(Opening& opening, const Status& problem, bool unmade) {
  const PartitionKey key(opening.identity.topic_id, opening.identity.index);
  const auto before = retried_.find(key);
  // Told once, and not with every try.
  if (before == retried_.end() || before->second != problem.code()) {
    log_error("partition", "{} is offline: {}", opening.identity.to_string(), problem.to_string());
  }
  hosted_.add(opening.identity, {.config = opening.config,
                                 .offline_reason = Status(ErrorCode::log_offline, problem.message()),
                                 .unmade = unmade});
  any_offline_ = true;
  if (!unmade && !is_shortage(problem)) return;
  const std::scoped_lock lock(unopened_mutex_);
  unopened_.emplace(key, problem.code());
}

Task<Status> PartitionKeeper::delete_topic(const DeletedTopic& topic) {
  const auto count = static_cast<size_t>(topic.partition_count);
  std::vector<Status> problems(count);
  const auto rename = [&](size_t at) -> Task<void> { return close_and_rename(topic, at, problems[at]); };
  const auto remove = [&](size_t at) -> Task<void> { return remove_renamed(topic, at, problems[at]); };
  co_await in_lanes(count, lanes(), rename);
  const Status synced = co_await on_worker(seams_.scheduler, [this] { return folders_.sync_names(); });
  if (!synced.ok()) co_return synced;
  co_await in_lanes(count, lanes(), remove);
  NARU_CO_TRY(co_await on_worker(seams_.scheduler, [this, &topic] { return folders_.unlist(topic); }));
  // Tried again with the next image, or after a restart.
  const auto failed = std::ranges::find_if_not(problems, &Status::ok);
  if (failed == problems.end()) co_return Status();
  log_error("partition", "could not delete {}-{}: {}", topic.name, failed - problems.begin(), failed->to_string());
  co_return *failed;
}

Task<void> PartitionKeeper::close_and_rename(const DeletedTopic& topic, size_t number, Status& problem) {
  const PartitionIndex index(static_cast<int32_t>(number));
  if (const HostedPartition gone = hosted_.remove(topic.id, index)) {
    ignore(co_await gone.partition->close(Status(ErrorCode::unknown_topic_or_partition), LogFate::deleted));
  }
  {
    const std::scoped_lock lock(unopened_mutex_);
    recovered_.erase({topic.id, index});
    lost_.erase({topic.id, index});
    given_up_.erase({topic.id, index});
  }
  const auto location = folders_.find(topic.id, index);
  if (!location) co_return;
  let_go_of_closed({topic.id, index}, *location->journal);
  problem = co_await on_worker(seams_.scheduler,
                               [this, &topic, index] { return folders_.rename_for_deletion(topic, index); });
}

Task<void> PartitionKeeper::remove_renamed(const DeletedTopic& topic, size_t number, Status& problem) {
  const PartitionIndex index(static_cast<int32_t>(number));
  if (!folders_.find(topic.id, index)) co_return;
  const Status removed =
      co_await on_worker(seams_.scheduler, [this, &topic, index] { return folders_.remove(topic, index); });
  if (problem.ok()) problem = removed;
}

void PartitionKeeper::warn_of_strays(const MetadataImage& image) {
  for (const auto& [key, location] : folders_.all()) {
    if (location.renamed || image.find_topic(key.first) != nullptr) continue;
    log_warn("partition", "{} belongs to no known topic and is left alone; remove it by hand if it is not needed",
             location.path);
  }
}

Task<Status> PartitionKeeper::close() {
  noting_.cancel();
  co_await noting_.join();
  const auto partitions = hosted_.all();
  std::atomic<bool> all_closed = true;
  const auto close_one = [&](size_t at) -> Task<void> { return close_in_order(*partitions[at], all_closed); };
  co_await in_lanes(partitions.size(), static_cast<size_t>(config_.num_io_threads), close_one);
  co_await journals_.drain();
  if (!all_closed)
    co_return error(ErrorCode::io_error, "not every log could be closed; the next start will recover them");
  co_return co_await on_worker(seams_.scheduler, [this]() -> Status {
    for (size_t i = 0; i < directories_.size(); ++i) {
      if (!every_log_is_closed(*directories_[i])) continue;
      journals_.of(i).leave_empty();
      NARU_TRY(directories_[i]->mark_clean_shutdown());
    }
    return {};
  });
}

Task<void> PartitionKeeper::close_in_order(Partition& partition, std::atomic<bool>& all_closed) {
  const Status status = co_await partition.close(Status(ErrorCode::shutting_down), LogFate::kept);
  if (status.ok()) co_return;
  all_closed = false;
  log_error("partition", "{} was not closed in order: {}", partition.identity().to_string(), status.to_string());
}

// A log that was never opened, because it refused or belongs to no topic, is as it was when the broker started. One
// that was to be opened again is not.
bool PartitionKeeper::every_log_is_closed(const LogDirectory& directory) const {
  const auto folders = folders_.all();
  const bool any_closed = std::ranges::any_of(folders, [&](const auto& folder) {
    return folder.second.directory == &directory && was_closed_to_reopen(folder.first);
  });
  if (any_closed) return false;
  if (directory.was_clean_shutdown() || is_planted(Canary::clean_mark_unopened)) return true;
  if (!listed_) return false;  // there may be logs of which nothing is known
  const bool journal_is_needed = std::ranges::any_of(folders_.missing(), [&](const auto& folder) {
    const auto& [key, path] = folder;
    return path.starts_with(directory.path() + "/") && !journals_.unreplayed({key.first, key.second}).empty();
  });
  if (journal_is_needed) return false;
  return std::ranges::all_of(folders, [&](const auto& folder) {
    const auto& [key, location] = folder;
    return location.directory != &directory || location.renamed || hosted_.find(key.first, key.second);
  });
}

}  // namespace naru
