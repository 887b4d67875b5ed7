// The groups of the consumer protocol on one shard: the broker computes who reads what, members follow heartbeat by
// heartbeat, and nobody has to stop while others change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "consumer_groups/consumer_group.h"
#include "consumer_groups/consumer_group_messages.h"
#include "consumer_groups/consumer_group_settings.h"
#include "consumer_groups/consumer_group_topics.h"
#include "consumer_groups/group_messages.h"
#include "coordinator_runtime/coordinator_outcome.h"
#include "foundation/bytes.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "timing_wheel/timing_wheel.h"

namespace naru {

// No I/O, no clock. Durable state changes only through apply(); answers are returned, and are true when the records in
// the outcome are committed. Part of a GroupCoordinator, in whose strand it lives.
class ConsumerGroups {
 public:
  explicit ConsumerGroups(ConsumerGroupSettings settings);

  // Holds for what comes afterwards; timers that run already keep their deadlines.
  void set_settings(ConsumerGroupSettings settings);

  // A record whose key is_consumer_group_key().
  Status apply(BytesView key, std::optional<BytesView> value);
  // Everybody's session begins anew.
  void loaded(const CoordinatorTime& time);
  void on_timer(const CoordinatorTime& time, CoordinatorOutcome& outcome);
  std::optional<MonotonicTime> next_deadline() const { return timers_.next_deadline(); }

  // Until the first call heartbeats are refused with COORDINATOR_LOAD_IN_PROGRESS.
  void metadata_changed(SharedTopics topics, const CoordinatorTime& time, CoordinatorOutcome& outcome);

  ConsumerHeartbeatAnswer heartbeat(const ConsumerHeartbeat& request, const CoordinatorTime& time,
                                    CoordinatorOutcome& outcome);
  DescribedConsumerGroup describe(std::string_view group_id) const;
  // NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, or it is gone.
  ErrorCode delete_group(std::string_view group_id, CoordinatorOutcome& outcome);

  // Whether offsets may be committed, or fetched, in the name of that member.
  ErrorCode check_commit(const CommitOffsets& request) const;
  ErrorCode check_fetch(const FetchOffsets& request) const;

  const ConsumerGroup* find(std::string_view group_id) const;
  // By name.
  std::vector<ListedGroup> list() const;

  // By group: for comparing what was loaded with what was live, and for printing.
  std::map<std::string, ConsumerGroup> durable_state() const;

 private:
  // What begins anew when a shard is loaded.
  struct MemberTimers {
    MonotonicTime session_deadline;
    uint64_t session = 0;  // the timer that counts; 0: none
    uint64_t rebalance = 0;
  };
  struct Entry {
    ConsumerGroup group;
    std::map<std::string, MemberTimers, std::less<>> timers;
    std::optional<int64_t> checked_generation;  // of the topics that the group's epoch has taken into account
  };
  enum class TimerKind : uint8_t { session, rebalance };
  struct MemberTimer {
    TimerKind kind;
    uint64_t sequence;
    std::string group_id;
    std::string member_id;
  };
  // Who a heartbeat speaks for.
  struct Admission {
    std::string member_id;
    std::optional<std::string> replaced;  // the static member whose place it takes
    bool is_known = false;
    bool missed_answer = false;  // it is still in its previous epoch
  };

  // consumer_groups.cc
  void emit(CoordinatorRecord record, CoordinatorOutcome& outcome);
  void fire(const MemberTimer& timer, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  void restart_session(Entry& entry, const std::string& group_id, const std::string& member_id, MonotonicTime now);
  void restart_rebalance(Entry& entry, const std::string& group_id, const std::string& member_id, MonotonicTime now);
  Milliseconds session_timeout(const std::string& group_id, const ConsumerSubscription& subscription) const;

  // consumer_groups_heartbeat.cc
  Result<ConsumerHeartbeatAnswer> try_heartbeat(const ConsumerHeartbeat& request, const CoordinatorTime& time,
                                                CoordinatorOutcome& outcome);
  Result<Admission> admit(const ConsumerHeartbeat& request) const;
  Status check_static_member(const ConsumerGroup& group, const ConsumerHeartbeat& request, Admission& admission) const;
  bool update_subscription(const ConsumerHeartbeat& request, const Admission& admission, WallTimeMs now,
                           CoordinatorOutcome& outcome);
  ConsumerHeartbeatAnswer reconcile_member(const ConsumerHeartbeat& request, const Admission& admission,
                                           const CoordinatorTime& time, CoordinatorOutcome& outcome);
  Result<ConsumerHeartbeatAnswer> leave(const ConsumerHeartbeat& request, CoordinatorOutcome& outcome);
  void leave_for_a_while(const std::string& group_id, const std::string& member_id, CoordinatorOutcome& outcome);
  void replace_member(const std::string& group_id, const std::string& old_id, const std::string& new_id,
                      CoordinatorOutcome& outcome);
  void erase_member_records(const std::string& group_id, const std::string& member_id, CoordinatorOutcome& outcome);
  // Whoever it was: its partitions are free, and the others will get them.
  void remove_member(const std::string& group_id, const std::string& member_id, CoordinatorOutcome& outcome);

  // consumer_groups_metadata.cc
  void bump_epoch(const std::string& group_id, CoordinatorOutcome& outcome);
  // Takes into account what has become of the topics since the group looked at them; true if that changes anything.
  bool refresh(const std::string& group_id, WallTimeMs now, CoordinatorOutcome& outcome);
  bool refresh_expressions(const std::string& group_id, const TopicChanges* changes, WallTimeMs now,
                           CoordinatorOutcome& outcome);
  // The pattern is valid.
  void resolve_expression(const std::string& group_id, const std::string& pattern, WallTimeMs now,
                          CoordinatorOutcome& outcome);
  void drop_unused_expression(const std::string& group_id, const std::string& pattern, CoordinatorOutcome& outcome);
  void update_target(const std::string& group_id, CoordinatorOutcome& outcome);

  ConsumerGroupSettings settings_;
  SharedTopics topics_;
  std::map<std::string, Entry, std::less<>> groups_;
  TimingWheel<MemberTimer> timers_{MonotonicTime{}};
  uint64_t last_timer_ = 0;
};

}  // namespace naru
