#include "consumer_groups/classic/classic_group.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "foundation/assert.h"

namespace naru {
namespace {

// Of a member beside its texts.
constexpr size_t kMemberOverhead = 64;
// Of a member that was sent away for an id: it, its timer.
constexpr size_t kAwaitedMemberBytes = 300;

// A member may name a protocol twice; it is one supporter.
std::set<std::string_view> protocol_names(const std::vector<GroupProtocol>& protocols) {
  std::set<std::string_view> names;
  for (const GroupProtocol& protocol : protocols) names.insert(protocol.name);
  return names;
}

int32_t generation_after(int32_t generation) {
  // Negative generations mean "no member" in requests, so that the count begins again.
  if (generation < 0 || generation == std::numeric_limits<int32_t>::max()) return 1;
  return generation + 1;
}

}  // namespace

std::string_view to_string(ClassicState state) {
  switch (state) {
    case ClassicState::empty:
      return "Empty";
    case ClassicState::preparing_rebalance:
      return "PreparingRebalance";
    case ClassicState::completing_rebalance:
      return "CompletingRebalance";
    case ClassicState::stable:
      return "Stable";
  }
  return "Dead";
}

ClassicGroup::ClassicGroup(std::string group_id, const StoredGroup& stored)
    : id_(std::move(group_id)),
      state_(stored.members.empty() ? ClassicState::empty : ClassicState::stable),
      state_since_(stored.state_since),
      generation_(stored.generation),
      protocol_type_(stored.protocol_type),
      protocol_(stored.protocol) {
  for (const StoredMember& member : stored.members) {
    add({.member_id = member.member_id,
         .instance_id = member.instance_id,
         .client_id = member.client_id,
         .client_host = member.client_host,
         .session_timeout = member.session_timeout,
         .rebalance_timeout = member.rebalance_timeout,
         .protocols = {{*stored.protocol, member.metadata}},
         .assignment = member.assignment},
        stored.protocol_type);
  }
  if (stored.members.empty()) return;
  const bool has_leader = stored.leader && members_.contains(*stored.leader);
  leader_ = has_leader ? *stored.leader : stored.members.front().member_id;
}

void ClassicGroup::enter(ClassicState state, WallTimeMs now) {
  state_ = state;
  state_since_ = now;
}

void ClassicGroup::start_generation() {
  generation_ = generation_after(generation_);
  protocol_.reset();
  if (!members_.empty()) protocol_ = vote();
  for (auto& [id, member] : members_) {
    set_assignment(member, {});
    member.owes_sync = false;
  }
}

ClassicMember* ClassicGroup::find(std::string_view member_id) {
  const auto found = members_.find(member_id);
  return found == members_.end() ? nullptr : &found->second;
}

const std::string* ClassicGroup::member_of_instance(std::string_view instance_id) const {
  const auto found = instances_.find(instance_id);
  return found == instances_.end() ? nullptr : &found->second;
}

ErrorCode ClassicGroup::check_claim(std::string_view member_id, const std::optional<std::string>& instance_id) const {
  if (instance_id) {
    const std::string* owner = member_of_instance(*instance_id);
    if (owner == nullptr) return ErrorCode::unknown_member_id;
    if (*owner != member_id) return ErrorCode::fenced_instance_id;
  }
  return members_.contains(member_id) ? ErrorCode::none : ErrorCode::unknown_member_id;
}

ClassicMember& ClassicGroup::add(ClassicMember member, const std::string& protocol_type) {
  if (members_.empty()) protocol_type_ = protocol_type;
  if (member.instance_id) instances_[*member.instance_id] = member.member_id;
  if (member.parked_join) ++parked_joins_;
  member.place = next_place_++;
  count_protocols(member, +1);
  bytes_ += bytes_of(member);
  count_memory();
  const std::string id = member.member_id;
  const auto [added, is_new] = members_.emplace(id, std::move(member));
  NARU_ASSERT(is_new, "group {} has member {} already", id_, id);
  return added->second;
}

ClassicMember ClassicGroup::remove(std::string_view member_id) {
  const auto found = members_.find(member_id);
  NARU_ASSERT(found != members_.end(), "group {} has no member {}", id_, member_id);
  ClassicMember member = std::move(found->second);
  members_.erase(found);
  if (member.instance_id) instances_.erase(*member.instance_id);
  if (member.parked_join) --parked_joins_;
  count_protocols(member, -1);
  bytes_ -= bytes_of(member);
  count_memory();
  if (leader_ == member.member_id) leader_.clear();
  return member;
}

ClassicMember ClassicGroup::rename(const std::string& old_id, const std::string& new_id) {
  const bool leads = is_leader(old_id);
  ClassicMember former = remove(old_id);
  ClassicMember& member = add({.member_id = new_id,
                               .instance_id = former.instance_id,
                               .client_id = former.client_id,
                               .client_host = former.client_host,
                               .session_timeout = former.session_timeout,
                               .rebalance_timeout = former.rebalance_timeout,
                               .protocols = former.protocols,
                               .assignment = former.assignment},
                              std::string(protocol_type_));
  member.place = former.place;
  if (leads) leader_ = new_id;
  return former;
}

void ClassicGroup::set_protocols(ClassicMember& member, std::vector<GroupProtocol> protocols) {
  count_protocols(member, -1);
  bytes_ -= bytes_of(member);
  member.protocols = std::move(protocols);
  bytes_ += bytes_of(member);
  count_memory();
  count_protocols(member, +1);
}

void ClassicGroup::set_assignment(ClassicMember& member, Bytes assignment) {
  bytes_ -= member.assignment.size();
  bytes_ += assignment.size();
  member.assignment = std::move(assignment);
  count_memory();
}

void ClassicGroup::await_member(const std::string& member_id, GroupTimers::Handle timer) {
  awaited_.emplace(member_id, timer);
  count_memory();
}

void ClassicGroup::forget_awaited(std::string_view member_id) {
  if (const auto found = awaited_.find(member_id); found != awaited_.end()) awaited_.erase(found);
  count_memory();
}

void ClassicGroup::pay_from(MemoryBudget* budget) {
  memory_ = StateMemory(budget);
  count_memory();
}

void ClassicGroup::count_memory() {
  memory_.set(kCopies * bytes_ + kAwaitedMemberBytes * awaited_.size());
}

Reply<JoinAnswer> ClassicGroup::park_join(ClassicMember& member, Reply<JoinAnswer> reply) {
  if (!member.parked_join) ++parked_joins_;
  return std::exchange(member.parked_join, std::move(reply));
}

Reply<JoinAnswer> ClassicGroup::take_join(ClassicMember& member) {
  if (member.parked_join) --parked_joins_;
  return std::exchange(member.parked_join, nullptr);
}

bool ClassicGroup::supports(const std::string& protocol_type, const std::vector<GroupProtocol>& protocols) const {
  if (protocol_type.empty() || protocols.empty()) return false;
  if (members_.empty()) return true;
  return protocol_type == protocol_type_ && std::ranges::any_of(protocols, [this](const GroupProtocol& protocol) {
           const auto found = protocol_supporters_.find(protocol.name);
           return found != protocol_supporters_.end() && found->second == members_.size();
         });
}

std::string ClassicGroup::vote() const {
  const auto all_have = [this](const GroupProtocol& protocol) {
    return protocol_supporters_.find(protocol.name)->second == members_.size();
  };
  std::map<std::string_view, size_t> votes;
  for (const auto& [id, member] : members_) {
    const auto preferred = std::ranges::find_if(member.protocols, all_have);
    NARU_ASSERT(preferred != member.protocols.end(), "the members of group {} have no protocol in common", id_);
    ++votes[preferred->name];
  }
  // Of two with as many votes the first by name: the same on every broker.
  return std::string(std::ranges::max_element(votes, {}, [](const auto& entry) { return entry.second; })->first);
}

bool ClassicGroup::elect_leader() {
  const ClassicMember* leader = find(leader_);
  if (leader != nullptr && leader->parked_join) return true;
  const ClassicMember* first = nullptr;
  for (const auto& [id, member] : members_) {
    if (member.parked_join && (first == nullptr || member.place < first->place)) first = &member;
  }
  if (first == nullptr) return false;
  leader_ = first->member_id;
  return true;
}

Milliseconds ClassicGroup::rebalance_timeout() const {
  Milliseconds longest{};
  for (const auto& [id, member] : members_) longest = std::max(longest, member.rebalance_timeout);
  return longest;
}

StoredGroup ClassicGroup::snapshot() const {
  StoredGroup stored{
      .protocol_type = protocol_type_, .generation = generation_, .protocol = protocol_, .state_since = state_since_};
  if (!leader_.empty()) stored.leader = leader_;
  stored.members.reserve(members_.size());
  for (const auto& [id, member] : members_) {
    stored.members.push_back({.member_id = id,
                              .instance_id = member.instance_id,
                              .client_id = member.client_id,
                              .client_host = member.client_host,
                              .rebalance_timeout = member.rebalance_timeout,
                              .session_timeout = member.session_timeout,
                              .metadata = chosen_metadata(member),
                              .assignment = member.assignment});
  }
  return stored;
}

std::vector<std::string> ClassicGroup::waiting_for() const {
  std::vector<std::string> ids;
  for (const auto& [id, member] : members_) {
    const bool awaited = is(ClassicState::preparing_rebalance) ? !member.parked_join : member.owes_sync;
    if (awaited) ids.push_back(id);
  }
  if (is(ClassicState::preparing_rebalance)) {
    for (const auto& [id, timer] : awaited_) ids.push_back(id);
  }
  return ids;
}

size_t ClassicGroup::bytes_of(const std::vector<GroupProtocol>& protocols) {
  size_t bytes = 0;
  for (const GroupProtocol& protocol : protocols) {
    bytes += sizeof(protocol) + protocol.name.size() + protocol.metadata.size();
  }
  return bytes;
}

size_t ClassicGroup::bytes_of(const ClassicMember& member) {
  return kMemberOverhead + member.member_id.size() + (member.instance_id ? member.instance_id->size() : 0) +
         member.client_id.size() + member.client_host.size() + member.assignment.size() + bytes_of(member.protocols);
}

void ClassicGroup::count_protocols(const ClassicMember& member, int by) {
  for (const std::string_view name : protocol_names(member.protocols)) {
    const auto counted = protocol_supporters_.try_emplace(std::string(name), 0).first;
    counted->second += static_cast<size_t>(by);
    if (counted->second == 0) protocol_supporters_.erase(counted);
  }
}

const Bytes& ClassicGroup::chosen_metadata(const ClassicMember& member) const {
  static const Bytes kNone;
  if (!protocol_) return kNone;
  const auto chosen = std::ranges::find(member.protocols, *protocol_, &GroupProtocol::name);
  return chosen == member.protocols.end() ? kNone : chosen->metadata;
}

}  // namespace naru
