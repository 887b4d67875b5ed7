// How far groups have read: what is committed beside what is there.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/group_admin.h"
#include "client/group_offsets.h"

namespace naru::command_line {

// Where a partition begins and ends.
struct PartitionBounds {
  enum class State : uint8_t { online, offline, missing };
  State state = State::missing;
  Offset start{0}, end{0};  // if it is online
};

struct PartitionProgress {
  client::TopicPartition partition;
  std::optional<Offset> committed;
  PartitionBounds bounds;
  std::optional<WallTimeMs> next_record_time;  // of the oldest record that is not read; if there is one and it is known
  std::string owner;                           // id of the member that reads it; empty: nobody

  bool is_online() const { return bounds.state == PartitionBounds::State::online; }
  // Records that are there and not read; never negative. None: nothing is committed, or the end is not known.
  std::optional<int64_t> lag() const;
  // Records that retention took before they were read.
  int64_t lost() const;
  // How old the oldest record is that is not read. None: not known.
  std::optional<Duration> behind(WallTimeMs now) const;
};

// Of a whole group: records are added up, the oldest record counts.
struct Lag {
  int64_t records = 0;
  std::optional<Duration> behind;  // none: nothing is known
};
Lag total_lag(const std::vector<PartitionProgress>& partitions, WallTimeMs now);

using Bounds = std::map<client::TopicPartition, PartitionBounds>;
// Every partition that was asked for is in the answer. Offsets are to be fetched before, or they may be beyond the end.
Task<Result<Bounds>> find_bounds(client::ClusterClient& client, std::set<client::TopicPartition> partitions);

// What a group has committed or is assigned, in order. Without the times of records.
Task<Result<std::vector<PartitionProgress>>> find_progress(client::ClusterClient& client,
                                                           const client::GroupDescription& group);
// Where the group is behind. What cannot be found out stays unknown.
Task<void> find_record_times(client::ClusterClient& client, std::vector<PartitionProgress>& partitions);

// "member-1 (client rdkafka, host 127.0.0.1)", printable.
std::string member_name(const client::GroupMember& member);
// "orders 0,1; payments 3", of partitions in order; "-" if there are none.
std::string partitions_text(const std::vector<client::TopicPartition>& partitions);

}  // namespace naru::command_line
