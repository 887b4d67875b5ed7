// The durable state of one group of the consumer protocol: what its records say, and what follows from that.
//
// The broker computes who should have what (the target) at a group epoch, and members move towards it one heartbeat at
// a time, each at its own pace: give back first, then get what others have given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "consumer_groups/consumer_protocol/consumer_group_partitions.h"
#include "consumer_groups/group_messages.h"
#include "foundation/error_code.h"
#include "foundation/time.h"

namespace naru {

// A member that speaks the classic protocol in a group of the consumer protocol.
struct ClassicMembership {
  Milliseconds session_timeout{};
  std::vector<GroupProtocol> protocols;  // by preference
  bool operator==(const ClassicMembership&) const = default;
};

// What a member has said about itself.
struct ConsumerSubscription {
  std::optional<std::string> instance_id;
  std::optional<std::string> rack_id;
  std::string client_id;
  std::string client_host;
  std::vector<std::string> topics;  // in order, each once
  std::string expression;           // empty: none
  Milliseconds rebalance_timeout{-1};
  std::optional<std::string> assignor;
  std::optional<ClassicMembership> classic;
  bool operator==(const ConsumerSubscription&) const = default;
};

// What it takes up in memory, about.
size_t bytes_of(const ConsumerSubscription& subscription);

// Kafka's numbers.
enum class ReconciliationState : int8_t {
  stable = 0,      // has what it should have at its epoch
  unrevoked = 1,   // was told to give partitions back and has not said that it did
  unreleased = 2,  // waits for partitions that others still have
};

// How far a member has come.
struct ConsumerMemberAssignment {
  int32_t epoch = 0;
  int32_t previous_epoch = 0;
  ReconciliationState state = ReconciliationState::stable;
  PartitionSet assigned;
  PartitionSet pending_revocation;
  bool operator==(const ConsumerMemberAssignment&) const = default;

  bool has_reached(int32_t target_epoch) const { return state == ReconciliationState::stable && epoch == target_epoch; }
};

struct ResolvedExpression {
  std::vector<std::string> topics;  // in order
  int64_t version = 0;              // the generation of the topics
  WallTimeMs resolved_at = 0;
  bool operator==(const ResolvedExpression&) const = default;
};

// Each part has a record of its own, and exists while that has a value.
struct ConsumerMember {
  std::optional<ConsumerSubscription> subscription;  // who has one is a member
  std::optional<ConsumerMemberAssignment> current;
  std::optional<PartitionSet> target;

  bool operator==(const ConsumerMember&) const = default;
};

struct ConsumerGroupEpoch {
  int32_t epoch = 0;
  int64_t metadata_hash = 0;    // of the topics that the epoch was made with
  WallTimeMs empty_since = -1;  // when the last member went, which began the epoch; -1: it has members, or nobody knows
  bool operator==(const ConsumerGroupEpoch&) const = default;
};

// State is a function of the last value of each key, whatever the order in which keys come: compaction keeps no more.
class ConsumerGroup {
 public:
  using Members = std::map<std::string, ConsumerMember, std::less<>>;
  using Expressions = std::map<std::string, ResolvedExpression, std::less<>>;

  // What records say; none: a tombstone.
  void set_epoch(std::optional<ConsumerGroupEpoch> epoch);
  void set_assignment_epoch(std::optional<int32_t> epoch);
  void set_subscription(const std::string& member_id, std::optional<ConsumerSubscription> subscription);
  void set_current(const std::string& member_id, std::optional<ConsumerMemberAssignment> current);
  void set_target(const std::string& member_id, std::optional<PartitionSet> target);
  void set_expression(const std::string& expression, std::optional<ResolvedExpression> resolved);
  // No record is left: the group does not exist.
  bool is_gone() const;

  int32_t epoch() const { return epoch_.has_value() ? epoch_->epoch : 0; }
  int64_t metadata_hash() const { return epoch_.has_value() ? epoch_->metadata_hash : 0; }
  // None: it has members, or its records do not tell.
  std::optional<WallTimeMs> empty_since() const;
  int32_t assignment_epoch() const { return assignment_epoch_.value_or(0); }
  std::string_view state() const;  // Kafka's words
  // Everybody has what he should have. Who is just joining, and has not been told anything, does not count.
  bool is_settled() const;

  // By id, with entries that have records and no subscription, so that they are no members. Logs that we did not write
  // may have such.
  const Members& entries() const { return members_; }
  // By id.
  auto members() const {
    return std::views::filter(members_, [](const auto& entry) { return entry.second.subscription.has_value(); });
  }
  size_t size() const { return size_; }
  size_t classic_size() const { return classic_size_; }
  // Of what all members have said.
  size_t subscription_bytes() const { return subscription_bytes_; }
  const ConsumerMember* find(std::string_view member_id) const;
  // Its id, or nullptr.
  const std::string* static_member(std::string_view instance_id) const;
  // Is this a member, and does the instance id, if given, belong to it? UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, or NONE.
  ErrorCode check_claim(std::string_view member_id, const std::optional<std::string>& instance_id) const;
  // Nobody has the partition, nor has to give it back.
  bool is_free(const TopicIdPartition& partition) const { return !claims_.contains(partition); }

  size_t claimed() const { return claims_.size(); }  // partitions that are not free

  const Expressions& expressions() const { return expressions_; }
  bool uses_expression(const std::string& expression) const { return expression_users_.contains(expression); }
  bool is_subscribed_to(const std::string& topic) const;
  // By name and by expression, in order.
  std::set<std::string_view> subscribed_topics() const;

  // The parts that records speak of are equal.
  bool operator==(const ConsumerGroup& other) const;
  // For people who look at two states that should be the same.
  std::string to_string() const;

 private:
  void count_subscription(const std::string& member_id, const ConsumerSubscription& subscription);
  void uncount_subscription(const std::string& member_id, const ConsumerSubscription& subscription);
  void count_claims(const ConsumerMemberAssignment& current);
  void uncount_claims(const ConsumerMemberAssignment& current);
  void erase_if_empty(Members::iterator member);

  std::optional<ConsumerGroupEpoch> epoch_;
  std::optional<int32_t> assignment_epoch_;
  Members members_;
  Expressions expressions_;

  // What follows from the above. Several may claim an instance id or a partition in the middle of a log whose
  // compaction has left out what lay between them: the claims are all kept, so that the last of them is right in the
  // end.
  size_t size_ = 0;
  size_t classic_size_ = 0;
  size_t subscription_bytes_ = 0;
  std::map<std::string, std::set<std::string>, std::less<>> by_instance_id_;
  std::map<std::string, uint32_t, std::less<>> topic_users_;
  std::map<std::string, uint32_t> expression_users_;
  std::unordered_map<TopicIdPartition, uint32_t> claims_;
};

}  // namespace naru
