#include "fuzzing/request_filler.h"

#include <algorithm>
#include <array>

#include "broker/peers.h"
#include "record_format/batch_builder.h"

namespace naru::fuzzing {
namespace {

using kafka::ApiKey;
using Kind = KnownGroup::Kind;

template <size_t kCount>
std::string_view one_of(Random& random, const std::array<std::string_view, kCount>& values) {
  return values[random.below(kCount)];
}

template <class... Names>
bool is_any(std::string_view name, Names... names) {
  return ((name == std::string_view(names)) || ...);
}

Kind group_kind(Random& random, ApiKey api) {
  switch (api) {
    case ApiKey::join_group:
    case ApiKey::sync_group:
    case ApiKey::heartbeat:
    case ApiKey::leave_group:
    case ApiKey::describe_groups:
      return Kind::classic;
    case ApiKey::consumer_group_heartbeat:
    case ApiKey::consumer_group_describe:
      return Kind::consumer;
    case ApiKey::delete_groups:
    case ApiKey::offset_delete:
    case ApiKey::txn_offset_commit:
      return Kind::simple;
    default:
      return std::array{Kind::classic, Kind::consumer, Kind::simple}[random.below(3)];
  }
}

constexpr uint64_t kMembersMax = 3;

}  // namespace

RequestFiller::RequestFiller(KnownWorld& world, Random& random, ApiKey api, int16_t version, Arena& arena,
                             WallTimeMs now_ms, FillStyle style)
    : world_(world), random_(random), api_(api), version_(version), arena_(arena), now_ms_(now_ms), style_(style) {}

void RequestFiller::choose_topic(std::string_view name) {
  constexpr std::array<std::string_view, 4> kPrepared{"orders", "empty", "compacted", "segmented"};
  const auto topics = world_.image().topics();
  topic_ = topics.empty() ? nullptr : topics[random_.below(topics.size())].get();
  if (random_.one_in(2)) topic_ = world_.image().find_topic(kPrepared[random_.below(kPrepared.size())]);
  // What is written to it is not empty any more.
  const bool writes = api_ == ApiKey::produce || api_ == ApiKey::write_txn_markers;
  if (writes && topic_ != nullptr && topic_->name == "empty" && !random_.one_in(64)) name = "orders";
  const bool deletes = api_ == ApiKey::delete_records && topic_ != nullptr && topic_->name == "segmented";
  if (deletes && !random_.one_in(64)) name = "orders";  // its files are there to be kept open
  if (!name.empty()) topic_ = world_.image().find_topic(name);
  if (topic_ != nullptr) choose_partition();
}

int32_t RequestFiller::choose_partition() {
  if (topic_ == nullptr || topic_->partitions.empty()) return 0;
  partition_ = topic_->partitions[random_.below(topic_->partitions.size())].get();
  return partition_->index.value();
}

// Whether the request makes sense for it: most are drawn among those.
bool RequestFiller::member_fits(const KnownMember& member) const {
  if (api_ == ApiKey::join_group) return member.epoch < 0;
  if (api_ == ApiKey::sync_group) return member.epoch >= 0 && !member.has_assignment;
  return member.epoch >= 0 && member.has_assignment;
}

bool RequestFiller::group_fits(const KnownGroup& group) const {
  if (api_ == ApiKey::delete_groups || api_ == ApiKey::offset_delete) return group.has_offsets;
  if (group.kind == Kind::simple) return true;
  if (api_ == ApiKey::join_group && group.members.empty()) return true;
  return api_ == ApiKey::consumer_group_heartbeat ||
         std::ranges::any_of(group.members, [this](const KnownMember& member) { return member_fits(member); });
}

bool RequestFiller::transaction_fits(const KnownTransaction& transaction) const {
  if (api_ == ApiKey::init_producer_id) return true;
  const bool needs_open = api_ == ApiKey::end_txn || api_ == ApiKey::txn_offset_commit;
  return transaction.producer_id != kNoProducerId && (transaction.open || !needs_open);
}

KnownGroup& RequestFiller::group() {
  if (group_ != nullptr) return *group_;
  const Kind kind = group_kind(random_, api_);
  const bool any = random_.one_in(16);
  std::vector<KnownGroup*> fitting, others;
  for (KnownGroup& group : world_.groups()) {
    if (group.kind == kind || any) (any || group_fits(group) ? fitting : others).push_back(&group);
  }
  group_ = any_of(random_, fitting.empty() ? others : fitting);
  return *group_;
}

KnownMember* RequestFiller::member() {
  if (!std::exchange(member_chosen_, true)) member_ = choose_member();
  return member_;
}

KnownMember* RequestFiller::choose_member() {
  std::vector<KnownMember>& members = group().members;
  if (members.empty()) return nullptr;
  const bool joins = api_ == ApiKey::join_group || api_ == ApiKey::consumer_group_heartbeat;
  if (joins && members.size() < kMembersMax && random_.one_in(8)) return nullptr;
  const size_t first = random_.below(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    KnownMember& member = members[(first + i) % members.size()];
    if (member_fits(member)) return &member;
  }
  return &members[first];
}

KnownTransaction& RequestFiller::transaction() {
  if (transaction_ != nullptr) return *transaction_;
  std::vector<KnownTransaction*> fitting;
  for (KnownTransaction& transaction : world_.transactions()) {
    if (transaction_fits(transaction)) fitting.push_back(&transaction);
  }
  transaction_ =
      fitting.empty() || random_.one_in(16) ? &any_of(random_, world_.transactions()) : any_of(random_, fitting);
  return *transaction_;
}

BrokerId RequestFiller::broker() {
  const auto& brokers = world_.image().brokers();
  if (broker_ == kNoBroker && !brokers.empty()) {
    broker_ = std::next(brokers.begin(), static_cast<ptrdiff_t>(random_.below(brokers.size())))->first;
  }
  return broker_;
}

BrokerId RequestFiller::target() {
  if (target_ != kNoBroker) return target_;
  if (api_ == ApiKey::naru_add_partitions_to_txn) return transaction().coordinator;
  if (api_ == ApiKey::alter_partition || api_ == ApiKey::allocate_producer_ids || api_ >= ApiKey::naru_metadata) {
    return world_.controller();
  }
  if (api_ == ApiKey::txn_offset_commit) return group().coordinator;
  if (transaction_ != nullptr && api_ != ApiKey::produce) return transaction_->coordinator;
  if (group_ != nullptr) return group_->coordinator;
  if (partition_ != nullptr) return partition_->leader;
  return kNoBroker;
}

bool RequestFiller::should_be_null(std::string_view structure, std::string_view name) {
  if (is_any(name, "group_instance_id", "instance_id")) {
    return group_ == nullptr || member() == nullptr || !member()->instance_id;
  }
  if (is_any(name, "protocol_type", "protocol_name", "name")) return false;
  if (name == "transactional_id") return api_ == ApiKey::produce ? !random_.one_in(3) : random_.one_in(3);
  if (name == "member_id") return !random_.one_in(3);
  if (name == "topics" || structure == "ElectLeadersRequest") return random_.one_in(6);
  if (is_any(name, "value", "records", "committed_metadata")) return random_.one_in(20);
  return !random_.one_in(4);
}

size_t RequestFiller::list_size(std::string_view structure, std::string_view name) {
  if (is_any(name, "assignments", "forgotten_topics_data", "leader_epochs")) return 0;
  if (name.find("filter") != std::string_view::npos || name == "resource_types") return random_.one_in(3) ? 1 : 0;
  if (is_any(name, "markers", "members", "transactions") || structure == "CreateTopicsRequest") return 1;
  return random_.one_in(12) ? 0 : 1 + random_.below(2);
}

std::string_view RequestFiller::topic_text() {
  choose_topic();
  return topic_ == nullptr ? "orders" : keep(topic_->name);
}

std::string_view RequestFiller::coordinator_key() {
  return random_.one_in(2) ? std::string_view(group().id) : std::string_view(transaction().id);
}

std::string_view RequestFiller::text(std::string_view structure, std::string_view name) {
  if (name == "group_id" || is_any(name, "groups", "group_ids", "groups_names")) {
    if (name != "group_id") group_ = nullptr;  // another one for each element
    return group().id;
  }
  if (name == "member_id") return member() == nullptr ? std::string_view() : keep(member()->id);
  if (is_any(name, "group_instance_id", "instance_id")) {
    return member() == nullptr || !member()->instance_id ? "instance" : keep(*member()->instance_id);
  }
  if (name == "transactional_ids") transaction_ = nullptr;
  if (is_any(name, "transactional_id", "transactional_ids")) return transaction().id;
  if (is_any(name, "key", "coordinator_keys")) return coordinator_key();
  if (is_any(name, "topic", "topic_name", "topic_names", "names", "name", "subscribed_topic_names")) {
    return topic_text();
  }
  if (is_any(name, "states_filter")) {
    return one_of<5>(random_, {"Stable", "Empty", "stable", "PreparingRebalance", "Reconciling"});
  }
  if (name == "types_filter") return one_of<3>(random_, {"classic", "consumer", "Consumer"});
  if (name == "state_filters") return one_of<4>(random_, {"Ongoing", "Empty", "CompleteCommit", "PrepareAbort"});
  if (name == "configuration_keys") return one_of<3>(random_, {"retention.ms", "cleanup.policy", "num.io.threads"});
  if (is_any(name, "subscribed_topic_regex", "transactional_id_pattern")) {
    return one_of<4>(random_, {"orders.*", ".*", "transaction-[0-3]", "made-(a|b"});
  }
  if (name == "server_assignor") return one_of<3>(random_, {"uniform", "range", "unknown"});
  if (name == "client_software_name") return random_.one_in(20) ? kPeerSoftware : std::string_view("fuzzer");
  if (name == "client_software_version") return "1.0";
  if (name == "protocol_type") return "consumer";
  if (name == "protocol_name") return "range";
  if (name == "cluster_id") return keep(world_.image().cluster().cluster_id.to_string());
  return structure == "FetchRequest" ? "" : "text";
}

Bytes RequestFiller::batch() {
  BatchOptions options;
  const KnownWorld::PartitionKey key{topic_ == nullptr ? "" : topic_->name,
                                     partition_ == nullptr ? 0 : partition_->index.value()};
  if (transaction_ != nullptr) {
    options.transactional = true;
    options.producer_id = transaction_->producer_id;
    options.producer_epoch = transaction_->producer_epoch;
  } else if (!world_.producers().empty() && random_.one_in(3)) {
    std::tie(options.producer_id, options.producer_epoch) = any_of(random_, world_.producers());
  }
  constexpr std::array kCompressions{Compression::none, Compression::none, Compression::gzip,
                                     Compression::lz4,  Compression::zstd, Compression::snappy};
  options.compression = kCompressions[random_.below(kCompressions.size())];
  const auto records = static_cast<int32_t>(1 + random_.below(3));
  if (options.producer_id != kNoProducerId) {
    int32_t& next = world_.next_sequence(options.producer_id, options.producer_epoch, key);
    options.base_sequence = next;
    next += records;
  }
  BatchBuilder builder(options);
  for (int32_t i = 0; i < records; ++i) {
    const std::string record_key = std::to_string(random_.below(20));
    builder.add(now_ms_, record_key, random_.one_in(10) ? std::nullopt : std::optional<std::string_view>("value"));
  }
  return builder.build().value_or(Bytes());
}

BytesView RequestFiller::bytes(std::string_view name) {
  return name == "records" ? keep(batch()) : as_bytes(std::string_view("bytes"));
}

Uuid RequestFiller::uuid(std::string_view name) {
  if (name == "cluster_id") return random_.one_in(2) ? Uuid() : world_.image().cluster().cluster_id;
  if (name == "replica_directory_id") return {};
  choose_topic();
  return topic_ == nullptr ? Uuid() : topic_->id;
}

int64_t RequestFiller::number(std::string_view structure, std::string_view name) {
  if (const auto found = number_of_partition(name)) return *found;
  if (const auto found = number_of_client(name)) return *found;
  if (const auto found = number_of_broker(name)) return *found;
  if (const auto found = limit(name)) return *found;
  if (is_any(name, "isolation_level", "key_type", "election_type")) return static_cast<int64_t>(random_.below(2));
  if (name == "acks") return std::array{-1, -1, -1, 1, 0}[random_.below(5)];
  if (name == "timestamp") return random_.one_in(3) ? now_ms_ : -1 - static_cast<int64_t>(random_.below(3));
  if (is_any(name, "resource_type", "resource_types")) return random_.one_in(2) ? 2 : 4;
  if (is_any(name, "endpoint_type", "transaction_version")) return 1;
  if (is_any(name, "duration_filter", "retention_time_ms", "commit_timestamp")) return -1;
  if (structure == "NaruMetadataRequest") {
    const FeedPosition position = random_.one_in(4) ? FeedPosition{} : world_.follower().position();
    return name == "number" ? position.number : position.controller_epoch;
  }
  return 0;
}

std::optional<int64_t> RequestFiller::number_of_partition(std::string_view name) {
  if (is_any(name, "partition", "partition_index", "index", "partitions", "partition_indexes")) {
    return choose_partition();
  }
  const int64_t epoch = partition_ == nullptr ? 0 : partition_->leader_epoch.value();
  if (is_any(name, "leader_epoch", "leader_epochs")) return epoch;
  if (name == "current_leader_epoch") return random_.one_in(2) ? -1 : epoch;
  if (is_any(name, "last_fetched_epoch", "committed_leader_epoch")) return random_.one_in(4) ? epoch : -1;
  if (name == "partition_epoch") return partition_ == nullptr ? 0 : partition_->partition_epoch;
  if (is_any(name, "fetch_offset", "offset", "committed_offset", "log_start_offset", "high_watermark")) {
    const Offset end = topic_ == nullptr || partition_ == nullptr
                           ? Offset(0)
                           : world_.end_of({topic_->name, partition_->index.value()});
    if (name == "fetch_offset" && random_.one_in(4)) return end.value();
    if (name == "offset" && !random_.one_in(8)) return 0;
    if (is_any(name, "log_start_offset", "high_watermark") || end.value() <= 0) return 0;
    return static_cast<int64_t>(random_.below(static_cast<uint64_t>(end.value()) + 1));
  }
  if (name == "flushed_offset") return -1;
  return std::nullopt;
}

std::optional<int64_t> RequestFiller::number_of_client(std::string_view name) {
  if (is_any(name, "generation_id", "member_epoch", "generation_id_or_member_epoch")) {
    return member() == nullptr ? -1 : member()->epoch;
  }
  if (name == "producer_id_filters") return transaction().producer_id.value();
  if (is_any(name, "producer_id", "producer_epoch")) {
    if (api_ == ApiKey::init_producer_id && transaction_ == nullptr) return -1;
    return name == "producer_id" ? transaction().producer_id.value() : transaction().producer_epoch.value();
  }
  return std::nullopt;
}

std::optional<int64_t> RequestFiller::number_of_broker(std::string_view name) {
  if (name == "replica_id") return random_.one_in(16) ? broker().value() : -1;
  if (is_any(name, "broker_id", "broker_ids")) return broker().value();
  if (is_any(name, "broker_epoch", "replica_epoch")) return world_.broker_epoch(broker());
  return std::nullopt;
}

std::optional<int64_t> RequestFiller::limit(std::string_view name) {
  const auto between = [this](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_.below(static_cast<uint64_t>(high - low)));
  };
  if (name == "timeout_ms") return between(500, 5'000);
  if (name == "max_wait_ms") return between(0, 50);
  if (name == "min_bytes") return between(0, 2);
  if (is_any(name, "max_bytes", "partition_max_bytes")) return int64_t{1} << between(10, 20);
  if (name == "session_timeout_ms") return between(6'000, 30'000);
  if (name == "rebalance_timeout_ms") return between(200, 1'500);
  if (name == "transaction_timeout_ms") return between(2'000, 60'000);
  if (name == "response_partition_limit") return between(1, 2'000);
  return std::nullopt;
}

}  // namespace naru::fuzzing
