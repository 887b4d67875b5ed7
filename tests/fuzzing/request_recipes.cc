#include "fuzzing/request_recipes.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "broker/features.h"
#include "kafka_protocol/embedded_consumer_protocol.h"
#include "kafka_protocol/frame.h"
#include "kafka_protocol/wire_writer.h"

namespace naru::fuzzing {
namespace {

constexpr int8_t kTopicResource = 2, kBrokerResource = 4, kGroupResource = 32;
constexpr std::string_view kMade = "made-";
constexpr uint64_t kMadeTopics = 12;
constexpr uint64_t kManyPartitions = 24'000;  // more have no room in the memory budget
constexpr int16_t kFirstFetchWithSessions = 7, kFirstFetchWithIds = 13, kFirstJoinOfStaticMembers = 5;
constexpr uint64_t kLargeMetadata = 3 << 20;
constexpr uint64_t kLargeGroups = 200;
constexpr uint64_t kGroupsWithNotes = 5000;
constexpr size_t kNoteBytes = 4000;
constexpr int32_t kLongSession = 30'000;
// Each in a file of its own.
constexpr int64_t kRecordsInSegmented = 40;
constexpr uint64_t kManyProducerIds = 500'000;

struct ConfigExample {
  std::string_view name;
  std::string_view value;
};

ConfigExample config_example(Random& random, int8_t resource_type) {
  constexpr std::array kOfTopics{
      ConfigExample{"retention.ms", "3600000"},      ConfigExample{"segment.bytes", "2000"},
      ConfigExample{"cleanup.policy", "compact"},    ConfigExample{"cleanup.policy", "delete"},
      ConfigExample{"min.insync.replicas", "1"},     ConfigExample{"max.message.bytes", "1048588"},
      ConfigExample{"flush.messages", "1"},          ConfigExample{"message.timestamp.type", "LogAppendTime"},
      ConfigExample{"compression.type", "producer"}, ConfigExample{"delete.retention.ms", "1000"}};
  constexpr std::array kOfBrokers{
      ConfigExample{"log.cleaner.threads", "1"}, ConfigExample{"message.max.bytes", "1048588"},
      ConfigExample{"log.retention.ms", "3600000"}, ConfigExample{"naru.log.level", "info"}};
  constexpr std::array kOfGroups{ConfigExample{"consumer.session.timeout.ms", "45000"},
                                 ConfigExample{"consumer.heartbeat.interval.ms", "5000"}};
  if (resource_type == kBrokerResource) return kOfBrokers[random.below(kOfBrokers.size())];
  if (resource_type == kGroupResource) return kOfGroups[random.below(kOfGroups.size())];
  return kOfTopics[random.below(kOfTopics.size())];
}

std::string_view made_topic(RequestFiller& filler) {
  return filler.keep(fmt::format("{}{}", kMade, filler.random().below(kMadeTopics)));
}

template <class Resource>
void name_resource(RequestFiller& filler, Resource& resource) {
  Random& random = filler.random();
  constexpr std::array kTypes{kTopicResource, kTopicResource, kTopicResource, kBrokerResource, kGroupResource};
  resource.resource_type = kTypes[random.below(kTypes.size())];
  if (resource.resource_type == kGroupResource) {
    resource.resource_name = filler.group().id;
  } else if (resource.resource_type == kBrokerResource) {
    resource.resource_name = random.one_in(4) ? "" : filler.keep(fmt::format("{}", filler.broker()));
    if (!resource.resource_name.empty()) filler.set_target(filler.broker());
  } else {
    filler.choose_topic();
    resource.resource_name = filler.topic() == nullptr ? "orders" : filler.keep(filler.topic()->name);
  }
}

Bytes embedded_subscription(std::vector<std::string> topics) {
  kafka::ConsumerProtocolSubscription subscription;
  subscription.topics = std::move(topics);
  Bytes bytes;
  kafka::WireWriter writer(bytes);
  writer.write<int16_t>(1);
  kafka::encode(writer, subscription, 1);
  return bytes;
}

template <class Request>
void set_configs(RequestFiller& filler, Request& request) {
  for (auto& resource : request.resources) {
    name_resource(filler, resource);
    for (auto& config : resource.configs) {
      const ConfigExample example = config_example(filler.random(), resource.resource_type);
      config.name = example.name;
      config.value = example.value;
    }
  }
}

}  // namespace

void arrange(RequestFiller& filler, kafka::AlterConfigsRequest& request) {
  set_configs(filler, request);
}

void arrange(RequestFiller& filler, kafka::IncrementalAlterConfigsRequest& request) {
  set_configs(filler, request);
  for (auto& resource : request.resources) {
    for (auto& config : resource.configs) {
      config.config_operation = static_cast<int8_t>(filler.random().below(2));  // set, delete
      if (config.config_operation == 1) config.value.reset();
    }
  }
}

void arrange(RequestFiller& filler, kafka::DescribeConfigsRequest& request) {
  for (auto& resource : request.resources) name_resource(filler, resource);
}

void arrange(RequestFiller& filler, kafka::DescribeClientQuotasRequest& request) {
  constexpr std::array<std::string_view, 2> kTypes{"user", "client-id"};
  for (size_t i = 0; i < request.components.size(); ++i) {
    auto& component = request.components[i];
    component.entity_type = kTypes[i % kTypes.size()];
    component.match_type = static_cast<int8_t>(filler.random().below(3));
    if (component.match_type == 0) {
      component.match = "somebody";
    } else {
      component.match.reset();
    }
  }
}

void arrange(RequestFiller& filler, kafka::DescribeQuorumRequest& request) {
  if (filler.random().one_in(4)) return;
  request.topics.assign(1, {});
  auto& topic = request.topics.front();
  topic.topic_name = "__cluster_metadata";
  topic.partitions.assign(1, {});
}

void arrange(RequestFiller& filler, kafka::UpdateFeaturesRequest& request) {
  for (auto& update : request.feature_updates) {
    const Feature& feature = kFeatures[filler.random().below(std::size(kFeatures))];
    update.feature = feature.name;
    update.max_version_level = feature.level;
    if (!filler.random().one_in(8)) update.upgrade_type = static_cast<int8_t>(1 + filler.random().below(3));
  }
}

// The leader asks for the in-sync set that there is, or for all replicas.
void arrange(RequestFiller& filler, kafka::AlterPartitionRequest& request) {
  for (auto& topic : request.topics) {
    const TopicMetadata* known = filler.world().image().find_topic(topic.topic_id);
    if (known == nullptr) continue;
    for (auto& partition : topic.partitions) {
      const PartitionState* state = known->partition(partition.partition_index);
      if (state == nullptr) continue;
      request.broker_id = state->leader;
      request.broker_epoch = filler.world().broker_epoch(state->leader);
      partition.leader_epoch = state->leader_epoch;
      partition.partition_epoch = state->partition_epoch;
      partition.new_isr_with_epochs.clear();
      for (const BrokerId id : filler.random().one_in(2) ? state->isr : state->replicas) {
        partition.new_isr_with_epochs.push_back({id, filler.world().broker_epoch(id)});
      }
    }
  }
}

void arrange(RequestFiller& filler, kafka::ConsumerGroupHeartbeatRequest& request) {
  Random& random = filler.random();
  const KnownMember* member = filler.member();
  if (member == nullptr || member->epoch <= 0) {
    request.member_epoch = 0;
    request.member_id = member != nullptr       ? filler.keep(member->id)
                        : filler.version() >= 1 ? filler.keep(random.uuid().to_string())
                                                : "";
    request.rebalance_timeout_ms = 1'000;
    if (!request.subscribed_topic_names) request.subscribed_topic_names.emplace().push_back("orders");
    request.subscribed_topic_regex.reset();
    request.topic_partitions.emplace();
    return;
  }
  if (random.one_in(12)) request.member_epoch = request.instance_id ? -2 : -1;
  if (random.one_in(2)) request.topic_partitions.reset();
  request.server_assignor.reset();
  if (!random.one_in(8)) request.subscribed_topic_regex.reset();
}

void arrange(RequestFiller& filler, kafka::CreateTopicsRequest& request) {
  Random& random = filler.random();
  for (auto& topic : request.topics) {
    topic.name = made_topic(filler);
    topic.num_partitions = static_cast<int32_t>(1 + random.below(3));
    topic.replication_factor = random.one_in(2) ? -1 : 1;
    topic.assignments.clear();
    if (random.one_in(6)) {
      topic.num_partitions = -1;
      topic.replication_factor = -1;
      topic.assignments.push_back({.partition_index = PartitionIndex(0), .broker_ids = {filler.broker()}});
    }
    if (filler.version() < 4 && topic.assignments.empty()) topic.replication_factor = 1;
    for (auto& config : topic.configs) {
      const ConfigExample example = config_example(random, kTopicResource);
      config = {.name = example.name, .value = example.value};
    }
  }
}

void arrange(RequestFiller& filler, kafka::CreatePartitionsRequest& request) {
  constexpr int32_t kEnough = 6;
  for (auto& topic : request.topics) {
    if (filler.random().one_in(2)) topic.name = made_topic(filler);
    const TopicMetadata* known = filler.world().image().find_topic(topic.name);
    topic.count = known == nullptr ? 2 : std::min(known->partition_count() + 1, kEnough);
    topic.assignments.reset();
  }
  if (!filler.random().one_in(4)) request.topics.resize(std::min<size_t>(request.topics.size(), 1));
}

void arrange(RequestFiller& filler, kafka::DeleteTopicsRequest& request) {
  const auto existing = [&filler] {
    std::string_view name = made_topic(filler);
    for (int i = 0; i < 6 && filler.world().image().find_topic(name) == nullptr; ++i) name = made_topic(filler);
    return name;
  };
  for (std::string_view& name : request.topic_names) name = existing();
  for (auto& topic : request.topics) {
    topic.name = existing();
    topic.topic_id = {};
    const TopicMetadata* known = filler.world().image().find_topic(*topic.name);
    if (known == nullptr || filler.random().one_in(2)) continue;
    topic.name.reset();
    topic.topic_id = known->id;
  }
}

// Not again before something is added to it, whatever the answer is.
void arrange(RequestFiller& filler, kafka::EndTxnRequest&) {
  filler.transaction().open = false;
}

void fetch_whole_topic(RequestFiller& filler, kafka::FetchRequest& request) {
  filler.choose_topic(filler.unread() ? "segmented" : "");
  if (filler.topic() == nullptr) return;
  auto& topic = request.topics.emplace_back();
  if (filler.version() >= kFirstFetchWithIds) {
    topic.topic_id = filler.topic()->id;
  } else {
    topic.topic = filler.keep(filler.topic()->name);
  }
  for (const PartitionStatePtr& state : filler.topic()->partitions) {
    const int64_t known_end = filler.world().end_of({filler.topic()->name, state->index.value()}).value();
    const int64_t end = std::max(known_end, filler.unread() ? kRecordsInSegmented : 1);
    const uint64_t offset = filler.random().below(static_cast<uint64_t>(end));
    topic.partitions.push_back({.partition = state->index,
                                .fetch_offset = Offset(static_cast<int64_t>(offset)),
                                .partition_max_bytes = 1 << 16});
  }
}

// Many partitions, which a later request of this kind forgets again.
void grow_session(RequestFiller& filler, kafka::FetchRequest& request) {
  const TopicMetadata* topic = filler.world().image().find_topic("orders");
  if (topic == nullptr) return;
  const auto count = static_cast<int32_t>(kManyPartitions / 2 + filler.random().below(kManyPartitions / 2));
  request.topics.clear();
  request.forgotten_topics_data.clear();
  auto& added = request.topics.emplace_back();
  auto& forgotten = request.forgotten_topics_data.emplace_back();
  if (filler.version() >= kFirstFetchWithIds) {
    added.topic_id = forgotten.topic_id = topic->id;
  } else {
    added.topic = forgotten.topic = "orders";
  }
  for (int32_t i = 0; i < count; ++i) {
    added.partitions.push_back({.partition = PartitionIndex(i)});
    forgotten.partitions.emplace_back(i);
  }
}

void arrange(RequestFiller& filler, kafka::FetchRequest& request) {
  Random& random = filler.random();
  if (filler.unread()) request.topics.clear();
  if (filler.unread() || random.one_in(6)) fetch_whole_topic(filler, request);
  request.session_id = 0;
  request.session_epoch = random.one_in(2) ? -1 : 0;
  if (request.replica_state.replica_id.value() >= 0 || request.replica_id.value() >= 0) request.session_epoch = -1;
  std::vector<KnownSession>& sessions = filler.world().sessions();
  if (filler.version() < kFirstFetchWithSessions || filler.unread()) return;
  if (filler.large()) {
    request.session_epoch = 0;
    grow_session(filler, request);
  }
  if (sessions.empty() || random.one_in(filler.large() ? 8 : 2)) return;
  KnownSession& session = any_of(random, sessions);
  if (session.by_ids != (filler.version() >= kFirstFetchWithIds) && !random.one_in(16)) return;
  request.session_id = session.id;
  request.session_epoch = session.next_epoch++;
  filler.set_target(session.broker);
  if (filler.large()) return;
  if (random.one_in(3)) request.topics.clear();
  if (random.one_in(3)) {
    filler.choose_topic();
    auto& forgotten = request.forgotten_topics_data.emplace_back();
    if (filler.topic() == nullptr) return;
    (filler.version() >= kFirstFetchWithIds ? void(forgotten.topic_id = filler.topic()->id)
                                            : void(forgotten.topic = filler.keep(filler.topic()->name)));
    forgotten.partitions.emplace_back(filler.choose_partition());
  }
}

void arrange(RequestFiller& filler, kafka::FindCoordinatorRequest& request) {
  // Rather one whose coordinator is not known yet.
  const auto one_of = [&](auto& known) -> std::string_view {
    const size_t first = filler.random().below(known.size());
    for (size_t i = 0; i < known.size(); ++i) {
      auto& candidate = known[(first + i) % known.size()];
      if (candidate.coordinator == kNoBroker) return candidate.id;
    }
    return known[first].id;
  };
  const auto key_for = [&] {
    return request.key_type == 0 ? one_of(filler.world().groups()) : one_of(filler.world().transactions());
  };
  if (filler.version() < 1) request.key_type = 0;
  if (filler.version() < 4) request.key = key_for();
  for (std::string_view& key : request.coordinator_keys) key = key_for();
}

void arrange(RequestFiller& filler, kafka::InitProducerIdRequest& request) {
  if (!request.transactional_id) {
    request.producer_id = kNoProducerId;
    request.producer_epoch = ProducerEpoch(-1);
    return;
  }
  if (filler.random().one_in(2)) {
    request.producer_id = kNoProducerId;
    request.producer_epoch = ProducerEpoch(-1);
  }
}

void arrange(RequestFiller& filler, kafka::JoinGroupRequest& request) {
  request.protocol_type = kafka::kConsumerProtocolType;
  request.protocols.clear();
  request.protocols.push_back({.name = "range", .metadata = filler.keep(embedded_subscription({"orders"}))});
  if (filler.large()) {
    request.protocols.back().metadata =
        filler.keep(Bytes(kLargeMetadata / 2 + filler.random().below(kLargeMetadata / 2)));
    request.session_timeout_ms = kLongSession;
    if (!filler.random().one_in(4)) {
      // A static member of a group of its own: nothing else keeps it from joining.
      request.member_id = "";
      request.group_id = filler.keep(fmt::format("large-{}", filler.random().below(kLargeGroups)));
      if (filler.version() >= kFirstJoinOfStaticMembers) request.group_instance_id = "instance";
    }
  }
  if (filler.random().one_in(4)) {
    request.protocols.push_back({.name = "roundrobin", .metadata = filler.keep(embedded_subscription({"compacted"}))});
  }
}

void arrange(RequestFiller& filler, kafka::ListConfigResourcesRequest& request) {
  constexpr std::array kTypes{kTopicResource, kBrokerResource, kGroupResource};
  if (filler.large()) {
    request.resource_types.resize(filler.bytes_max() / 8 + filler.random().below(filler.bytes_max() / 8 * 5));
  }
  for (int8_t& type : request.resource_types) type = kTypes[filler.random().below(kTypes.size())];
}

void arrange(RequestFiller& filler, kafka::ListTransactionsRequest& request) {
  if (!filler.large()) return;
  request.state_filters.clear();
  const uint64_t count = kManyProducerIds / 2 + filler.random().below(kManyProducerIds / 2);
  for (uint64_t i = 0; i < count; ++i) {
    request.producer_id_filters.emplace_back(static_cast<int64_t>(filler.random().next()));
  }
}

void arrange(RequestFiller& filler, kafka::MetadataRequest& request) {
  if (!request.topics) return;
  for (auto& topic : *request.topics) {
    if (filler.version() < 10 || !filler.random().one_in(filler.version() < 12 ? 4 : 2)) {
      topic.topic_id = {};
    } else {
      topic.name.reset();
    }
    if (!topic.name && topic.topic_id.is_zero()) topic.name = "orders";
  }
}

// What a broker passes on; now and then what it must not.
void arrange(RequestFiller& filler, kafka::NaruForwardRequest& request) {
  constexpr int32_t kCorrelationId = 7;
  kafka::CreateTopicsRequest creation;
  creation.topics.push_back({.name = made_topic(filler), .num_partitions = 2, .replication_factor = 1});
  creation.timeout_ms = 1'000;
  kafka::EncodedFrame inner;
  switch (filler.random().below(8)) {
    case 0:
      inner = kafka::encode_request_frame(kafka::FetchRequest(), 12, kCorrelationId, "inside");
      break;
    case 1:
      inner = kafka::encode_request_frame(kafka::DescribeQuorumRequest(), 1, kCorrelationId, "inside");
      break;
    default:
      inner = kafka::encode_request_frame(creation, 5, kCorrelationId, "inside");
  }
  request.frame = filler.keep(inner.bytes).subspan(sizeof(int32_t));
}

void arrange(RequestFiller& filler, kafka::NaruMissingTopicsRequest& request) {
  for (std::string_view& name : request.names) name = made_topic(filler);
}

// Of topics that can be missed: what is reported stays offline until its broker says otherwise.
void arrange(RequestFiller& filler, kafka::NaruOfflineLogsRequest& request) {
  for (auto& topic : request.topics) {
    const TopicMetadata* known = filler.world().image().find_topic(made_topic(filler));
    topic.topic_id = known == nullptr ? Uuid() : known->id;
  }
}

// Long notes for all partitions, in one of many groups that nobody is in.
void arrange(RequestFiller& filler, kafka::OffsetCommitRequest& request) {
  if (!filler.large()) return;
  request.group_id = filler.keep(fmt::format("large-{}", filler.random().below(kGroupsWithNotes)));
  request.generation_id_or_member_epoch = -1;
  request.member_id = "";
  request.group_instance_id.reset();
  request.topics.clear();
  const std::string_view note = filler.keep(std::string(kNoteBytes, 'n'));
  for (const TopicMetadataPtr& topic : filler.world().image().topics()) {
    auto& committed = request.topics.emplace_back();
    committed.name = filler.keep(topic->name);
    committed.topic_id = topic->id;
    for (const PartitionStatePtr& partition : topic->partitions) {
      committed.partitions.push_back(
          {.partition_index = partition->index, .committed_offset = Offset(0), .committed_metadata = note});
    }
  }
}

void arrange(RequestFiller& filler, kafka::OffsetFetchRequest& request) {
  for (auto& group : request.groups) {
    if (group.member_id && filler.random().one_in(2)) continue;
    group.member_id.reset();
    group.member_epoch = -1;
  }
}

void arrange(RequestFiller& filler, kafka::ProduceRequest& request) {
  if (request.transactional_id && !filler.random().one_in(8)) request.acks = -1;
}

void arrange(RequestFiller& filler, kafka::SyncGroupRequest& request) {
  for (const KnownMember& member : filler.group().members) {
    request.assignments.push_back(
        {.member_id = filler.keep(member.id), .assignment = as_bytes(std::string_view("mine"))});
  }
}

// The group whose offsets a transaction holds, always the same one: what is committed has to be added before.
KnownGroup* group_of(RequestFiller& filler, std::string_view transactional_id) {
  const size_t number = transactional_id.empty() ? 0 : static_cast<size_t>(transactional_id.back());
  return filler.random().one_in(8) ? nullptr : filler.world().find_group(fmt::format("simple-{}", number % 5));
}

void arrange(RequestFiller& filler, kafka::AddOffsetsToTxnRequest& request) {
  if (const KnownGroup* group = group_of(filler, request.transactional_id)) request.group_id = group->id;
}

// Offsets of groups whose members are not known to the transaction.
void arrange(RequestFiller& filler, kafka::TxnOffsetCommitRequest& request) {
  if (const KnownGroup* group = group_of(filler, request.transactional_id)) {
    request.group_id = group->id;
    filler.set_target(group->coordinator);
  }
  if (filler.version() < 3 || filler.random().one_in(8)) return;
  request.generation_id = -1;
  request.member_id = "";
  request.group_instance_id.reset();
}

void arrange(RequestFiller& filler, kafka::WriteTxnMarkersRequest& request) {
  for (auto& marker : request.markers) {
    if (filler.random().one_in(2) && !filler.world().producers().empty()) {
      std::tie(marker.producer_id, marker.producer_epoch) = any_of(filler.random(), filler.world().producers());
    }
    marker.transaction_number = -1;
  }
}

}  // namespace naru::fuzzing
