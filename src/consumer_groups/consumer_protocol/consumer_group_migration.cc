#include "consumer_groups/consumer_protocol/consumer_group_migration.h"

#include <algorithm>
#include <utility>

#include "consumer_groups/consumer_protocol/consumer_group_protocol.h"
#include "foundation/assert.h"

namespace naru {
namespace {

Result<AdoptedGroup::Member> adopted_member(const ClassicGroup& group, const ClassicMember& member,
                                            const SubscribableTopics& topics) {
  NARU_ASSERT(!member.protocols.empty(), "member {} has joined without a protocol", member.member_id);
  NARU_TRY_ASSIGN(ConsumerProtocolMetadata said, read_protocol_metadata(member.protocols.front().metadata));
  NARU_TRY_ASSIGN(const auto assignment, read_protocol_assignment(member.assignment));
  AdoptedGroup::Member adopted{
      .member_id = member.member_id,
      .subscription = {.instance_id = member.instance_id,
                       .rack_id = std::move(said.rack_id),
                       .client_id = member.client_id,
                       .client_host = member.client_host,
                       .topics = std::move(said.topics),
                       .rebalance_timeout = member.rebalance_timeout,
                       .classic = ClassicMembership{member.session_timeout, member.protocols}},
      .assigned = with_topic_ids(assignment, topics),
  };
  // In the middle of a rebalance the assignment may be gone while the member still has what it had before.
  if (!group.is(ClassicState::stable)) {
    adopted.assigned = set_of_either(adopted.assigned, with_topic_ids(said.owned, topics));
  }
  return adopted;
}

// One that all have: members of the classic protocol are admitted only if there is one.
const std::string& common_protocol(const ConsumerGroup& group, const ConsumerMember& first) {
  for (const GroupProtocol& protocol : first.subscription->classic->protocols) {
    const bool all_have = std::ranges::all_of(group.members(), [&](const auto& entry) {
      const auto& protocols = entry.second.subscription->classic->protocols;
      return std::ranges::find(protocols, protocol.name, &GroupProtocol::name) != protocols.end();
    });
    if (all_have) return protocol.name;
  }
  return first.subscription->classic->protocols.front().name;
}

}  // namespace

bool allows_upgrade(GroupMigration policy) {
  return policy == GroupMigration::upgrade || policy == GroupMigration::bidirectional;
}

bool allows_downgrade(GroupMigration policy) {
  return policy == GroupMigration::downgrade || policy == GroupMigration::bidirectional;
}

Result<AdoptedGroup> adopted_classic_group(const ClassicGroup& group, const SubscribableTopics& topics) {
  if (group.protocol_type() != kConsumerProtocolType) {
    return failure(ErrorCode::group_id_not_found, "group {} is one of type {}", group.id(), group.protocol_type());
  }
  AdoptedGroup adopted{.generation = group.generation()};
  for (const auto& [member_id, member] : group.members()) {
    if (member.is_new) continue;
    auto read = adopted_member(group, member, topics);
    if (!read.has_value()) {
      return failure(ErrorCode::group_id_not_found, "group {} cannot change its protocol, because of member {}: {}",
                     group.id(), member_id, read.error().message());
    }
    adopted.members.push_back(std::move(*read));
  }
  return adopted;
}

ClassicGroup classic_group_of(const std::string& group_id, const ConsumerGroup& group, const SubscribableTopics& topics,
                              WallTimeMs now) {
  auto members = group.members();
  const auto& [first_id, first] = *members.begin();
  StoredGroup stored{.protocol_type = std::string(kConsumerProtocolType),
                     .generation = group.assignment_epoch(),
                     .protocol = common_protocol(group, first),
                     .leader = first_id,
                     .state_since = now};
  for (const auto& [member_id, member] : members) {
    const ConsumerSubscription& said = *member.subscription;
    const auto metadata = read_protocol_metadata(said.classic->protocols.front().metadata);
    const PartitionSet assigned = member.current.has_value() ? member.current->assigned : PartitionSet{};
    stored.members.push_back(
        {.member_id = member_id,
         .instance_id = said.instance_id,
         .client_id = said.client_id,
         .client_host = said.client_host,
         .rebalance_timeout = said.rebalance_timeout,
         .session_timeout = said.classic->session_timeout,
         .assignment = write_protocol_assignment(assigned, topics, metadata.has_value() ? metadata->version : 0)});
  }
  ClassicGroup classic(group_id, stored);
  for (auto& [member_id, member] : classic.members()) {
    classic.set_protocols(member, group.find(member_id)->subscription->classic->protocols);
  }
  return classic;
}

}  // namespace naru
