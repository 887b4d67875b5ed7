#include "simulation/group_member.h"

#include <algorithm>
#include <utility>

#include "kafka_protocol/messages/find_coordinator_request.h"
#include "kafka_protocol/messages/find_coordinator_response.h"
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
constexpr int16_t kFindCoordinatorVersion = 4, kJoinVersion = 7, kSyncVersion = 5, kHeartbeatVersion = 4,
                  kLeaveVersion = 4, kCommitVersion = 8, kFetchOffsetsVersion = 7;
constexpr std::string_view kProtocolType = "simulation";
constexpr std::string_view kProtocol = "turns";
constexpr int kMaxTries = 300;

// Assignments are opaque to the coordinator. Ours are numbers of partitions, with a blank behind each.
std::string encode_assignment(size_t member, size_t members, size_t partitions) {
  std::string text;
  for (size_t i = member; i < partitions; i += members) text += std::to_string(i) + ' ';
  return text;
}

std::vector<size_t> decode_assignment(BytesView bytes) {
  std::vector<size_t> numbers;
  size_t number = 0;
  for (const std::byte byte : bytes) {
    const char c = static_cast<char>(byte);
    if (c == ' ') {
      numbers.push_back(std::exchange(number, 0));
    } else {
      number = 10 * number + static_cast<size_t>(c - '0');
    }
  }
  return numbers;
}

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
  while (!context_.stopping) {
    co_await pause(200ms);
    if (!client_ || client_->broken()) {
      auto connected = co_await KafkaClient::connect(context_.seams, context_.broker);
      if (!connected) continue;
      client_ = *connected;
    }
    const bool ready = co_await find_coordinator() && co_await join();
    if (!ready) continue;
    Next next = Next::go_on;
    while (next == Next::go_on && !context_.stopping) {
      co_await pause(150ms);
      next = co_await act();
    }
    if (next == Next::reconnect && client_) client_->close();
  }
  if (client_) client_->close();
}

Task<bool> GroupMember::find_coordinator() {
  kafka::FindCoordinatorRequest request;
  request.coordinator_keys = {group_};
  const auto found =
      co_await client_->call<kafka::FindCoordinatorResponse>(request, kFindCoordinatorVersion, kCallTimeout);
  co_return found && found->coordinators.at(0).error_code == ErrorCode::none;
}

Task<bool> GroupMember::join() {
  kafka::JoinGroupRequest request;
  request.group_id = group_;
  request.session_timeout_ms = kSessionTimeoutMs;
  request.rebalance_timeout_ms = kRebalanceTimeoutMs;
  request.member_id = member_id_;
  if (instance_id_) request.group_instance_id = *instance_id_;
  request.protocol_type = kProtocolType;
  request.protocols.push_back({.name = kProtocol, .metadata = as_bytes(kProtocol)});
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
  member_id_ = joined->member_id;
  generation_ = joined->generation_id;
  members_.clear();
  for (const auto& member : joined->members) members_.push_back(member.member_id);
  std::ranges::sort(members_);
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
  request.protocol_type = kProtocolType;
  request.protocol_name = kProtocol;
  std::vector<std::string> assignments;
  if (as_leader) {
    for (size_t i = 0; i < members_.size(); ++i) {
      assignments.push_back(encode_assignment(i, members_.size(), context_.partitions.size()));
    }
    for (size_t i = 0; i < members_.size(); ++i) {
      request.assignments.push_back({.member_id = members_[i], .assignment = as_bytes(assignments[i])});
    }
  }
  const auto synced = co_await client_->call<kafka::SyncGroupResponse>(request, kSyncVersion, kCallTimeout);
  if (!synced) co_return false;
  if (synced->error_code != ErrorCode::none) {
    after(synced->error_code);
    co_return false;
  }
  owned_.clear();
  for (const size_t number : decode_assignment(synced->assignment)) {
    const PartitionName& partition = context_.partitions.at(number);
    context_.history.assigned(claim(), partition);
    owned_.push_back({partition, Offset(0)});
  }
  co_return co_await fetch_offsets();
}

Task<bool> GroupMember::fetch_offsets() {
  for (Owned& owned : owned_) {
    const auto known = context_.history.known(claim(), owned.partition);
    const auto fetched = co_await client_->call<kafka::OffsetFetchResponse>(fetch_request(group_, owned.partition),
                                                                            kFetchOffsetsVersion, kCallTimeout);
    if (!fetched || error_of(*fetched) != ErrorCode::none) co_return false;
    context_.history.fetched(group_, owned.partition, fetched_offset(*fetched), known);
    owned.next = std::max(fetched_offset(*fetched), Offset(0));
  }
  co_return true;
}

Task<GroupMember::Next> GroupMember::act() {
  Random& random = context_.seams.random;
  if (random.one_in(25)) {  // longer than the session: a member that does not know that it is one no more
    ignore(co_await sleep_until(context_.seams.scheduler, context_.seams.clock.now() + 3s));
    co_return co_await commit();
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
  if (random.one_in(2)) co_return co_await commit();
  co_return co_await heartbeat();
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

Task<GroupMember::Next> GroupMember::commit() {
  if (owned_.empty()) co_return co_await heartbeat();
  Owned& owned = owned_[context_.seams.random.below(owned_.size())];
  const Offset offset = owned.next + static_cast<int64_t>(1 + context_.seams.random.below(10));
  kafka::OffsetCommitRequest request;
  request.group_id = group_;
  request.generation_id_or_member_epoch = generation_;
  request.member_id = member_id_;
  if (instance_id_) request.group_instance_id = *instance_id_;
  request.topics.push_back({.name = owned.partition.first});
  request.topics.back().partitions.push_back(
      {.partition_index = owned.partition.second, .committed_offset = offset, .committed_metadata = "simulated"});
  const auto known = context_.history.known(claim(), owned.partition);
  context_.history.commit_sent(claim(), owned.partition, offset);
  owned.next = offset;  // whatever comes of it, the next one is larger
  const auto committed = co_await client_->call<kafka::OffsetCommitResponse>(request, kCommitVersion, kCallTimeout);
  if (!committed) co_return Next::reconnect;
  const ErrorCode error = committed->topics.at(0).partitions.at(0).error_code;
  if (error == ErrorCode::none) context_.history.commit_acknowledged(claim(), owned.partition, offset, known);
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
    default:
      return Next::join_again;
  }
}

Task<ErrorCode> GroupMember::check_offsets(GroupContext context, std::string group) {
  ErrorCode error = ErrorCode::none;
  for (const PartitionName& partition : context.partitions) {
    for (int tries = 0; tries < kMaxTries; ++tries) {
      ignore(co_await sleep_until(context.seams.scheduler, context.seams.clock.now() + 100ms));
      auto client = co_await KafkaClient::connect(context.seams, context.broker);
      if (!client) continue;
      const auto known = context.history.known({.group = group, .member = {}}, partition);
      const auto fetched = co_await (*client)->call<kafka::OffsetFetchResponse>(fetch_request(group, partition),
                                                                                kFetchOffsetsVersion, kCallTimeout);
      (*client)->close();
      if (!fetched) continue;
      error = error_of(*fetched);
      if (error != ErrorCode::none) continue;
      context.history.fetched(group, partition, fetched_offset(*fetched), known);
      break;
    }
    if (error != ErrorCode::none) break;
  }
  co_return error;
}

}  // namespace naru::simulation
