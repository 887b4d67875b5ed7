// The offsets that groups have committed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/cluster_client.h"

namespace naru::client {

// The next offset to read, of each partition that the group committed one for.
using CommittedOffsets = std::map<TopicPartition, Offset>;

// Like all calls here: asks the coordinator; again, as long as the client waits for an answer, while that is loading or
// moves. A group that does not exist has none.
Task<Result<CommittedOffsets>> fetch_group_offsets(ClusterClient& client, std::string group_id);
// Whose transactions have to end before it is known what is committed, by partition.
Task<Result<std::map<TopicPartition, ProducerId>>> find_pending_offsets(ClusterClient& client, std::string group_id);
// Of several groups that `coordinator` coordinates. Those that it does not answer for are left out.
Task<Result<std::map<std::string, CommittedOffsets>>> fetch_offsets_of_groups(ClusterClient& client,
                                                                              BrokerId coordinator,
                                                                              std::vector<std::string> group_ids);

// As somebody who is no member: only while the group has none (unknown_member_id otherwise). After an error the offsets
// of some partitions may have been committed.
Task<Status> commit_group_offsets(ClusterClient& client, std::string group_id, CommittedOffsets offsets);
// group_subscribed_to_topic for partitions of topics that members read.
Task<Status> delete_group_offsets(ClusterClient& client, std::string group_id, std::vector<TopicPartition> partitions);

}  // namespace naru::client
