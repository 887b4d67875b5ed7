// The partitions that this broker serves now, by topic name and by topic id.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "configuration/topic_config.h"
#include "replication/partition.h"

namespace naru {

// A partition that is here, or the reason why it is not served.
struct HostedPartition {
  std::shared_ptr<Partition> partition;
  std::shared_ptr<const TopicConfig> config;
  Status offline_reason;     // it belongs here, but its log could not be opened
  bool unmade = false;       // it is new, and could not be made
  std::string_view log_dir;  // the path of its LogDirectory, which outlives every request

  explicit operator bool() const { return partition != nullptr; }
  // What a client is told when there is no partition: `unknown` if it does not belong here.
  Status why_missing(ErrorCode unknown) const { return offline_reason.ok() ? Status(unknown) : offline_reason; }
};

// Thread-safe; the lock is held for look-ups only.
class HostedPartitions {
 public:
  // Empty when it is not here.
  HostedPartition find(std::string_view topic, PartitionIndex index) const;
  HostedPartition find(const Uuid& topic_id, PartitionIndex index) const;

  void add(const PartitionIdentity& identity, HostedPartition hosted);
  // Whether it is here, served or not.
  bool contains(const Uuid& topic_id, PartitionIndex index) const;
  // Forgets it and returns it; empty when it is not here.
  HostedPartition remove(const Uuid& topic_id, PartitionIndex index);
  void set_config(const Uuid& topic_id, const std::shared_ptr<const TopicConfig>& config);

  // Those that belong here and are not served, because their log could not be opened or went offline.
  std::set<std::pair<Uuid, PartitionIndex>> offline() const;
  // Why a new partition of this topic could not be made here; ok when all could.
  Status why_unmade(const Uuid& topic_id) const;
  // Those that are served.
  std::vector<std::shared_ptr<Partition>> all() const;
  std::vector<HostedPartition> all_hosted() const;

 private:
  struct Topic {
    std::string name;
    std::vector<std::optional<HostedPartition>> partitions;  // by index; the others are not here
    size_t hosted = 0;                                       // those that are
  };
  // nullptr when it is not here.
  static const HostedPartition* find_in(const Topic& topic, PartitionIndex index);

  mutable std::mutex mutex_;
  std::map<Uuid, Topic> by_id_;
  std::map<std::string, Uuid, std::less<>> ids_;
};

}  // namespace naru
