// A member of a group: joins, syncs, heartbeats, commits, leaves, is killed, sleeps for longer than its session and
// goes on as if nothing had happened.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "foundation/function.h"
#include "platform/seams.h"
#include "simulation/broker_directory.h"
#include "simulation/group_history.h"
#include "simulation/group_language.h"
#include "simulation/history.h"
#include "simulation/kafka_client.h"

namespace naru::simulation {

// What all members of a run share.
struct GroupContext {
  Seams seams;
  BrokerDirectory& brokers;
  GroupHistory& history;
  std::vector<PartitionName> partitions;
  const bool& stopping;
  std::optional<MonotonicTime> until = std::nullopt;  // a member whose life ends before the run does

  bool is_over() const { return stopping || (until && seams.clock.now() >= *until); }
};

struct GroupMemberKind {
  const GroupLanguage& language = numbers_language();
  bool has_epochs = false;        // in its group each member has a generation of its own
  bool keeps_partitions = false;  // and reads on while it joins again, but for what it is told to give up
};

class GroupMember {
 public:
  // With an instance id it is a static member. Two members may have the same one.
  GroupMember(GroupContext context, std::string group, std::optional<std::string> instance_id, GroupMemberKind kind)
      : context_(std::move(context)), group_(std::move(group)), instance_id_(std::move(instance_id)), kind_(kind) {}

  // Until the run stops, or its life does.
  Task<void> run();

  // What the group has committed, asked of a healed broker; the error of the last try when there is no
  // answer, network_exception when nobody could be asked.
  static Task<ErrorCode> check_offsets(GroupContext context, std::string group);

 private:
  using Client = std::shared_ptr<KafkaClient>;
  struct Owned {
    PartitionName partition;
    std::optional<Offset> next;  // none: it has not been asked for yet
  };
  struct Joined {
    std::string member_id;
    Bytes metadata;
  };
  enum class Next : uint8_t { go_on, join_again, reconnect };

  Task<void> pause(Duration longest);
  Task<bool> join();
  Task<bool> sync(bool as_leader);
  // Whether it has lost any, and so has to join again to say so.
  bool take_assignment(BytesView assignment);
  Task<bool> fetch_offsets();
  Task<Next> act();
  Task<Next> heartbeat();
  Task<Next> commit(Owned& owned, int32_t generation);
  Task<void> leave();
  Next after(ErrorCode error);
  void begin_anew() {
    member_id_.clear();
    owned_.clear();
  }
  std::vector<PartitionName> kept_partitions() const;
  GroupHistory::Claim claim(int32_t generation) const {
    return {.group = group_,
            .member = member_id_,
            .generation = kind_.has_epochs ? 0 : generation,
            .is_past = generation < generation_,
            .instance = instance_id_,
            .asked_at = asked_at_};
  }

  GroupContext context_;
  const std::string group_;
  const std::optional<std::string> instance_id_;
  const GroupMemberKind kind_;
  Client client_;
  std::string member_id_;
  int32_t generation_ = -1;
  uint64_t asked_at_ = 0;        // when it joined, the last time
  std::vector<Joined> members_;  // for the leader
  std::vector<Owned> owned_;
};

}  // namespace naru::simulation
