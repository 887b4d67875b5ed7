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
#include "simulation/group_history.h"
#include "simulation/history.h"
#include "simulation/kafka_client.h"

namespace naru::simulation {

// What all members of a run share.
struct GroupContext {
  Seams seams;
  Endpoint broker;
  GroupHistory& history;
  std::vector<PartitionName> partitions;
  const bool& stopping;
};

class GroupMember {
 public:
  // With an instance id it is a static member. Two members may have the same one.
  GroupMember(GroupContext context, std::string group, std::optional<std::string> instance_id)
      : context_(std::move(context)), group_(std::move(group)), instance_id_(std::move(instance_id)) {}

  // Until the run stops.
  Task<void> run();

  // What the group has committed, asked of a healed broker; the error of the last try when there is no answer.
  static Task<ErrorCode> check_offsets(GroupContext context, std::string group);

 private:
  using Client = std::shared_ptr<KafkaClient>;
  enum class Next : uint8_t { go_on, join_again, reconnect };

  Task<void> pause(Duration longest);
  Task<bool> find_coordinator();
  Task<bool> join();
  Task<bool> sync(bool as_leader);
  Task<bool> fetch_offsets();
  Task<Next> act();
  Task<Next> heartbeat();
  Task<Next> commit();
  Task<void> leave();
  Next after(ErrorCode error);
  void begin_anew() { member_id_.clear(); }
  GroupHistory::Claim claim() const { return {group_, member_id_, generation_}; }

  GroupContext context_;
  const std::string group_;
  const std::optional<std::string> instance_id_;
  Client client_;
  std::string member_id_;
  int32_t generation_ = -1;
  std::vector<std::string> members_;  // for the leader
  struct Owned {
    PartitionName partition;
    Offset next;
  };
  std::vector<Owned> owned_;
};

}  // namespace naru::simulation
