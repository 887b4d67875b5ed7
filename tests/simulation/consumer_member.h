// A member of a group of the consumer protocol: the broker tells it what it has, one heartbeat at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "foundation/uuid.h"
#include "simulation/group_member.h"

namespace naru::simulation {

class ConsumerMember {
 public:
  ConsumerMember(GroupContext context, std::string group, std::optional<std::string> instance_id)
      : context_(std::move(context)), group_(std::move(group)), instance_id_(std::move(instance_id)) {}

  // Until the run stops.
  Task<void> run();

 private:
  using Client = std::shared_ptr<KafkaClient>;
  enum class Next : uint8_t { go_on, reconnect };

  Task<void> pause(Duration longest);
  Task<bool> learn_topic_ids();
  Task<Next> act();
  Task<Next> heartbeat(int32_t epoch);
  Task<Next> take_assignment(std::vector<PartitionName> target);
  Task<Next> commit();
  // As a process that was killed, or was fenced: under a new id, with nothing.
  void begin_anew();
  // Members have epochs of their own, so that generations tell nothing here.
  GroupHistory::Claim claim() const {
    return {.group = group_, .member = member_id_, .generation = 0, .asked_at = asked_at_};
  }

  GroupContext context_;
  const std::string group_;
  const std::optional<std::string> instance_id_;
  Client client_;
  std::map<Uuid, std::string> topic_names_;
  std::string member_id_;
  int32_t epoch_ = 0;
  uint64_t asked_at_ = 0;                  // when the newest heartbeat was sent
  std::map<PartitionName, Offset> owned_;  // where the next commit goes on
};

}  // namespace naru::simulation
