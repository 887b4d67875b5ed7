#include "broker/partition_folders.h"

#include <algorithm>
#include <utility>

#include "foundation/canary.h"
#include "foundation/log.h"

namespace naru {

Status PartitionFolders::list() {
  const std::scoped_lock lock(mutex_);
  for (size_t i = 0; i < directories_.size(); ++i) {
    NARU_TRY_ASSIGN(const auto found, directories_[i]->partitions());
    for (const PartitionFolder& folder : found) {
      const auto [at, added] =
          folders_.try_emplace({folder.topic_id, folder.partition},
                               Location{directories_[i].get(), &journals_.of(i), folder.topic, folder.path});
      if (!added) {
        return error(ErrorCode::corrupt_data,
                     "{} and {} hold the same partition; move the older one out of the data folder", at->second.path,
                     folder.path);
      }
      ++counts_[directories_[i].get()];
    }
  }
  for (const auto& directory : directories_) NARU_TRY(bring_list_in_line(*directory));
  return {};
}

Status PartitionFolders::bring_list_in_line(LogDirectory& directory) {
  ListedPartitions added;
  for (const auto& [key, location] : folders_) {
    if (location.directory == &directory) added.emplace(LogId{key.first, key.second}, location.topic);
  }
  std::set<LogId> moved;  // to another data folder
  for (const auto& [id, topic] : directory.listed()) {
    if (added.contains(id)) continue;
    const PartitionKey key{id.topic_id, id.partition};
    if (folders_.contains(key) || is_planted(Canary::lost_folder_begins_empty)) {
      moved.insert(id);
    } else {
      missing_.try_emplace(
          key, Missing{&directory, fmt::format("{}/{}", directory.path(), partition_folder_name(topic, id.partition))});
    }
  }
  const Status listed = directory.change_list(added, moved);
  if (listed != ErrorCode::disk_full) return listed;
  // A broker has to be able to start on a full disk: to delete something.
  log_warn("partition", "{} is full: its list of partitions is brought in line at a later start", directory.path());
  return {};
}

std::map<PartitionFolders::PartitionKey, std::string> PartitionFolders::missing() const {
  const std::scoped_lock lock(mutex_);
  std::map<PartitionKey, std::string> paths;
  for (const auto& [key, missing] : missing_) paths.emplace(key, missing.path);
  return paths;
}

std::optional<std::string> PartitionFolders::missing_path(const Uuid& topic_id, PartitionIndex index) const {
  const std::scoped_lock lock(mutex_);
  const auto found = missing_.find({topic_id, index});
  return found == missing_.end() ? std::nullopt : std::optional(found->second.path);
}

Status PartitionFolders::forget_missing(const Uuid& topic_id, PartitionIndex index) {
  for (const auto& directory : directories_) NARU_TRY(directory->change_list({}, {{topic_id, index}}));
  const std::scoped_lock lock(mutex_);
  missing_.erase({topic_id, index});
  return {};
}

std::optional<PartitionFolders::Location> PartitionFolders::find(const Uuid& topic_id, PartitionIndex index) const {
  const std::scoped_lock lock(mutex_);
  const auto found = folders_.find({topic_id, index});
  return found == folders_.end() ? std::nullopt : std::optional(found->second);
}

std::map<PartitionFolders::PartitionKey, PartitionFolders::Location> PartitionFolders::all() const {
  const std::scoped_lock lock(mutex_);
  return folders_;
}

Status PartitionFolders::create(const PartitionIdentity& identity) {
  Location location{.topic = identity.topic, .durable = false};
  {
    const std::scoped_lock lock(mutex_);
    const size_t chosen = emptiest_directory();
    location.directory = directories_[chosen].get();
    location.journal = &journals_.of(chosen);
    ++counts_[location.directory];
    unsynced_.insert(location.directory);
  }
  auto path = location.directory->create_partition(identity.topic, identity.index, identity.topic_id);
  const std::scoped_lock lock(mutex_);
  if (!path) {
    --counts_[location.directory];
    return path.error();
  }
  location.path = std::move(*path);
  unlisted_[location.directory].emplace(LogId{identity.topic_id, identity.index}, identity.topic);
  folders_.emplace(PartitionKey{identity.topic_id, identity.index}, std::move(location));
  return {};
}

void PartitionFolders::made_durable(const PartitionIdentity& identity) {
  const std::scoped_lock lock(mutex_);
  folders_.at({identity.topic_id, identity.index}).durable = true;
}

Status PartitionFolders::rename_for_deletion(const DeletedTopic& topic, PartitionIndex index) {
  auto location = find(topic.id, index);
  if (!location) return {};
  if (!location->renamed) {
    NARU_TRY_ASSIGN(location->path, location->directory->begin_deletion(topic.name, index, topic.id));
    journals_.replayed({topic.id, index});
    location->renamed = true;
  }
  const std::scoped_lock lock(mutex_);
  unsynced_.insert(location->directory);
  folders_.insert_or_assign(PartitionKey{topic.id, index}, *location);
  return {};
}

Status PartitionFolders::remove(const DeletedTopic& topic, PartitionIndex index) {
  const auto location = find(topic.id, index);
  if (!location || !location->renamed) return {};
  NARU_TRY(location->directory->finish_deletion(location->path));
  const std::scoped_lock lock(mutex_);
  folders_.erase({topic.id, index});
  --counts_[location->directory];
  return {};
}

Status PartitionFolders::unlist(const DeletedTopic& topic) {
  std::set<LogId> gone;
  for (int32_t i = 0; i < topic.partition_count; ++i) gone.insert({topic.id, PartitionIndex(i)});
  for (const auto& directory : directories_) NARU_TRY(directory->change_list({}, gone));
  const std::scoped_lock lock(mutex_);
  for (const LogId& id : gone) {
    missing_.erase({id.topic_id, id.partition});
    for (auto& [directory, created] : unlisted_) created.erase(id);
  }
  return {};
}

Status PartitionFolders::sync_names() {
  std::set<LogDirectory*> unsynced;
  {
    const std::scoped_lock lock(mutex_);
    unsynced = std::exchange(unsynced_, {});
  }
  for (const auto& directory : directories_) {
    if (!unsynced.contains(directory.get())) continue;
    if (Status status = sync_and_list(*directory); !status.ok()) {
      const std::scoped_lock lock(mutex_);
      unsynced_.merge(unsynced);
      return status;
    }
  }
  return {};
}

// In this order: what is listed has to be there after a crash.
Status PartitionFolders::sync_and_list(LogDirectory& directory) {
  ListedPartitions created;
  {
    const std::scoped_lock lock(mutex_);
    created = std::exchange(unlisted_[&directory], {});
  }
  Status status = directory.sync_names();
  if (status.ok() && !created.empty()) status = directory.change_list(created);
  if (status.ok()) return {};
  const std::scoped_lock lock(mutex_);
  unlisted_[&directory].merge(created);
  return status;
}

size_t PartitionFolders::emptiest_directory() {
  const auto count = [this](const std::unique_ptr<LogDirectory>& directory) { return counts_[directory.get()]; };
  return static_cast<size_t>(std::ranges::min_element(directories_, {}, count) - directories_.begin());
}

}  // namespace naru
