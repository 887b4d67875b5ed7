// The part of the keeper that finds out whether the logs are what they were, and what becomes of those that are not.
//
// A partition whose folder is missing, or whose log is damaged or ends before what is known to have been durable, is
// offline: others would lose what they have by following it. When the controller has taken it out of the in-sync set,
// and another replica leads, it is an empty or short replica that catches up like any other: what is damaged is cut
// off, and comes back from the leader. Until then, a person may restore it.
#include <algorithm>
#include <utility>

#include "broker/in_lanes.h"
#include "broker/partition_keeper.h"
#include "foundation/canary.h"
#include "foundation/log.h"
#include "foundation/shortage.h"
#include "log_storage/partition_folder.h"

namespace naru {
namespace {

constexpr Duration kNotingInterval = 1s;
constexpr Duration kNotingTimePerLog = 100us;  // so that a look at very many logs does not become all that is done
constexpr size_t kLogsAtOnce = 256;

LogId id_of(const PartitionFolders::PartitionKey& key) {
  return {key.first, key.second};
}

}  // namespace

Task<Status> PartitionKeeper::recover_folders() {
  NARU_CO_TRY(co_await on_worker(seams_.scheduler, [this]() -> Status {
    NARU_TRY(folders_.list());
    NARU_TRY(journals_.read());
    listed_ = true;
    return {};
  }));
  for (const auto& [key, path] : folders_.missing()) lost_.try_emplace(key);
  const auto all = folders_.all();
  std::vector<std::pair<PartitionKey, PartitionFolders::Location>> folders(all.begin(), all.end());
  const auto recover = [&](size_t at) -> Task<void> { return recover_log(folders[at].first, folders[at].second); };
  co_await in_lanes(folders.size(), lanes(), recover);
  co_return Status();
}

// With the configuration that counts without the topic's own, which follow() brings.
Task<void> PartitionKeeper::recover_log(const PartitionKey& key, const PartitionFolders::Location& location) {
  const PartitionIdentity identity{.topic = location.topic, .topic_id = key.first, .index = key.second};
  const LogConfig config = log_config_of(resolve_topic_config(*live_config_.current(), {}));
  OpenResult opened = co_await on_worker(
      seams_.scheduler, [this, &identity, &config, &location] { return open_here(identity, config, location); });
  const std::scoped_lock lock(unopened_mutex_);
  recovered_.emplace(key, std::move(opened));
}

PartitionIds PartitionKeeper::unusable() const {
  PartitionIds unusable;
  for (const auto& [key, path] : folders_.missing()) unusable.insert(key);
  const std::scoped_lock lock(unopened_mutex_);
  for (const auto& [key, log] : recovered_) {
    if (!log) unusable.insert(key);
  }
  return unusable;
}

std::optional<PartitionKeeper::OpenResult> PartitionKeeper::take_recovered(const PartitionKey& key) {
  const std::scoped_lock lock(unopened_mutex_);
  auto found = recovered_.extract(key);
  return found.empty() ? std::nullopt : std::optional(std::move(found.mapped()));
}

Task<PartitionKeeper::OpenResult> PartitionKeeper::open_log(const PartitionIdentity& identity, const LogConfig& config,
                                                            const PartitionFolders::Location& location) {
  if (auto recovered = take_recovered({identity.topic_id, identity.index})) {
    if (*recovered) (**recovered)->set_config(config);
    co_return std::move(*recovered);
  }
  co_return co_await on_worker(seams_.scheduler,
                               [this, &identity, &config, &location] { return open_here(identity, config, location); });
}

PartitionKeeper::OpenResult PartitionKeeper::open_here(const PartitionIdentity& identity, const LogConfig& config,
                                                       const PartitionFolders::Location& location) {
  const LogId id{identity.topic_id, identity.index};
  const auto given_up = given_up_from({identity.topic_id, identity.index});
  const auto journaled = journals_.unreplayed(id);
  if (is_planted(Canary::journal_replayed_early)) journals_.replayed(id);
  // Without a checkpoint, an operator has accepted what is missing: recovery says how.
  NARU_TRY_ASSIGN(const bool may_not_be_shorter,
                  seams_.files.exists(fmt::format("{}/{}", location.path, kCheckpointFileName)));
  OpenOptions options{.topic_id = identity.topic_id,
                      .clean_shutdown = location.directory->was_clean_shutdown() &&
                                        !was_closed_to_reopen({identity.topic_id, identity.index}),
                      .now = seams_.clock.wall_now_ms(),
                      .journaled = journaled,
                      .give_up_from = given_up,
                      .producers = producers_};
  auto result = PartitionLog::open(seams_.files, open_files_, location.path, config, options);
  if (!result && result.error() == ErrorCode::corrupt_data && !given_up) {
    LostLog lost{.damaged = true};
    if (!journaled.empty()) {
      // If the log itself is in order, the journal shows that it was longer.
      options.journaled = {};
      const auto shorter = PartitionLog::open(seams_.files, open_files_, location.path, config, options);
      if (shorter) lost = {.end = DurableEnd{shorter->log->truncations(), shorter->log->end_offset()}};
    }
    const std::scoped_lock lock(unopened_mutex_);
    lost_.insert_or_assign({identity.topic_id, identity.index}, lost);
  }
  NARU_TRY_ASSIGN(OpenedLog opened, std::move(result));
  if (given_up) {
    log_warn("partition",
             "{}: what was damaged is cut off; the log ends at offset {} and copies the rest from its leader",
             identity.to_string(), opened.log->end_offset());
  }
  if (opened.report.remarkable()) log_warn("partition", "{}: {}", identity.to_string(), opened.report.to_string());
  if (may_not_be_shorter) NARU_TRY(check_length(identity, *opened.log, location));
  journals_.replayed(id);
  return std::move(opened.log);
}

Status PartitionKeeper::check_length(const PartitionIdentity& identity, const PartitionLog& log,
                                     const PartitionFolders::Location& location) {
  const DurableEnd now{log.truncations(), log.end_offset()};
  const auto before = location.directory->durable_end({identity.topic_id, identity.index});
  if (!before || !is_shorter(now, *before) || is_planted(Canary::shorter_log_counts)) return {};
  const std::scoped_lock lock(unopened_mutex_);
  lost_.insert_or_assign({identity.topic_id, identity.index}, LostLog{.end = now});
  return error(
      ErrorCode::corrupt_data,
      "{} ends at offset {} after {} truncations, but {}/{} shows that it was durable up to offset {} after {}: "
      "the folder is an older copy, or files are missing. The partition is used again by itself when another "
      "replica leads; else restore the folder, or, to accept the loss, remove the partition's line from {}/{} "
      "while the broker is stopped",
      location.path, now.end, now.truncations, location.directory->path(), kDurableEndsFileName, before->end,
      before->truncations, location.directory->path(), kManifestFileName);
}

Status PartitionKeeper::why_missing(const std::string& path) const {
  return error(
      ErrorCode::corrupt_data,
      "the folder {} is missing, and {} in its data folder lists it. The partition begins anew by itself when "
      "another replica leads; else restore the folder, or, to begin empty, remove the partition's line from {} "
      "while the broker is stopped",
      path, kManifestFileName, kManifestFileName);
}

// --- What becomes of those that are lost -----------------------------------------------------------------------------

// As of an image in which the controller has acted on this registration, which told what is offline: as long as that is
// so, the replica does not become a member of the in-sync set again.
Task<std::vector<PartitionKeeper::PartitionKey>> PartitionKeeper::safe_elsewhere() {
  std::vector<PartitionKey> safe;
  const auto turn = co_await role_turns_.enter_always();
  if (!has_roles_) co_return safe;
  const std::scoped_lock lock(unopened_mutex_);
  for (const auto& [key, lost] : lost_) {
    const TopicMetadata* topic = role_image_->find_topic(key.first);
    const PartitionState* state = topic == nullptr ? nullptr : topic->partition(key.second);
    if (state == nullptr || state->leader == kNoBroker) continue;
    const bool is_member = std::ranges::find(state->isr, config_.node_id) != state->isr.end();
    if (!is_member && state->leader != config_.node_id) safe.push_back(key);
  }
  co_return safe;
}

Task<void> PartitionKeeper::give_up_lost() {
  lost_for_want_of_space_ = false;
  for (const PartitionKey& key : co_await safe_elsewhere()) {
    const Status status = co_await on_worker(seams_.scheduler, [this, &key] { return accept_loss(key); });
    if (!status.ok()) {
      log_warn("partition", "{} stays offline, though other replicas are in sync: {}", id_of(key).to_string(),
               status.to_string());
      if (is_shortage(status)) lost_for_want_of_space_ = true;
      continue;
    }
    log_warn("partition", "{} has lost data here, and copies it from its leader", id_of(key).to_string());
    any_offline_ = true;  // as far as the controller knows
    const std::scoped_lock lock(unopened_mutex_);
    lost_.erase(key);
    recovered_.erase(key);
    unopened_.emplace(key, ErrorCode::corrupt_data);  // opened with this image, or again
  }
}

Status PartitionKeeper::accept_loss(const PartitionKey& key) {
  {
    const std::scoped_lock lock(noted_mutex_);
    noted_.erase(id_of(key));
  }
  const auto location = folders_.find(key.first, key.second);
  if (location) {
    LostLog lost;
    {
      const std::scoped_lock lock(unopened_mutex_);
      lost = lost_.at(key);
      // All of it is read when it is opened, so that it ends before the first damage. The journal is still needed then.
      if (lost.damaged) given_up_.insert_or_assign(key, kNoOffset);
    }
    if (lost.damaged) return {};
    NARU_TRY(location->directory->note_durable_ends({{id_of(key), lost.end.value_or(DurableEnd())}}));
  } else {
    NARU_TRY(folders_.forget_missing(key.first, key.second));
  }
  journals_.replayed(id_of(key));  // what a journal holds of it continues what is gone
  return {};
}

std::optional<Offset> PartitionKeeper::given_up_from(const PartitionKey& key) const {
  const std::scoped_lock lock(unopened_mutex_);
  const auto found = given_up_.find(key);
  return found == given_up_.end() ? std::nullopt : std::optional(found->second);
}

// --- What will be missed ---------------------------------------------------------------------------------------------

std::vector<DataFolder> PartitionKeeper::data_folders() const {
  std::vector<DataFolder> folders;
  for (const auto& directory : directories_) {
    const DirectoryIdentity identity = directory->identity();
    folders.push_back({identity.directory_id, identity.broker_epoch});
  }
  return folders;
}

Task<std::vector<Uuid>> PartitionKeeper::write_broker_epoch(int64_t epoch) {
  return on_worker(seams_.scheduler, [this, epoch] {
    std::vector<Uuid> written;
    for (const auto& directory : directories_) {
      const Status status = directory->write_broker_epoch(epoch);
      if (status.ok()) {
        written.push_back(directory->identity().directory_id);
      } else {
        log_error(
            "broker",
            "cannot write broker epoch {} into {}: {}; if this data folder is replaced by an older copy, that may "
            "remain unnoticed",
            epoch, directory->path(), status.to_string());
      }
    }
    return written;
  });
}

Task<void> PartitionKeeper::note_durable_ends_for_ever() {
  const CancelToken stopped = noting_.token();
  co_await to_loop(seams_.scheduler);
  for (;;) {
    const auto count = static_cast<int64_t>(hosted_.all().size());
    const Duration interval = std::max(kNotingInterval, count * kNotingTimePerLog);
    if (!(co_await sleep_until(seams_.scheduler, seams_.clock.now() + interval, stopped)).ok()) co_return;
    co_await note_durable_ends();
  }
}

Task<void> PartitionKeeper::note_durable_ends() {
  std::map<const LogDirectory*, DurableEnds> changed;
  size_t looked_at = 0;
  for (const auto& partition : hosted_.all()) {
    if (++looked_at % kLogsAtOnce == 0) co_await to_loop(seams_.scheduler);
    const auto end = co_await partition->with_log([](const LogAccess& access) -> Result<DurableEnd> {
      return DurableEnd{access.log.truncations(), access.log.durable_end()};
    });
    if (!end) continue;
    const LogId id = partition->id();
    {
      const std::scoped_lock lock(noted_mutex_);
      const auto noted = noted_.find(id);
      if (noted != noted_.end() && noted->second == *end) continue;
    }
    const auto location = folders_.find(id.topic_id, id.partition);
    if (location) changed[location->directory].emplace(id, *end);
  }
  for (const auto& directory : directories_) {
    const auto ends = changed.find(directory.get());
    if (ends == changed.end()) continue;
    const Status status = co_await on_worker(
        seams_.scheduler, [&directory, &ends] { return directory->note_durable_ends(ends->second); });
    if (!status.ok()) {
      log_debug("partition", "cannot note in {} how far logs are durable: {}", directory->path(), status.to_string());
      continue;
    }
    const std::scoped_lock lock(noted_mutex_);
    for (const auto& [id, end] : ends->second) noted_.insert_or_assign(id, end);
  }
}

}  // namespace naru
