#include "command_line/group_reconciliation.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "command_line/command_context.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

using client::GroupDescription;
using client::GroupMember;
using client::TopicPartition;

constexpr size_t kMembersInEvidence = 3;

std::vector<TopicPartition> without(const std::vector<TopicPartition>& some,
                                    const std::vector<TopicPartition>& others) {
  std::vector<TopicPartition> rest;
  std::ranges::set_difference(some, others, std::back_inserter(rest));
  return rest;
}

// What it has heard of already is not among its partitions any more, whether it reads it or not.
std::vector<TopicPartition> surplus_of(const GroupMember& member) {
  const std::vector<TopicPartition> unheard = without(member.partitions, member.target);
  std::vector<TopicPartition> surplus;
  std::ranges::set_union(unheard, member.pending_revocation, std::back_inserter(surplus));
  return surplus;
}

std::vector<TopicPartition> missing_of(const GroupMember& member) {
  return without(member.target, member.partitions);
}

std::string names_of(const std::vector<TopicPartition>& partitions) {
  return printable(partitions_text(partitions));
}

// Both kinds of members that keep a group from being stable.
struct Unsettled {
  std::vector<const GroupMember*> late;    // in an earlier epoch: they have not heard of the assignment, or hold on
  std::vector<const GroupMember*> hungry;  // in the epoch, without all that they are to have
};

Unsettled find_unsettled(const GroupDescription& group) {
  Unsettled unsettled;
  for (const GroupMember& member : group.members) {
    if (member.epoch != group.assignment_epoch || !surplus_of(member).empty()) {
      unsettled.late.push_back(&member);
    } else if (!missing_of(member).empty()) {
      unsettled.hungry.push_back(&member);
    }
  }
  return unsettled;
}

// A broker that is not Naru does not tell what a member was told to give up: then only its epoch is to be seen.
std::string task_of(const GroupDescription& group, const GroupMember& member) {
  const auto surplus = surplus_of(member);
  if (!surplus.empty()) return fmt::format("to give up {}", names_of(surplus));
  return fmt::format("to reach epoch {} (it is in epoch {})", group.assignment_epoch, member.epoch);
}

template <class Describe>
void add_lines(Reason& reason, const std::vector<const GroupMember*>& members, Describe describe) {
  const size_t shown = std::min(members.size(), kMembersInEvidence);
  for (size_t i = 0; i < shown; ++i)
    reason.evidence.push_back(fmt::format("{} {}", member_name(*members[i]), describe(*members[i])));
  if (members.size() > shown)
    reason.evidence.push_back(
        fmt::format("and {}", counted(static_cast<int64_t>(members.size() - shown), "more member")));
}

void explain_late(const GroupDescription& group, const Unsettled& unsettled, Reason& reason) {
  const auto& late = unsettled.late;
  if (late.size() == 1) {
    reason.sentence += fmt::format("waiting for member {} {}", member_name(*late[0]), task_of(group, *late[0]));
  } else {
    reason.sentence += fmt::format("waiting for {} of {} members to reach epoch {}", late.size(), group.members.size(),
                                   group.assignment_epoch);
    add_lines(reason, late, [&](const GroupMember& member) {
      const auto surplus = surplus_of(member);
      return surplus.empty() ? fmt::format("is in epoch {}", member.epoch)
                             : fmt::format("is in epoch {} and has to give up {}", member.epoch, names_of(surplus));
    });
  }
  add_lines(reason, unsettled.hungry,
            [](const GroupMember& member) { return fmt::format("waits for {}", names_of(missing_of(member))); });
  reason.evidence.emplace_back(
      "a member that gives nothing up is dropped at the end of its rebalance timeout (max.poll.interval.ms), or "
      "earlier "
      "when its session ends (group.consumer.session.timeout.ms)");
}

// All that was to be given up is free.
void explain_hungry(const std::vector<const GroupMember*>& hungry, Reason& reason) {
  if (hungry.size() == 1) {
    reason.sentence += fmt::format("waiting for member {} to fetch {} with its next heartbeat", member_name(*hungry[0]),
                                   names_of(missing_of(*hungry[0])));
    return;
  }
  reason.sentence +=
      fmt::format("waiting for {} members to fetch partitions with their next heartbeats", hungry.size());
  add_lines(reason, hungry,
            [](const GroupMember& member) { return fmt::format("is to have {}", names_of(missing_of(member))); });
}

}  // namespace

bool is_reconciling(const GroupDescription& group) {
  return group.state == "Assigning" || group.state == "Reconciling";
}

Reason explain_reconciliation(const GroupFacts& facts) {
  const GroupDescription& group = facts.group;
  const std::string since = since_text(facts);
  const std::string is_rebalancing = since.empty() ? "is rebalancing" : "has been rebalancing" + since;
  Reason reason{.word = "rebalancing",
                .sentence = fmt::format("group {} {}, ", printable(group.id), is_rebalancing),
                .evidence = {}};
  const Unsettled unsettled = find_unsettled(group);
  if (group.epoch > group.assignment_epoch) {
    reason.sentence +=
        fmt::format("waiting for its coordinator to assign partitions for epoch {} (members have those of epoch {})",
                    group.epoch, group.assignment_epoch);
  } else if (!unsettled.late.empty()) {
    explain_late(group, unsettled, reason);
  } else if (!unsettled.hungry.empty()) {
    explain_hungry(unsettled.hungry, reason);
  } else {
    reason.sentence += "waiting for the next heartbeats of its members";
  }
  return reason;
}

}  // namespace naru::command_line
