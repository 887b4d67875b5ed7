// A process that is upgraded and taken back: each of its lives is a member of the same group, of the classic or of the
// consumer protocol, while the others are what they are.
#pragma once

#include <optional>
#include <string>

#include "async/task.h"
#include "simulation/group_member.h"

namespace naru::simulation {

class MixedMember {
 public:
  // With an instance id all its lives are the same static member.
  MixedMember(GroupContext context, std::string group, std::optional<std::string> instance_id)
      : context_(std::move(context)), group_(std::move(group)), instance_id_(std::move(instance_id)) {}

  // Until the run stops.
  Task<void> run();

 private:
  GroupContext context_;
  const std::string group_;
  const std::optional<std::string> instance_id_;
};

}  // namespace naru::simulation
