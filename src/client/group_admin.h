// Looking at groups and deleting them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cluster_client.h"

namespace naru::client {

// Who decides what a member reads: one of the members, or the broker (KIP-848). Consumers are in groups of both types.
inline constexpr const char* kClassicGroupType = "classic";
inline constexpr const char* kConsumerGroupType = "consumer";

struct ListedGroup {
  std::string id;
  std::string type;           // one of the two above; empty: the broker does not tell
  std::string state;          // Kafka's words: Empty, PreparingRebalance, Reconciling, Stable, ...
  std::string protocol_type;  // "consumer", "connect", ...; empty for groups that only keep offsets
  BrokerId coordinator = kNoBroker;
};

struct GroupMember {
  std::string id;
  std::optional<std::string> instance_id;
  std::string client_id;
  std::string host;
  std::vector<std::string> topics;         // that it wants, in order; empty while that is not settled
  std::string topic_expression = {};       // those that match it as well; empty: none
  std::vector<TopicPartition> partitions;  // that it has, in order
  size_t unread_bytes = 0;                 // of an assignment that is not of consumers

  // Of the type "consumer" alone.
  std::vector<TopicPartition> target = {};              // that it is to have, in order
  std::vector<TopicPartition> pending_revocation = {};  // that it was told to give up, in order; if the broker tells
  int32_t epoch = -1;  // that of the group's assignment once it has given up all that it should
};

struct GroupDescription {
  std::string id;
  std::string type;
  std::string state;
  std::string protocol_type;
  std::string protocol;  // the assignor of consumers; empty while none is chosen
  BrokerId coordinator = kNoBroker;
  std::vector<GroupMember> members;      // in the order of their ids
  WallTimeMs state_since = -1;           // by the broker's clock; -1: it does not tell
  std::vector<std::string> waiting_for;  // ids of members; some may be about to join

  // Of the type "consumer" alone.
  int32_t epoch = -1;             // grows when members or topics change
  int32_t assignment_epoch = -1;  // the one that the members' targets were made for

  bool is_classic() const { return type == kClassicGroupType; }
  const GroupMember* find_member(const std::string& member_id) const;
};

// Those of all brokers, in the order of their ids; only in these states, if any are given. Waits for brokers that are
// loading their groups as long as the client waits for an answer.
Task<Result<std::vector<ListedGroup>>> list_groups(ClusterClient& client, std::vector<std::string> states);

// Of either type; group_id_not_found if there is none. Errors of a coordinator that may soon be ready, or be another
// broker, are borne for as long as `patience`.
Task<Result<GroupDescription>> describe_group(ClusterClient& client, std::string group_id, Duration patience);
// Several at once, which `coordinator` coordinates. Those that it does not describe are left out.
Task<Result<std::vector<GroupDescription>>> describe_groups(ClusterClient& client, BrokerId coordinator,
                                                            std::vector<std::string> group_ids);

// With its offsets. non_empty_group while it has members.
Task<Status> delete_group(ClusterClient& client, std::string group_id);

// The same as broker_error, about a group.
Status group_error(ErrorCode code, std::string_view group_id, const std::optional<std::string>& words = std::nullopt);

}  // namespace naru::client
