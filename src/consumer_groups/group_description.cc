#include "consumer_groups/group_description.h"

namespace naru {
namespace {

constexpr const char* kClassic = "classic";

// Who reads what is true only while nobody is changing it.
DescribedMember described_member(const ClassicGroup& group, const ClassicMember& member) {
  DescribedMember described{.member_id = member.member_id,
                            .instance_id = member.instance_id,
                            .client_id = member.client_id,
                            .client_host = member.client_host};
  if (group.is(ClassicState::stable)) {
    described.metadata = group.chosen_metadata(member);
    described.assignment = member.assignment;
  }
  return described;
}

}  // namespace

ListedGroup listed_classic_group(const ClassicGroup& group) {
  return {group.id(), group.protocol_type(), std::string(to_string(group.state())), kClassic};
}

DescribedGroup described_classic_group(const ClassicGroup& group) {
  DescribedGroup described{.group_id = group.id(),
                           .state = std::string(to_string(group.state())),
                           .protocol_type = group.protocol_type(),
                           .generation = group.generation(),
                           .state_since = group.state_since(),
                           .waiting_for = group.waiting_for()};
  if (group.is(ClassicState::stable)) described.protocol = group.protocol().value_or("");
  described.members.reserve(group.members().size());
  for (const auto& [id, member] : group.members()) described.members.push_back(described_member(group, member));
  return described;
}

ListedGroup listed_simple_group(const std::string& group_id) {
  return {group_id, "", std::string(to_string(ClassicState::empty)), kClassic};
}

DescribedGroup described_simple_group(const std::string& group_id) {
  return {.group_id = group_id, .state = std::string(to_string(ClassicState::empty))};
}

}  // namespace naru
