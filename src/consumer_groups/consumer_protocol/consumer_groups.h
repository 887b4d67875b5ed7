// The groups of the consumer protocol on one shard: the broker computes who reads what, members follow heartbeat by
// heartbeat, and nobody has to stop while others change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "consumer_groups/consumer_protocol/consumer_group.h"
#include "consumer_groups/consumer_protocol/consumer_group_messages.h"
#include "consumer_groups/consumer_protocol/consumer_group_migration.h"
#include "consumer_groups/consumer_protocol/consumer_group_settings.h"
#include "consumer_groups/consumer_protocol/consumer_group_topics.h"
#include "consumer_groups/group_messages.h"
#include "coordinator_runtime/coordinator_outcome.h"
#include "foundation/bytes.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "observability/state_memory.h"
#include "timing_wheel/timing_wheel.h"

namespace naru {

// No I/O, no clock. Durable state changes only through apply(); answers are returned, and are true when the records in
// the outcome are committed. Part of a GroupCoordinator, in whose strand it lives.
class ConsumerGroups {
 public:
  // `memory`: where subscriptions are counted, if anywhere; outlives it.
  explicit ConsumerGroups(ConsumerGroupSettings settings, MemoryBudget* memory = nullptr);

  // Holds for what comes afterwards; timers that run already keep their deadlines.
  void set_settings(ConsumerGroupSettings settings);

  // A record whose key is_consumer_group_key().
  Status apply(BytesView key, std::optional<BytesView> value);
  // Everybody's session begins anew.
  void loaded(const CoordinatorTime& time);
  void on_timer(const CoordinatorTime& time, CoordinatorOutcome& outcome);
  std::optional<MonotonicTime> next_deadline() const { return timers_.next_deadline(); }

  // Until the first call heartbeats are refused with COORDINATOR_LOAD_IN_PROGRESS. In steps of about so many elements;
  // true: there is more to do. The new topics hold from the first step on; a group whose member sends a heartbeat takes
  // them into account then.
  bool metadata_changed(TopicsSweep& sweep, size_t elements_max, const CoordinatorTime& time,
                        CoordinatorOutcome& outcome);

  ConsumerHeartbeatAnswer heartbeat(const ConsumerHeartbeat& request, const CoordinatorTime& time,
                                    CoordinatorOutcome& outcome);
  // What is wrong with a heartbeat of somebody who stays or joins, whatever the group looks like.
  Status check_request(const ConsumerHeartbeat& request) const;
  DescribedConsumerGroup describe(std::string_view group_id) const;

