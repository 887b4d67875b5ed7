#include "simulation/group_member.h"

#include <algorithm>
#include <utility>

#include "kafka_protocol/messages/heartbeat_request.h"
#include "kafka_protocol/messages/heartbeat_response.h"
#include "kafka_protocol/messages/join_group_request.h"
#include "kafka_protocol/messages/join_group_response.h"
#include "kafka_protocol/messages/leave_group_request.h"
#include "kafka_protocol/messages/leave_group_response.h"
#include "kafka_protocol/messages/offset_commit_request.h"
#include "kafka_protocol/messages/offset_commit_response.h"
#include "kafka_protocol/messages/offset_fetch_request.h"
#include "kafka_protocol/messages/offset_fetch_response.h"
#include "kafka_protocol/messages/sync_group_request.h"
#include "kafka_protocol/messages/sync_group_response.h"

namespace naru::simulation {
namespace {

constexpr Duration kCallTimeout = 20s;
constexpr int32_t kSessionTimeoutMs = 700;
constexpr int32_t kRebalanceTimeoutMs = 1500;
constexpr int16_t kJoinVersion = 7, kSyncVersion = 5, kHeartbeatVersion = 4, kLeaveVersion = 4, kCommitVersion = 8,
                  kFetchOffsetsVersion = 7;
constexpr int kMaxTries = 300;

Offset fetched_offset(const kafka::OffsetFetchResponse& response) {
  return response.topics.at(0).partitions.at(0).committed_offset;
}

ErrorCode error_of(const kafka::OffsetFetchResponse& response) {
  if (response.error_code != ErrorCode::none) return response.error_code;
  return response.topics.at(0).partitions.at(0).error_code;
}

kafka::OffsetFetchRequest fetch_request(const std::string& group, const PartitionName& partition) {
  kafka::OffsetFetchRequest request;
  request.group_id = group;
  request.topics.emplace();
  request.topics->push_back({.name = partition.first, .partition_indexes = {partition.second.value()}});
  return request;
}

}  // namespace

Task<void> GroupMember::pause(Duration longest) {
  const Duration length(static_cast<int64_t>(1 + context_.seams.random.below(static_cast<uint64_t>(longest.count()))));
  ignore(co_await sleep_until(context_.seams.scheduler, context_.seams.clock.now() + length));
}

Task<void> GroupMember::run() {
  while (!context_.is_over()) {
    co_await pause(200ms);
    if (!client_ || client_->broken()) {
      client_ = co_await context_.brokers.coordinator(group_);
      if (!client_) continue;
    }
    if (!co_await join()) continue;
    Next next = Next::go_on;
    while (next == Next::go_on && !context_.is_over()) {
      co_await pause(150ms);
      next = co_await act();
    }
    if (next == Next::reconnect && client_) client_->close();
  }
  if (context_.until && client_ && !member_id_.empty() && context_.seams.random.one_in(2)) co_await leave();
  if (client_) client_->close();
}

Task<bool> GroupMember::join() {
  kafka::JoinGroupRequest request;
  request.group_id = group_;
  request.session_timeout_ms = kSessionTimeoutMs;
  request.rebalance_timeout_ms = kRebalanceTimeoutMs;
  request.member_id = member_id_;
  if (instance_id_) request.group_instance_id = *instance_id_;
  const Bytes metadata = kind_.language.metadata(context_.partitions, kept_partitions());
  request.protocol_type = kind_.language.protocol_type();
  request.protocols.push_back({.name = kind_.language.protocol(), .metadata = metadata});
  asked_at_ = context_.history.moment();
  auto joined = co_await client_->call<kafka::JoinGroupResponse>(request, kJoinVersion, kCallTimeout);
  if (!joined) co_return false;
  if (joined->error_code == ErrorCode::member_id_required) {
    member_id_ = joined->member_id;
    co_return co_await join();
  }
  if (joined->error_code != ErrorCode::none) {
    after(joined->error_code);
    co_return false;
  }
  // Nobody leads a group of the consumer protocol.
  const bool is_led = !joined->leader.empty();
  context_.history.seen_as(group_, is_led ? GroupHistory::Protocol::classic : GroupHistory::Protocol::consumer);
  member_id_ = joined->member_id;
  generation_ = joined->generation_id;
  members_.clear();
  for (const auto& member : joined->members) members_.push_back({member.member_id, member.metadata});
  std::ranges::sort(members_, {}, &Joined::member_id);
  // A leader may also die between join and sync.
  if (context_.seams.random.one_in(15)) {
    if (!instance_id_) begin_anew();
    co_return false;
  }
  co_return co_await sync(joined->leader == member_id_);
}

Task<bool> GroupMember::sync(bool as_leader) {
  kafka::SyncGroupRequest request;
  request.group_id = group_;
  request.generation_id = generation_;
  request.member_id = member_id_;
  if (instance_id_) request.group_instance_id = *instance_id_;
  request.protocol_type = kind_.language.protocol_type();
  request.protocol_name = kind_.language.protocol();
  std::vector<Bytes> assignments;
  if (as_leader) {
    std::vector<Bytes> metadata;
    for (const Joined& member : members_) metadata.push_back(member.metadata);
    assignments = kind_.language.assign(metadata, context_.partitions);
    for (size_t i = 0; i < members_.size(); ++i) {
      request.assignments.push_back({.member_id = members_[i].member_id, .assignment = assignments[i]});
    }
  }
  const auto synced = co_await client_->call<kafka::SyncGroupResponse>(request, kSyncVersion, kCallTimeout);
  if (!synced) co_return false;
  if (synced->error_code != ErrorCode::none) {
    after(synced->error_code);
    co_return false;
  }
  const bool has_lost = take_assignment(synced->assignment);
  const bool has_offsets = co_await fetch_offsets();
  co_return has_offsets && !has_lost;
}

std::vector<PartitionName> GroupMember::kept_partitions() const {
  std::vector<PartitionName> partitions;
  if (!kind_.keeps_partitions) return partitions;
  for (const Owned& owned : owned_) partitions.push_back(owned.partition);
  return partitions;
}

bool GroupMember::take_assignment(BytesView assignment) {
  const std::vector<PartitionName> given = kind_.language.read(assignment, context_.partitions);
  if (!kind_.keeps_partitions) owned_.clear();
  const size_t lost = std::erase_if(
      owned_, [&](const Owned& owned) { return std::ranges::find(given, owned.partition) == given.end(); });
  for (const PartitionName& partition : given) {
    if (std::ranges::find(owned_, partition, &Owned::partition) != owned_.end()) continue;
    context_.history.assigned(claim(generation_), partition);
    owned_.push_back({partition, std::nullopt});
  }
  return lost > 0;
}

Task<bool> GroupMember::fetch_offsets() {
  for (Owned& owned : owned_) {
    if (owned.next) continue;
    const auto known = context_.history.known(claim(generation_), owned.partition);
    const auto fetched = co_await client_->call<kafka::OffsetFetchResponse>(fetch_request(group_, owned.partition),
                                                                            kFetchOffsetsVersion, kCallTimeout);
    if (!fetched || error_of(*fetched) != ErrorCode::none) {
      std::erase_if(owned_, [](const Owned& each) { return !each.next; });
      co_return false;
    }
    context_.history.fetched(group_, owned.partition, fetched_offset(*fetched), known);
    owned.next = std::max(fetched_offset(*fetched), Offset(0));
  }
  co_return true;
}

Task<GroupMember::Next> GroupMember::act() {
  Random& random = context_.seams.random;
  if (random.one_in(25)) {  // longer than the session: a member that does not know that it is one no more
    ignore(co_await sleep_until(context_.seams.scheduler, context_.seams.clock.now() + 3s));
    if (owned_.empty()) co_return Next::go_on;
    co_return co_await commit(owned_.front(), generation_);
  }
  if (random.one_in(25)) {
    co_await leave();
    co_return Next::join_again;
  }
  if (random.one_in(25)) {  // killed, and started again
    client_->close();
    begin_anew();
    co_return Next::reconnect;
  }
  if (owned_.empty() || random.one_in(2)) co_return co_await heartbeat();
  // Now and then as of a generation that is over, as a commit that was on its way for long would come.
  Owned& owned = owned_[random.below(owned_.size())];
  co_return co_await commit(owned, random.one_in(10) ? generation_ - 1 : generation_);
}

Task<GroupMember::Next> GroupMember::heartbeat() {
  kafka::HeartbeatRequest request;
  request.group_id = group_;
  request.generation_id = generation_;
  request.member_id = member_id_;
  if (instance_id_) request.group_instance_id = *instance_id_;
  const auto beaten = co_await client_->call<kafka::HeartbeatResponse>(request, kHeartbeatVersion, kCallTimeout);
  co_return beaten ? after(beaten->error_code) : Next::reconnect;
}

Task<GroupMember::Next> GroupMember::commit(Owned& owned, int32_t generation) {
  const Offset offset = *owned.next + static_cast<int64_t>(1 + context_.seams.random.below(10));
  kafka::OffsetCommitRequest request;
  request.group_id = group_;
  request.generation_id_or_member_epoch = generation;
  request.member_id = member_id_;
  if (instance_id_) request.group_instance_id = *instance_id_;
  request.topics.push_back({.name = owned.partition.first});
  request.topics.back().partitions.push_back(
      {.partition_index = owned.partition.second, .committed_offset = offset, .committed_metadata = "simulated"});
  const GroupHistory::Claim claimed = claim(generation);
  const auto known = context_.history.known(claimed, owned.partition);
  context_.history.commit_sent(claimed, owned.partition, offset);
  owned.next = offset;  // whatever comes of it, the next one is larger
  const auto committed = co_await client_->call<kafka::OffsetCommitResponse>(request, kCommitVersion, kCallTimeout);
  if (!committed) co_return Next::reconnect;
  const ErrorCode error = committed->topics.at(0).partitions.at(0).error_code;
  if (error == ErrorCode::none) context_.history.commit_acknowledged(claimed, owned.partition, offset, known);
  co_return after(error);
}

Task<void> GroupMember::leave() {
  kafka::LeaveGroupRequest request;
  request.group_id = group_;
  request.members.push_back({.member_id = member_id_});
  if (instance_id_) request.members.back().group_instance_id = *instance_id_;
  static_cast<void>(co_await client_->call<kafka::LeaveGroupResponse>(request, kLeaveVersion, kCallTimeout));
  begin_anew();
}

GroupMember::Next GroupMember::after(ErrorCode error) {
  switch (error) {
    case ErrorCode::none:
      return Next::go_on;
    case ErrorCode::unknown_member_id:
    case ErrorCode::fenced_instance_id:
      begin_anew();
      return Next::join_again;
    case ErrorCode::illegal_generation:  // others may have what it had
      owned_.clear();
      return Next::join_again;
    case ErrorCode::not_coordinator:
    case ErrorCode::coordinator_not_available:
      client_->close();
      return Next::reconnect;
    default:
      return Next::join_again;
  }
}

Task<ErrorCode> GroupMember::check_offsets(GroupContext context, std::string group) {
  for (const PartitionName& partition : context.partitions) {
    ErrorCode error = ErrorCode::network_exception;
    for (int tries = 0; tries < kMaxTries; ++tries) {
      ignore(co_await sleep_until(context.seams.scheduler, context.seams.clock.now() + 100ms));
      const Client client = co_await context.brokers.coordinator(group);
      if (!client) {
        error = ErrorCode::coordinator_not_available;
        continue;
      }
      const auto known = context.history.known({.group = group, .member = {}}, partition);
      const auto fetched = co_await client->call<kafka::OffsetFetchResponse>(fetch_request(group, partition),
                                                                             kFetchOffsetsVersion, kCallTimeout);
      client->close();
      if (!fetched) continue;
      error = error_of(*fetched);
      if (error != ErrorCode::none) continue;
      context.history.fetched(group, partition, fetched_offset(*fetched), known);
      break;
    }
    if (error != ErrorCode::none) co_return error;
  }
  co_return ErrorCode::none;
}

}  // namespace naru::simulation
