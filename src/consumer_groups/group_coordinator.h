// The coordinator of all groups whose names fall on one partition of __consumer_offsets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "consumer_groups/classic/classic_group.h"
#include "consumer_groups/consumer_protocol/consumer_group_messages.h"
#include "consumer_groups/consumer_protocol/consumer_group_topics.h"
#include "consumer_groups/consumer_protocol/consumer_groups.h"
#include "consumer_groups/group_messages.h"
#include "consumer_groups/group_settings.h"
#include "consumer_groups/group_step.h"
#include "consumer_groups/group_store.h"
#include "consumer_groups/offsets/offset_expiry.h"
#include "consumer_groups/offsets/offset_sweeps.h"
#include "consumer_groups/offsets/transactional_producers.h"
#include "consumer_groups/offsets/unread_records.h"
#include "coordinator_runtime/coordinator_outcome.h"
#include "coordinator_runtime/state_shard.h"

namespace naru {

// Looking for offsets and groups that nobody needs any more.
struct GroupExpiry {
  ExpirySweep offsets;
  enum class Stage : uint8_t { offsets, classic_groups, consumer_groups } stage = Stage::offsets;
  std::string after;  // the group with which the next step begins
};

// Every function answers its reply exactly once: through the outcome, at once or when what the member waits for has
// happened (join and sync are parked), or with the reason of unload().
// Thread: the shard's strand. Between construction and loaded() only apply() is called.
class GroupCoordinator final : public StateShard {
 public:
  // `memory`: where the members of groups and their offsets are counted, if anywhere; outlives it.
  explicit GroupCoordinator(GroupSettings settings, MemoryBudget* memory = nullptr);

  // Holds for what comes afterwards; timers that run already keep their deadlines.
  void set_settings(GroupSettings settings);

  // StateShard
  Status apply(BytesView key, std::optional<BytesView> value) override;
  Status apply_pending(const ProducerIdentity& producer, BytesView key, std::optional<BytesView> value) override;
  Status apply_marker(const ProducerIdentity& producer, const TransactionMarker& marker) override;
  void loaded(const CoordinatorTime& time) override;
  void on_timer(const CoordinatorTime& time, CoordinatorOutcome& outcome) override;
  std::optional<MonotonicTime> next_deadline() const override;
  void unload(const Status& reason) override;

