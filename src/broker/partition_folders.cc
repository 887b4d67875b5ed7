#include "broker/partition_folders.h"

#include <algorithm>
#include <utility>

namespace naru {

Status PartitionFolders::list() {
  const std::scoped_lock lock(mutex_);
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
      ++counts_[directories_[i].get()];
    }
  }
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
  Location location{.durable = false};
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

Status PartitionFolders::sync_names() {
  std::set<LogDirectory*> unsynced;
  {
    const std::scoped_lock lock(mutex_);
    unsynced = std::exchange(unsynced_, {});
  }
  for (const auto& directory : directories_) {
    if (!unsynced.contains(directory.get())) continue;
    if (Status status = directory->sync_names(); !status.ok()) {
      const std::scoped_lock lock(mutex_);
      unsynced_.merge(unsynced);
      return status;
    }
  }
  return {};
}

size_t PartitionFolders::emptiest_directory() {
  const auto count = [this](const std::unique_ptr<LogDirectory>& directory) { return counts_[directory.get()]; };
  return static_cast<size_t>(std::ranges::min_element(directories_, {}, count) - directories_.begin());
}

}  // namespace naru
