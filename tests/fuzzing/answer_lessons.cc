#include "fuzzing/answer_lessons.h"

#include <algorithm>
#include <map>

namespace naru::fuzzing {
namespace {

constexpr size_t kSessionsMax = 12;
constexpr size_t kMembersMax = 6;

// The coordinator is another one, or the member is not known any more, or it has to join again.
void take_refusal(KnownGroup& group, std::string_view member_id, ErrorCode error) {
  switch (error) {
    case ErrorCode::not_coordinator:
      group.coordinator = kNoBroker;
      return;
    case ErrorCode::unknown_member_id:
    case ErrorCode::fenced_instance_id:
    case ErrorCode::fenced_member_epoch:
    case ErrorCode::unreleased_instance_id:
      return group.forget(member_id);
    case ErrorCode::illegal_generation:
    case ErrorCode::rebalance_in_progress:
      if (KnownMember* member = group.find(member_id)) member->epoch = -1;
      return;
    default:
      return;
  }
}

void take_refusal(KnownTransaction& transaction, ErrorCode error) {
  if (error == ErrorCode::not_coordinator) transaction.coordinator = kNoBroker;
  if (error == ErrorCode::producer_fenced || error == ErrorCode::invalid_producer_epoch ||
      error == ErrorCode::invalid_producer_id_mapping) {
    transaction.producer_id = kNoProducerId;  // it has to begin anew
  }
  if (error == ErrorCode::invalid_txn_state) transaction.open = false;
}

KnownMember& add_member(KnownGroup& group, const std::string& id, std::optional<std::string_view> instance_id) {
  KnownMember* member = group.find(id);
  if (member == nullptr) {
    if (group.members.size() >= kMembersMax) group.members.erase(group.members.begin());
    member = &group.members.emplace_back();
    member->id = id;
  }
  if (instance_id) member->instance_id = std::string(*instance_id);
  return *member;
}

}  // namespace

void learn(KnownWorld& world, BrokerId, const kafka::AddOffsetsToTxnRequest& request,
           const kafka::AddOffsetsToTxnResponse& response) {
  KnownTransaction* transaction = world.find_transaction(request.transactional_id);
  if (transaction == nullptr) return;
  if (response.error_code != ErrorCode::none) return take_refusal(*transaction, response.error_code);
  transaction->open = true;
}

void learn(KnownWorld& world, BrokerId, const kafka::DeleteGroupsRequest& request, const kafka::DeleteGroupsResponse&) {
  for (const std::string_view name : request.groups_names) {
    if (KnownGroup* group = world.find_group(name)) group->has_offsets = false;
  }
}

// Of groups whose offsets nothing else deletes or replaces.
void learn_offsets(KnownWorld& world, const kafka::OffsetCommitRequest& request,
                   const kafka::OffsetCommitResponse& response) {
  for (size_t i = 0; i < request.topics.size() && i < response.topics.size(); ++i) {
    const auto& wanted = request.topics[i];
    const TopicMetadata* topic =
        wanted.name.empty() ? world.image().find_topic(wanted.topic_id) : world.image().find_topic(wanted.name);
    if (topic == nullptr) continue;
    std::map<PartitionIndex, uint64_t> bytes;  // the last one of a partition counts
    for (size_t j = 0; j < wanted.partitions.size() && j < response.topics[i].partitions.size(); ++j) {
      if (response.topics[i].partitions[j].error_code != ErrorCode::none) continue;
      bytes[wanted.partitions[j].partition_index] = wanted.partitions[j].committed_metadata.value_or("").size();
    }
    uint64_t sum = 0;
    for (const auto& [partition, each] : bytes) sum += each;
    if (sum > 0) world.remember_offsets(request.group_id, topic->id, sum);
  }
}

void learn(KnownWorld& world, BrokerId, const kafka::OffsetCommitRequest& request,
           const kafka::OffsetCommitResponse& response) {
  KnownGroup* group = world.find_group(request.group_id);
  if (group == nullptr) return learn_offsets(world, request, response);
  for (const auto& topic : response.topics) {
    for (const auto& partition : topic.partitions) {
      take_refusal(*group, request.member_id, partition.error_code);
      if (partition.error_code == ErrorCode::none) group->has_offsets = true;
    }
  }
}

void learn(KnownWorld& world, BrokerId, const kafka::ConsumerGroupHeartbeatRequest& request,
           const kafka::ConsumerGroupHeartbeatResponse& response) {
  KnownGroup* group = world.find_group(request.group_id);
  if (group == nullptr) return;
  if (response.error_code != ErrorCode::none) return take_refusal(*group, request.member_id, response.error_code);
  if (response.member_epoch < 0) return group->forget(request.member_id);
  KnownMember& member =
      add_member(*group, response.member_id.value_or(std::string(request.member_id)), request.instance_id);
  member.epoch = response.member_epoch;
  member.has_assignment = true;
}

void learn(KnownWorld& world, BrokerId, const kafka::EndTxnRequest& request, const kafka::EndTxnResponse& response) {
  KnownTransaction* transaction = world.find_transaction(request.transactional_id);
  if (transaction == nullptr) return;
  if (response.error_code != ErrorCode::none) return take_refusal(*transaction, response.error_code);
  transaction->open = false;
  if (response.producer_id == kNoProducerId) return;
  transaction->producer_id = response.producer_id;
  transaction->producer_epoch = response.producer_epoch;
}

void learn(KnownWorld& world, BrokerId, const kafka::AddPartitionsToTxnRequest& request,
           const kafka::AddPartitionsToTxnResponse& response) {
  KnownTransaction* transaction = world.find_transaction(request.transactional_id);
  if (transaction == nullptr) return;
  for (const auto& topic : response.results_by_topic) {
    for (const auto& partition : topic.results_by_partition) {
      take_refusal(*transaction, partition.partition_error_code);
      if (partition.partition_error_code == ErrorCode::none) transaction->open = true;
    }
  }
}

void learn(KnownWorld& world, BrokerId from, const kafka::FetchRequest& request, const kafka::FetchResponse& response) {
  std::vector<KnownSession>& sessions = world.sessions();
  const auto forget = [&](int32_t id) { std::erase_if(sessions, [id](const KnownSession& s) { return s.id == id; }); };
  if (response.error_code != ErrorCode::none) return forget(request.session_id);
  for (const auto& topic : response.responses) {
    const TopicMetadata* known =
        topic.topic.empty() ? world.image().find_topic(topic.topic_id) : world.image().find_topic(topic.topic);
    if (known == nullptr) continue;
    for (const auto& partition : topic.partitions) {
      if (partition.error_code != ErrorCode::none) continue;
      world.end_of({known->name, partition.partition_index.value()}) = partition.high_watermark;
    }
  }
  const bool is_known = std::ranges::find(sessions, response.session_id, &KnownSession::id) != sessions.end();
  if (response.session_id == 0 || is_known) return;
  const bool by_ids = !request.topics.empty() && !request.topics.front().topic_id.is_zero();
  if (sessions.size() >= kSessionsMax) sessions.erase(sessions.begin());
  sessions.push_back({.id = response.session_id, .next_epoch = 1, .broker = from, .by_ids = by_ids});
}

void learn(KnownWorld& world, BrokerId, const kafka::FindCoordinatorRequest& request,
           const kafka::FindCoordinatorResponse& response) {
  const auto told = [&](std::string_view key, ErrorCode error, BrokerId id) {
    if (error != ErrorCode::none) return;
    KnownGroup* group = world.find_group(key);
    if (request.key_type == 0 && group != nullptr) group->coordinator = id;
    KnownTransaction* transaction = world.find_transaction(key);
    if (request.key_type == 1 && transaction != nullptr) transaction->coordinator = id;
  };
  if (response.coordinators.empty()) told(request.key, response.error_code, response.node_id);
  for (const auto& coordinator : response.coordinators)
    told(coordinator.key, coordinator.error_code, coordinator.node_id);
}

void learn(KnownWorld& world, BrokerId, const kafka::HeartbeatRequest& request,
           const kafka::HeartbeatResponse& response) {
  if (KnownGroup* group = world.find_group(request.group_id)) {
    take_refusal(*group, request.member_id, response.error_code);
  }
}

void learn(KnownWorld& world, BrokerId, const kafka::InitProducerIdRequest& request,
           const kafka::InitProducerIdResponse& response) {
  KnownTransaction* transaction =
      request.transactional_id ? world.find_transaction(*request.transactional_id) : nullptr;
  if (response.error_code != ErrorCode::none) {
    if (transaction != nullptr) take_refusal(*transaction, response.error_code);
    return;
  }
  if (transaction == nullptr) return world.remember_producer(response.producer_id, response.producer_epoch);
  transaction->producer_id = response.producer_id;
  transaction->producer_epoch = response.producer_epoch;
  transaction->open = false;
}

void learn(KnownWorld& world, BrokerId, const kafka::JoinGroupRequest& request,
           const kafka::JoinGroupResponse& response) {
  KnownGroup* group = world.find_group(request.group_id);
  if (group == nullptr) return;
  if (response.error_code == ErrorCode::member_id_required) {
    add_member(*group, response.member_id, request.group_instance_id);
    return;
  }
  if (response.error_code != ErrorCode::none) return take_refusal(*group, request.member_id, response.error_code);
  KnownMember& member = add_member(*group, response.member_id, request.group_instance_id);
  member.epoch = response.generation_id;
  member.is_leader = response.leader == response.member_id;
  member.has_assignment = false;
}

void learn(KnownWorld& world, BrokerId, const kafka::LeaveGroupRequest& request,
           const kafka::LeaveGroupResponse& response) {
  KnownGroup* group = world.find_group(request.group_id);
  if (group == nullptr) return;
  if (response.error_code != ErrorCode::none) return take_refusal(*group, request.member_id, response.error_code);
  group->forget(request.member_id);
  for (const auto& member : request.members) group->forget(member.member_id);
}

void learn(KnownWorld& world, BrokerId, const kafka::NaruMetadataRequest& request,
           const kafka::NaruMetadataResponse& response) {
  if (response.error_code != ErrorCode::none) return;
  FeedAnswer answer{.position = {response.controller_epoch, response.number}, .full = response.full};
  for (const auto& change : response.changes) {
    MetadataKeyChange& key = answer.changes.emplace_back();
    key.key = change.key;
    key.version = change.version;
    if (change.value) key.value = SharedBytes(Bytes(change.value->begin(), change.value->end()));
  }
  if (!world.follower().apply({request.controller_epoch, request.number}, answer)) world.follower().forget_position();
}

// A group whose last offset is deleted is gone; whether this was the last one is not told.
void learn(KnownWorld& world, BrokerId, const kafka::OffsetDeleteRequest& request, const kafka::OffsetDeleteResponse&) {
  if (KnownGroup* group = world.find_group(request.group_id)) group->has_offsets = false;
}

void learn(KnownWorld& world, BrokerId, const kafka::ProduceRequest& request, const kafka::ProduceResponse& response) {
  KnownTransaction* transaction =
      request.transactional_id ? world.find_transaction(*request.transactional_id) : nullptr;
  for (const auto& topic : response.responses) {
    for (const auto& partition : topic.partition_responses) {
      switch (partition.error_code) {
        case ErrorCode::none:
          if (transaction != nullptr) transaction->open = true;
          break;
        case ErrorCode::out_of_order_sequence_number:
        case ErrorCode::unknown_producer_id:
        case ErrorCode::invalid_producer_epoch:
          if (transaction != nullptr) transaction->producer_id = kNoProducerId;
          if (transaction == nullptr && !world.producers().empty()) world.producers().erase(world.producers().begin());
          break;
        default:
          break;
      }
    }
  }
}

void learn(KnownWorld& world, BrokerId, const kafka::SyncGroupRequest& request,
           const kafka::SyncGroupResponse& response) {
  KnownGroup* group = world.find_group(request.group_id);
  if (group == nullptr) return;
  if (response.error_code != ErrorCode::none) return take_refusal(*group, request.member_id, response.error_code);
  if (KnownMember* member = group->find(request.member_id)) member->has_assignment = true;
}

}  // namespace naru::fuzzing
