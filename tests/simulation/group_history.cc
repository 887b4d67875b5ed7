#include "simulation/group_history.h"

#include <algorithm>
#include <utility>

namespace naru::simulation {
namespace {

std::string name_of(const PartitionName& partition) {
  return fmt::format("{}-{}", partition.first, partition.second);
}

}  // namespace

void GroupHistory::violated(std::string sentence) {
  if (!violation_) violation_ = std::move(sentence);
}

void GroupHistory::assigned(const Claim& claim, const PartitionName& partition) {
  ++assignments_;
  int32_t& newest = newest_generation_.try_emplace(claim.group, -1).first->second;
  // A group that has neither members nor offsets is forgotten, and counts from one when it comes back.
  const bool may_be_a_new_group = !groups_with_offsets_.contains(claim.group);
  if (may_be_a_new_group && claim.generation < newest) {
    std::erase_if(owners_, [&](const auto& entry) {
      return std::get<0>(entry.first) == claim.group && std::get<1>(entry.first) > claim.generation;
    });
  }
  newest = may_be_a_new_group ? claim.generation : std::max(newest, claim.generation);
  const auto [owner, is_first] = owners_.try_emplace({claim.group, claim.generation, partition});
  const bool is_same =
      owner->second.member == claim.member || (claim.instance && owner->second.instance == claim.instance);
  const bool may_differ = may_be_a_new_group || owner->second.may_be_of_an_earlier_group;
  if (!is_first && !is_same && claim.generation > 0 && !may_differ) {
    violated(fmt::format("{} got {} in generation {}, although {} has it", claim.member, name_of(partition),
                         claim.generation, owner->second.member));
  }
  if (!is_first && owner->second.member != claim.member && claim.asked_at < owner->second.heard_at) {
    owner->second.also.insert(claim.member);  // it is not known which of the two answers is the newer one
    return;
  }
  owner->second = {.member = claim.member,
                   .instance = claim.instance,
                   .heard_at = moment(),
                   .also = {},
                   .may_be_of_an_earlier_group = may_be_a_new_group};
}

GroupHistory::Known GroupHistory::known(const Claim& claim, const PartitionName& partition) const {
  Known known;
  if (const auto newest = newest_generation_.find(claim.group); newest != newest_generation_.end()) {
    known.newest_generation = newest->second;
  }
  if (const auto owner = owners_.find({claim.group, claim.generation, partition}); owner != owners_.end()) {
    known.owner = owner->second.member;
    known.may_own = known.owner == claim.member || owner->second.also.contains(claim.member);
  }
  if (const auto at = positions_.find({claim.group, partition}); at != positions_.end()) {
    known.acknowledged = at->second.acknowledged;
  }
  return known;
}

void GroupHistory::commit_sent(const Claim& claim, const PartitionName& partition, Offset offset) {
  Position& position = positions_[{claim.group, partition}];
  position.attempted = std::max(position.attempted, offset);
}

void GroupHistory::commit_acknowledged(const Claim& claim, const PartitionName& partition, Offset offset,
                                       const Known& when_sent) {
  ++commits_;
  if (claim.is_past) {
    violated(fmt::format("{} committed {} in {} as of a generation before its own", claim.member, offset,
                         name_of(partition)));
  }
  if (when_sent.newest_generation > claim.generation) {
    violated(fmt::format("{} committed {} in {} as of generation {}, although generation {} had been assigned",
                         claim.member, offset, name_of(partition), claim.generation, when_sent.newest_generation));
  }
  if (!when_sent.may_own) {
    violated(fmt::format("{} committed {} in {}, although {} had taken it over in generation {}", claim.member, offset,
                         name_of(partition), when_sent.owner, claim.generation));
  }
  groups_with_offsets_.insert(claim.group);
  Position& position = positions_[{claim.group, partition}];
  position.acknowledged = std::max(position.acknowledged, offset);
}

void GroupHistory::fetched(const std::string& group, const PartitionName& partition, Offset offset,
                           const Known& when_sent) {
  if (offset < when_sent.acknowledged) {
    violated(fmt::format("the offset of {} in {} went back from {} to {}", group, name_of(partition),
                         when_sent.acknowledged, offset));
  }
  const Position& position = positions_[{group, partition}];
  if (offset > position.attempted) {
    violated(fmt::format("{} is at {} in {}, and nobody has committed more than {}", group, offset, name_of(partition),
                         position.attempted));
  }
}

void GroupHistory::seen_as(const std::string& group, Protocol protocol) {
  const auto [before, is_new] = protocols_.try_emplace(group, protocol);
  if (!is_new && std::exchange(before->second, protocol) != protocol) ++conversions_;
}

}  // namespace naru::simulation
