// What members of the consumer protocol ask of a group coordinator, and what it answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "consumer_groups/consumer_protocol/consumer_group_partitions.h"
#include "foundation/error_code.h"
#include "foundation/ids.h"
#include "foundation/time.h"
#include "foundation/uuid.h"

namespace naru {

// Member epochs with a meaning of their own.
inline constexpr int32_t kJoinEpoch = 0;
inline constexpr int32_t kLeaveEpoch = -1;
inline constexpr int32_t kTemporaryLeaveEpoch = -2;  // a static member that will be back

// What is not given has not changed since the member's last heartbeat.
struct ConsumerHeartbeat {
  std::string group_id;
  std::string member_id;
  int32_t member_epoch = kJoinEpoch;
  std::optional<std::string> instance_id;
  std::optional<std::string> rack_id;
  std::optional<Milliseconds> rebalance_timeout;
  std::optional<std::vector<std::string>> subscribed_topics;
  std::optional<std::string> subscribed_expression;  // empty: none any more
  std::optional<std::string> assignor;
  std::optional<std::vector<TopicIdPartition>> owned;
  std::string client_id;
  std::string client_host;
  std::string fresh_member_id;       // for a member that has none yet
  bool must_bring_member_id = true;  // from version 1 on
};

struct ConsumerHeartbeatAnswer {
  ErrorCode error = ErrorCode::none;
  std::string message;  // why, for a person
  std::string member_id;
  int32_t member_epoch = 0;
  Milliseconds heartbeat_interval{};
  std::optional<PartitionSet> assignment;  // only if it is new, or was asked for
};

struct DescribedPartitions {
  Uuid topic_id;
  std::string topic;
  std::vector<PartitionIndex> partitions;
};

struct DescribedConsumerMember {
  std::string member_id;
  std::optional<std::string> instance_id;
  std::optional<std::string> rack_id;
  int32_t member_epoch = 0;
  std::string client_id;
  std::string client_host;
  std::vector<std::string> subscribed_topics;
  std::optional<std::string> subscribed_expression;
  std::vector<DescribedPartitions> assignment;
  std::vector<DescribedPartitions> target;
  std::vector<DescribedPartitions> pending_revocation;  // was told to give it up, and has not said that it did
  bool is_classic = false;                              // speaks the classic protocol
};

struct DescribedConsumerGroup {
  std::string group_id;
  ErrorCode error = ErrorCode::none;  // group_id_not_found
  std::string state;                  // Kafka's words: Empty, Assigning, Reconciling, Stable
  WallTimeMs state_since = -1;        // of an empty or an unsettled group, as far as this coordinator has seen it
  int32_t group_epoch = 0;
  int32_t assignment_epoch = 0;
  std::string assignor;
  std::vector<DescribedConsumerMember> members;
};

}  // namespace naru
