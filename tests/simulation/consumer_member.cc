#include "simulation/consumer_member.h"

#include <algorithm>
#include <set>

#include "kafka_protocol/messages/consumer_group_heartbeat_request.h"
#include "kafka_protocol/messages/consumer_group_heartbeat_response.h"
#include "kafka_protocol/messages/metadata_request.h"
#include "kafka_protocol/messages/metadata_response.h"
#include "kafka_protocol/messages/offset_commit_request.h"
#include "kafka_protocol/messages/offset_commit_response.h"
#include "kafka_protocol/messages/offset_fetch_request.h"
#include "kafka_protocol/messages/offset_fetch_response.h"

namespace naru::simulation {
namespace {

constexpr Duration kCallTimeout = 20s;
constexpr int32_t kRebalanceTimeoutMs = 1500;
constexpr int32_t kLeaves = -1;
constexpr int32_t kLeavesForAWhile = -2;
constexpr int16_t kMetadataVersion = 12, kHeartbeatVersion = 1, kCommitVersion = 9, kFetchOffsetsVersion = 9;

std::vector<std::string_view> topics_of(const std::vector<PartitionName>& partitions) {
  std::set<std::string_view> names;
  for (const PartitionName& partition : partitions) names.insert(partition.first);
  return {names.begin(), names.end()};
}

}  // namespace

Task<void> ConsumerMember::pause(Duration longest) {
  const Duration length(static_cast<int64_t>(1 + context_.seams.random.below(static_cast<uint64_t>(longest.count()))));
  ignore(co_await sleep_until(context_.seams.scheduler, context_.seams.clock.now() + length));
}

void ConsumerMember::begin_anew() {
  member_id_ = context_.seams.random.uuid().to_string();
  epoch_ = 0;
  owned_.clear();
}

Task<void> ConsumerMember::run() {
  begin_anew();
  while (!context_.is_over()) {
    co_await pause(150ms);
    if (!client_ || client_->broken()) {
      client_ = co_await context_.brokers.coordinator(group_);
      if (!client_) continue;
    }
    if (!co_await learn_topic_ids()) continue;
    Next next = Next::go_on;
    while (next == Next::go_on && !context_.is_over()) {
      co_await pause(150ms);
      next = co_await act();
    }
    if (context_.until && context_.is_over() && context_.seams.random.one_in(2)) co_await heartbeat(kLeaves);
    client_->close();
  }
  if (client_) client_->close();
}

Task<bool> ConsumerMember::learn_topic_ids() {
  kafka::MetadataRequest request{.allow_auto_topic_creation = false};
  request.topics.emplace();
  for (const std::string_view name : topics_of(context_.partitions)) request.topics->push_back({.name = name});
  const auto metadata = co_await client_->call<kafka::MetadataResponse>(request, kMetadataVersion, kCallTimeout);
  if (!metadata) co_return false;
  for (const auto& topic : metadata->topics) {
    if (topic.error_code == ErrorCode::none) topic_names_[topic.topic_id] = *topic.name;
  }
  co_return true;
}

Task<ConsumerMember::Next> ConsumerMember::act() {
  Random& random = context_.seams.random;
  if (epoch_ > 0 && random.one_in(25)) {  // longer than the session: a zombie that wants to commit
    ignore(co_await sleep_until(context_.seams.scheduler, context_.seams.clock.now() + 3s));
    co_return co_await commit();
  }
  if (epoch_ > 0 && random.one_in(25)) {
    const Next next = co_await heartbeat(instance_id_ && random.one_in(2) ? kLeavesForAWhile : kLeaves);
    begin_anew();
    co_return next;
  }
  if (random.one_in(25)) {  // killed, and started again
    begin_anew();
    co_return Next::reconnect;
  }
  if (epoch_ > 0 && random.one_in(2)) co_return co_await commit();
  co_return co_await heartbeat(epoch_);
}

Task<ConsumerMember::Next> ConsumerMember::heartbeat(int32_t epoch) {
  kafka::ConsumerGroupHeartbeatRequest request;
  request.group_id = group_;
  request.member_id = member_id_;
  request.member_epoch = epoch;
  if (instance_id_) request.instance_id = *instance_id_;
  if (epoch == 0) {
    request.rebalance_timeout_ms = kRebalanceTimeoutMs;
    request.subscribed_topic_names = topics_of(context_.partitions);
  }
  request.topic_partitions.emplace();
  for (const auto& [id, name] : topic_names_) {
    auto& topic = request.topic_partitions->emplace_back();
    topic.topic_id = id;
    for (const auto& [partition, next] : owned_) {
      if (partition.first == name) topic.partitions.push_back(partition.second);
    }
    if (topic.partitions.empty()) request.topic_partitions->pop_back();
  }
  asked_at_ = context_.history.moment();
  const auto beaten =
      co_await client_->call<kafka::ConsumerGroupHeartbeatResponse>(request, kHeartbeatVersion, kCallTimeout);
  if (!beaten) co_return Next::reconnect;
  if (beaten->error_code == ErrorCode::unknown_member_id || beaten->error_code == ErrorCode::fenced_member_epoch ||
      beaten->error_code == ErrorCode::group_id_not_found || beaten->error_code == ErrorCode::fenced_instance_id) {
    begin_anew();
    co_return Next::go_on;
  }
  if (beaten->error_code == ErrorCode::not_coordinator) co_return Next::reconnect;
  if (beaten->error_code != ErrorCode::none || epoch < 0) co_return Next::go_on;
  context_.history.seen_as(group_, GroupHistory::Protocol::consumer);
  epoch_ = beaten->member_epoch;
  if (!beaten->assignment) co_return Next::go_on;
  std::vector<PartitionName> target;
  for (const auto& topic : beaten->assignment->topic_partitions) {
    for (const PartitionIndex index : topic.partitions) target.emplace_back(topic_names_.at(topic.topic_id), index);
  }
  co_return co_await take_assignment(std::move(target));
}

// Lets go of what is not there any more, and begins with what is new where the group had come.
Task<ConsumerMember::Next> ConsumerMember::take_assignment(std::vector<PartitionName> target) {
  std::erase_if(owned_, [&](const auto& entry) { return std::ranges::find(target, entry.first) == target.end(); });
  for (const PartitionName& partition : target) {
    if (owned_.contains(partition)) continue;
    context_.history.assigned(claim(), partition);
    kafka::OffsetFetchRequest request;
    auto& group = request.groups.emplace_back();
    group.group_id = group_;
    group.member_id = member_id_;
    group.member_epoch = epoch_;
    group.topics.emplace();
    group.topics->push_back({.name = partition.first, .partition_indexes = {partition.second.value()}});
    const auto known = context_.history.known(claim(), partition);
    const auto fetched =
        co_await client_->call<kafka::OffsetFetchResponse>(request, kFetchOffsetsVersion, kCallTimeout);
    if (!fetched || fetched->groups.at(0).error_code != ErrorCode::none) {
      begin_anew();
      co_return Next::reconnect;
    }
    const Offset offset = fetched->groups.at(0).topics.at(0).partitions.at(0).committed_offset;
    context_.history.fetched(group_, partition, offset, known);
    owned_.emplace(partition, std::max(offset, Offset(0)));
  }
  co_return Next::go_on;
}

Task<ConsumerMember::Next> ConsumerMember::commit() {
  if (owned_.empty()) co_return co_await heartbeat(epoch_);
  auto at = std::next(owned_.begin(), static_cast<int64_t>(context_.seams.random.below(owned_.size())));
  const PartitionName partition = at->first;
  const Offset offset = at->second + static_cast<int64_t>(1 + context_.seams.random.below(10));
  kafka::OffsetCommitRequest request;
  request.group_id = group_;
  request.generation_id_or_member_epoch = epoch_;
  request.member_id = member_id_;
  if (instance_id_) request.group_instance_id = *instance_id_;
  request.topics.push_back({.name = partition.first});
  request.topics.back().partitions.push_back(
      {.partition_index = partition.second, .committed_offset = offset, .committed_metadata = "simulated"});
  const GroupHistory::Claim claimed = claim();
  const auto known = context_.history.known(claimed, partition);
  context_.history.commit_sent(claimed, partition, offset);
  at->second = offset;  // whatever comes of it, the next one is larger
  const auto committed = co_await client_->call<kafka::OffsetCommitResponse>(request, kCommitVersion, kCallTimeout);
  if (!committed) co_return Next::reconnect;
  const ErrorCode error = committed->topics.at(0).partitions.at(0).error_code;
  if (error == ErrorCode::none) context_.history.commit_acknowledged(claimed, partition, offset, known);
  if (error == ErrorCode::unknown_member_id || error == ErrorCode::fenced_instance_id ||
      error == ErrorCode::group_id_not_found) {
    begin_anew();
  }
  co_return error == ErrorCode::not_coordinator ? Next::reconnect : Next::go_on;
}

}  // namespace naru::simulation