  // Members of the classic protocol in a group of the consumer protocol; the group exists. Nobody has to wait: whoever
  // joins gets what is free at once, and is called to join again when there is more.
  JoinAnswer join_classic(const JoinGroup& request, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  SyncAnswer sync_classic(const SyncGroup& request, const CoordinatorTime& time);
  ErrorCode heartbeat_classic(const GroupHeartbeat& request, const CoordinatorTime& time);
  LeaveAnswer leave_classic(const LeaveGroup& request, const CoordinatorTime& time, CoordinatorOutcome& outcome);

  // Change of protocol. The group did not exist before; it does not exist afterwards.
  // Whether the heartbeat will find room when the group has been adopted.
  Status check_adoption(const std::string& group_id, const AdoptedGroup& adopted,
                        const ConsumerHeartbeat& request) const;
  void adopt(const std::string& group_id, const AdoptedGroup& adopted, const CoordinatorTime& time,
             CoordinatorOutcome& outcome);
  void dissolve(const std::string& group_id, CoordinatorOutcome& outcome);
  // Groups whose last member of the consumer protocol has gone since the last call, and that have others.
  std::set<std::string> take_all_classic() { return std::exchange(all_classic_, {}); }

  // Whether offsets may be committed, or fetched, in the name of that member. The group exists.
  ErrorCode check_commit(const CommitOffsets& request) const;
  ErrorCode check_transactional_commit(const CommitOffsets& request) const;
  ErrorCode check_fetch(const FetchOffsets& request) const;

  const ConsumerGroup* find(std::string_view group_id) const;
  // Nobody has been in it since then, or, if its records do not tell, since loading; none: it has members, or does not
  // exist.
  std::optional<WallTimeMs> empty_since(std::string_view group_id) const;
  const SharedTopics& topics() const { return topics_; }
  // By name.
  std::vector<ListedGroup> list(const ListGroups& page = {}) const;
  // Of so many groups beginning with `at`, which is moved forward. `more`: there are others.
  std::vector<std::string> empty_groups(std::string& at, size_t max, bool& more) const;
  // GroupCoordinator::elements_of()
  size_t elements_of(std::string_view group_id, bool assigns) const;
  size_t timer_count() const { return timers_.size(); }

  // By group: for comparing what was loaded with what was live, and for printing.
  std::map<std::string, ConsumerGroup> durable_state() const;

 private:
  // What begins anew when a shard is loaded.
  struct MemberTimers {
    MonotonicTime session_deadline;
    std::optional<TimingWheelIndex::Handle> session;
    // To give partitions back; in the classic protocol, to join or to sync.
    std::optional<TimingWheelIndex::Handle> rebalance;
  };
  struct Entry {
    ConsumerGroup group;
    std::map<std::string, MemberTimers, std::less<>> timers;
    std::optional<int64_t> checked_generation;  // of the topics that the group's epoch has taken into account
    WallTimeMs loaded_at = 0;
    WallTimeMs unsettled_since = -1;  // when it was settled for the last time; later, if it has been loaded since
  };
  enum class TimerKind : uint8_t { session, rebalance };
  struct MemberTimer {
    TimerKind kind;
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
  static WallTimeMs state_since(const Entry& entry);
  void stop_timer(std::optional<TimingWheelIndex::Handle>& timer);
  void stop_timers(Entry& entry, const std::string& member_id);
  // True: the member is to be removed.
  bool fire(const MemberTimer& timer, MonotonicTime now);
  void restart_session(Entry& entry, const std::string& group_id, const std::string& member_id, MonotonicTime now);
  void restart_rebalance(Entry& entry, const std::string& group_id, const std::string& member_id, MonotonicTime now);
  Milliseconds session_timeout(const std::string& group_id, const ConsumerSubscription& subscription) const;

  // consumer_groups_heartbeat.cc
  Result<ConsumerHeartbeatAnswer> try_heartbeat(const ConsumerHeartbeat& request, const CoordinatorTime& time,
                                                CoordinatorOutcome& outcome);
  Result<Admission> admit(const ConsumerHeartbeat& request) const;
  Status check_static_member(const ConsumerGroup& group, const ConsumerHeartbeat& request, Admission& admission) const;
  ConsumerSubscription subscription_of(const std::string& group_id, const std::string& member_id) const;
  // Whether the group may say that much, with `after` instead of what the member said before.
  Status check_room(const std::string& group_id, const std::string& member_id, const ConsumerSubscription& after) const;
  // True if the target has to be computed anew.
  bool update_subscription(const std::string& group_id, const Admission& admission, const ConsumerSubscription& after,
                           WallTimeMs now, CoordinatorOutcome& outcome);
  void bring_up_to_date(const std::string& group_id, bool is_new_epoch, WallTimeMs now, CoordinatorOutcome& outcome);
  // One step towards its target; the result is what it has now.
  ConsumerMemberAssignment reconcile_member(const std::string& group_id, const std::string& member_id,
                                            const PartitionSet* owned, const CoordinatorTime& time,
                                            CoordinatorOutcome& outcome);
  Result<ConsumerHeartbeatAnswer> leave(const ConsumerHeartbeat& request, const CoordinatorTime& time,
                                        CoordinatorOutcome& outcome);
  void leave_for_a_while(const std::string& group_id, const std::string& member_id, WallTimeMs now,
                         CoordinatorOutcome& outcome);
  void replace_member(const std::string& group_id, const std::string& old_id, const std::string& new_id,
                      CoordinatorOutcome& outcome);
  void erase_member_records(const std::string& group_id, const std::string& member_id, CoordinatorOutcome& outcome);
  // All of them are members, static ones included; their partitions go to the others. One epoch for all of them,
  // because beginning one looks at the whole group.
  void remove_members(const std::string& group_id, const std::vector<std::string>& member_ids, WallTimeMs now,
                      CoordinatorOutcome& outcome);
  void note_if_all_classic(const std::string& group_id);

  // consumer_groups_classic.cc
  Result<JoinAnswer> try_join_classic(const JoinGroup& request, const CoordinatorTime& time,
                                      CoordinatorOutcome& outcome);
  Result<Admission> admit_classic(const JoinGroup& request) const;
  Result<const ConsumerMember*> classic_member(const std::string& group_id, const MemberClaim& claim) const;
  void call_to_join(const std::string& group_id, const std::string& member_id, MonotonicTime now);
  // The member that leaves.
  Result<std::string> leaving_member(const std::string& group_id, const LeaveGroup::Member& leaver) const;

  // consumer_groups_metadata.cc
  // False: the group has nothing to do with them.
  bool follow_topics(const std::string& group_id, const TopicsSweep& sweep, WallTimeMs now,
                     CoordinatorOutcome& outcome);
  void bump_epoch(const std::string& group_id, WallTimeMs now, CoordinatorOutcome& outcome);
  // Takes into account what has become of the topics since the group looked at them; true if that changes anything.
  bool refresh(const std::string& group_id, WallTimeMs now, CoordinatorOutcome& outcome);
  bool refresh_expressions(const std::string& group_id, const TopicChanges* changes, WallTimeMs now,
                           CoordinatorOutcome& outcome);
  void resolve_expression(const std::string& group_id, const std::string& pattern, WallTimeMs now,
                          CoordinatorOutcome& outcome);
  void drop_unused_expression(const std::string& group_id, const std::string& pattern, CoordinatorOutcome& outcome);
  void update_target(const std::string& group_id, CoordinatorOutcome& outcome);

  ConsumerGroupSettings settings_;
  size_t subscription_bytes_ = 0;  // of all groups
  StateMemory memory_;
  SharedTopics topics_;
  std::map<std::string, Entry, std::less<>> groups_;
  TimingWheel<MemberTimer> timers_{MonotonicTime{}};
  std::set<std::string> all_classic_;
};

}  // namespace naru