  // Members of classic groups.
  void join(JoinGroup request, Reply<JoinAnswer> reply, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  void sync(SyncGroup request, Reply<SyncAnswer> reply, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  void heartbeat(GroupHeartbeat request, Reply<ErrorCode> reply, const CoordinatorTime& time,
                 CoordinatorOutcome& outcome);
  void leave(LeaveGroup request, Reply<LeaveAnswer> reply, const CoordinatorTime& time, CoordinatorOutcome& outcome);

  // Members and groups of the consumer protocol.
  void consumer_heartbeat(ConsumerHeartbeat request, Reply<ConsumerHeartbeatAnswer> reply, const CoordinatorTime& time,
                          CoordinatorOutcome& outcome);
  void describe_consumer_group(std::string group_id, Reply<DescribedConsumerGroup> reply, const CoordinatorTime& time,
                               CoordinatorOutcome& outcome);

  // Offsets.
  void commit_offsets(CommitOffsets request, Reply<CommitAnswer> reply, const CoordinatorTime& time,
                      CoordinatorOutcome& outcome);
  void fetch_offsets(FetchOffsets request, Reply<FetchOffsetsAnswer> reply, const CoordinatorTime& time,
                     CoordinatorOutcome& outcome);
  void delete_offsets(DeleteOffsets request, Reply<DeleteOffsetsAnswer> reply, const CoordinatorTime& time,
                      CoordinatorOutcome& outcome);

  // Offsets in transactions (offsets/README.md). First begin_verification(); when it gives a guard, the transaction's
  // coordinator is asked, and then the commit comes with the guard, which a marker in between makes void. Errors:
  //   invalid_producer_epoch      another instance of the producer has begun, or its transaction was aborted
  //   invalid_txn_state           the guard is void, or the commit comes late, from an older connection. A marker that
  //                               was repeated makes a guard void, too: the coordinator may be asked again, and knows
  //   concurrent_transactions     the marker of an earlier epoch has not come yet: it may be asked again
  //   coordinator_not_available   too much is pending here: it may be asked again
  //   invalid_producer_id_mapping nobody has such a producer id
  //   illegal_generation, unknown_member_id, fenced_instance_id, ...: as of commits, but all versions know them
  void begin_verification(const ProducerIdentity& producer, Reply<CommitVerification> reply,
                          const CoordinatorTime& time, CoordinatorOutcome& outcome);
  void commit_in_transaction(TransactionalCommit request, Reply<CommitAnswer> reply, const CoordinatorTime& time,
                             CoordinatorOutcome& outcome);
  // Ends the producer's transaction in all groups of the shard. To be asked with ask_shard(..., only_in) if the sender
  // has named a leader epoch. none also for what has ended already; invalid_producer_epoch,
  // transaction_coordinator_fenced: somebody newer has spoken.
  void write_marker(const WriteMarker& request, Reply<ErrorCode> reply, const CoordinatorTime& time,
                    CoordinatorOutcome& outcome);
  // By producer id.
  void describe_pending(std::string_view group_id, Reply<std::vector<PendingTransaction>> reply,
                        const CoordinatorTime& time, CoordinatorOutcome& outcome);

  // Administration.
  void list_groups(const ListGroups& request, Reply<std::vector<ListedGroup>> reply, const CoordinatorTime& time,
                   CoordinatorOutcome& outcome);
  void describe_group(std::string group_id, Reply<DescribedGroup> reply, const CoordinatorTime& time,
                      CoordinatorOutcome& outcome);
  void delete_group(std::string group_id, Reply<ErrorCode> reply, const CoordinatorTime& time,
                    CoordinatorOutcome& outcome);

  // What the broker tells: which topics there are (consumer_heartbeat() works from the first call on), topics that are
  // gone, and that it is time to look for offsets nobody needs any more. Each in steps; true: there is more to do, with
  // the same object. Without one: in one step, when nobody asks anything yet.
  bool metadata_changed(TopicsSweep& sweep, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  void metadata_changed(SharedTopics topics, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  bool topics_deleted(TopicRemoval& removal, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  bool expire_offsets(GroupExpiry& expiry, const UnreadRecords& unread, const CoordinatorTime& time,
                      CoordinatorOutcome& outcome);
  void expire_offsets(const UnreadRecords& unread, const CoordinatorTime& time, CoordinatorOutcome& outcome);

  // How many elements a step looks at that is about the whole group: its members, what they say, its offsets. With
  // `assigns`: and the partitions that its members may be given.
  size_t elements_of(std::string_view group_id, bool assigns) const;
  size_t pending_of(ProducerId producer) const { return store_.pending().count_of(producer); }
  size_t elements() const override;

  // All that records have said so far: a shard that has applied the same records has the same.
  const DurableGroups& durable_state() const { return store_.all(); }
  std::map<std::string, ConsumerGroup> durable_consumer_groups() const { return consumer_.durable_state(); }

 private:
  GroupStep begin_step(const CoordinatorTime& time, CoordinatorOutcome& outcome) {
    return {settings_, store_, timers_, time, outcome};
  }
  ClassicGroup* find_classic(std::string_view group_id);
  ClassicGroup& place(ClassicGroup group);
  // A group without a record that has nobody in it leaves nothing behind.
  void forget_if_bare(const ClassicGroup& group);
  void expire_timer(const GroupTimer& timer, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  bool knows_group(std::string_view group_id) const;
  // group_coordinator_consumer.cc: a classic group makes way for one of the consumer protocol, or the other way round.
  Status upgrade(ClassicGroup& group, const ConsumerHeartbeat& request, const CoordinatorTime& time,
                 CoordinatorOutcome& outcome);
  void retire(ClassicGroup& group, GroupStep& step);
  void downgrade_where_due(const CoordinatorTime& time, CoordinatorOutcome& outcome);
  // group_coordinator_transactions.cc
  ErrorCode admit_in_transaction(const TransactionalCommit& request);
  ErrorCode admit_commit_of(const CommitOffsets& request, const CoordinatorTime& time, CoordinatorOutcome& outcome);
  OffsetHolder holder_of(std::string_view group_id) const;
  WallTimeMs expiry_clock(const CoordinatorTime& time) const;
  bool remove_empty_groups(GroupExpiry& expiry, CoordinatorOutcome& outcome);

  GroupSettings settings_;
  MemoryBudget* const memory_;
  GroupStore store_;
  // Every group that has a record or members; one that has only offsets is not here.
  std::map<std::string, ClassicGroup, std::less<>> classic_;
  // A name is in one of the two at most; but an empty group stays here until the first classic member has joined.
  ConsumerGroups consumer_;
  TransactionalProducers producers_;
  GroupTimers timers_{MonotonicTime{}};
  CoordinatorTime loaded_at_;
  bool has_warned_of_unknown_records_ = false;
};

}  // namespace naru
