#include "simulation/workload.h"

#include <algorithm>

#include "async/task_group.h"
#include "kafka_protocol/messages/create_topics_request.h"
#include "kafka_protocol/messages/create_topics_response.h"
#include "kafka_protocol/messages/delete_records_request.h"
#include "kafka_protocol/messages/delete_records_response.h"
#include "kafka_protocol/messages/delete_topics_request.h"
#include "kafka_protocol/messages/delete_topics_response.h"
#include "kafka_protocol/messages/fetch_request.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "kafka_protocol/messages/list_offsets_request.h"
#include "kafka_protocol/messages/list_offsets_response.h"
#include "kafka_protocol/messages/metadata_request.h"
#include "kafka_protocol/messages/metadata_response.h"
#include "kafka_protocol/messages/offset_for_leader_epoch_request.h"
#include "kafka_protocol/messages/offset_for_leader_epoch_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "record_format/batch_builder.h"
#include "record_format/decompressor.h"
#include "record_format/record_reader.h"
#include "simulation/consumer_member.h"
#include "simulation/idempotent_producer.h"
#include "simulation/mixed_member.h"

namespace naru::simulation {
namespace {

constexpr Duration kCallTimeout = 20s;
constexpr size_t kDecompressedMax = 1 << 20;
constexpr int16_t kProduceVersion = 9, kFetchVersion = 12, kListOffsetsVersion = 7, kMetadataVersion = 9,
                  kCreateTopicsVersion = 7, kDeleteTopicsVersion = 5, kDeleteRecordsVersion = 2, kEpochEndVersion = 4;
constexpr int16_t kAllInSync = -1;
constexpr int kTriesWhenHealed = 50;
constexpr int kMaxTries = 2'000;
// A producer has a number of its own for each connection.
constexpr int kPerConnection = 1000;
constexpr std::string_view kGroup = "group", kConsumerGroup = "consumer-group", kMixedGroup = "mixed-group";

std::vector<std::pair<std::string, std::string>> cleanup_configs(const RunPlan& plan) {
  switch (plan.cleanup) {
    case Cleanup::none:
      return {{"retention.ms", "-1"}};
    case Cleanup::remove:
      return {{"retention.ms", std::to_string(plan.retention_ms)},
              {"retention.bytes", std::to_string(plan.retention_bytes)}};
    case Cleanup::compact:
      return {{"cleanup.policy", "compact"},
              {"segment.ms", std::to_string(plan.segment_ms)},
              {"min.cleanable.dirty.ratio", "0.01"},
              {"delete.retention.ms", "500"}};
  }
  return {};
}

// A partition without a leader, or with a replica that is not in sync; empty: none. A topic that comes and goes may be
// made while a broker whose disk was swapped is still thought to be there: if the other replicas leave then, nobody is
// left who could lead, and only an operator can change that.
std::string not_in_sync(const kafka::MetadataResponse& metadata, bool disks_were_swapped) {
  for (const auto& topic : metadata.topics) {
    const bool may_have_no_leader = disks_were_swapped && topic.name.value_or("").starts_with(kPassingTopic);
    for (const auto& partition : topic.partitions) {
      if (may_have_no_leader && partition.leader_id == kNoBroker) continue;
      if (partition.leader_id != kNoBroker && partition.isr_nodes.size() == partition.replica_nodes.size()) continue;
      return fmt::format("{}-{}, leader {}, {} of {}", topic.name.value_or("?"), partition.partition_index,
                         partition.leader_id, partition.isr_nodes.size(), partition.replica_nodes.size());
    }
  }
  return {};
}

void add_record(BatchBuilder& builder, WallTimeMs time, const std::string& value) {
  if (!is_deletion(value)) return builder.add(time, key_of(value), value);
  const std::string key = key_of(value);
  builder.add({.timestamp = time,
               .key = as_bytes(key),
               .value = std::nullopt,
               .headers = {{.key = kDeletionHeader, .value = as_bytes(value)}}});
}

std::string value_of(const RecordView& record) {
  if (record.value) return std::string(as_text(*record.value));
  RecordHeaders headers = record.headers();
  const auto header = headers.next();
  return header ? std::string(as_text(header->value.value_or(BytesView()))) : std::string();
}

std::string topic_name(int index) {
  return fmt::format("topic-{}", index);
}

}  // namespace

void Workload::failed(std::string sentence) {
  if (!problem_) problem_ = std::move(sentence);
}

void Workload::power_was_cut(const History::SyncedEnds& synced) {
  ++power_cuts_;
  history_.power_was_cut(synced);
}

Task<void> Workload::pause(Duration longest) {
  const Duration length(static_cast<int64_t>(1 + seams_.random.below(static_cast<uint64_t>(longest.count()))));
  ignore(co_await sleep_until(seams_.scheduler, seams_.clock.now() + length));
}

Task<Workload::Client> Workload::connect() {
  for (int tries = 0; tries < kMaxTries; ++tries) {
    if (Client client = co_await brokers_.any()) co_return client;
    co_await pause(300ms);
  }
  failed("no connection to a broker for a very long time");
  co_return nullptr;
}

Task<Workload::Client> Workload::connect_to_leader(PartitionName partition) {
  for (int tries = 0; tries < kMaxTries; ++tries) {
    if (Client client = co_await brokers_.leader(partition, nullptr)) co_return client;
    co_await pause(300ms);
  }
  failed(fmt::format("no leader of {}-{} for a very long time", partition.first, partition.second));
  co_return nullptr;
}

std::vector<PartitionName> Workload::all_partitions() const {
  std::vector<PartitionName> all;
  for (int topic = 0; topic < plan_.topics; ++topic) {
    for (int index = 0; index < plan_.partitions; ++index) all.emplace_back(topic_name(topic), PartitionIndex(index));
  }
  return all;
}

PartitionName Workload::random_partition() {
  const auto all = all_partitions();
  return all[seams_.random.below(all.size())];
}

// ---- topics

Task<void> Workload::create_topics() {
  const TopicSettings settings = cleanup_configs(plan_);
  for (int i = 0; i < plan_.topics; ++i) co_await create_topic(topic_name(i), plan_.partitions, settings);
  // Where keys are different compaction takes nothing but what was aborted, and old markers.
  TopicSettings of_chain{{"retention.ms", "-1"}};
  if (plan_.cleanup == Cleanup::compact) of_chain = settings;
  for (const std::string& name : chain_.topics()) co_await create_topic(name, plan_.copy_partitions, of_chain);
}

Task<void> Workload::create_topic(std::string name, int partitions, TopicSettings settings) {
  settings.insert(settings.begin(), {{"segment.bytes", std::to_string(plan_.segment_bytes)},
                                     {"flush.messages", plan_.synced_acks ? "1" : "9223372036854775807"},
                                     {"min.insync.replicas", std::to_string(plan_.min_insync_replicas)}});
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const Client client = co_await connect();
    if (!client) co_return;
    kafka::CreateTopicsRequest request;
    request.topics.push_back(
        {.name = name, .num_partitions = partitions, .replication_factor = static_cast<int16_t>(plan_.replicas)});
    for (const auto& [key, value] : settings) request.topics.back().configs.push_back({.name = key, .value = value});
    const auto response =
        co_await client->call<kafka::CreateTopicsResponse>(request, kCreateTopicsVersion, kCallTimeout);
    client->close();
    if (response && (response->topics.at(0).error_code == ErrorCode::none ||
                     response->topics.at(0).error_code == ErrorCode::topic_already_exists)) {
      topics_that_must_exist_.insert(name);
      break;
    }
    co_await pause(300ms);
  }
}

Task<void> Workload::administrate() {
  for (int number = 0; !stopping_; ++number) {
    co_await pause(2s);
    const Client client = co_await connect();
    if (!client) co_return;
    const std::string name = fmt::format("{}{}", kPassingTopic, number);
    kafka::CreateTopicsRequest create;
    create.topics.push_back(
        {.name = name, .num_partitions = 1, .replication_factor = static_cast<int16_t>(plan_.replicas)});
    const auto created = co_await client->call<kafka::CreateTopicsResponse>(create, kCreateTopicsVersion, kCallTimeout);
    if (created && created->topics.at(0).error_code == ErrorCode::none) {
      topics_that_must_exist_.insert(name);
      if (seams_.random.one_in(2)) {
        topics_that_must_exist_.erase(name);  // from here on it may be gone
        kafka::DeleteTopicsRequest remove;
        remove.topic_names = {name};
        static_cast<void>(
            co_await client->call<kafka::DeleteTopicsResponse>(remove, kDeleteTopicsVersion, kCallTimeout));
      }
    }
    client->close();
    if (plan_.cleanup == Cleanup::remove) co_await delete_some_records();
  }
}

Task<void> Workload::delete_some_records() {
  const PartitionName partition = random_partition();
  const Client client = co_await brokers_.leader(partition, nullptr);
  if (!client) co_return;
  const auto seen = static_cast<uint64_t>(history_.high_watermark_floor(partition).value());
  kafka::DeleteRecordsRequest request{.timeout_ms = 1000};
  request.topics.push_back({.name = partition.first});
  request.topics.back().partitions.push_back(
      {.partition_index = partition.second,
       .offset = seams_.random.one_in(5) ? Offset(-1) : Offset(static_cast<int64_t>(seams_.random.below(seen + 1)))});
  const LeaderEpoch epoch = brokers_.known_leader(partition).epoch;
  // The request names no epoch, so a leader that was replaced may answer it.
  const Offset floor = plan_.brokers == 1 ? history_.log_start_floor(partition) : Offset(0);
  const auto response =
      co_await client->call<kafka::DeleteRecordsResponse>(request, kDeleteRecordsVersion, kCallTimeout);
  client->close();
  if (!response) co_return;
  const auto& result = response->topics.at(0).partitions.at(0);
  if (result.error_code == ErrorCode::none) history_.log_start(partition, epoch, floor, result.low_watermark);
}

// ---- producing

std::vector<std::string> Workload::new_values(int producer, size_t count) {
  std::vector<std::string> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(fmt::format("{}.{}{}", producer, next_value_++, std::string(seams_.random.below(60), '.')));
  }
  return values;
}

Task<void> Workload::produce(int producer) {
  // One partition at a time over one connection: only then is the order of what was sent defined.
  Client client, before;
  while (!stopping_) {
    const PartitionName partition = random_partition();
    client = co_await brokers_.leader(partition, client);
    if (!client) {
      co_await pause(200ms);
      continue;
    }
    // What is left of an older connection, of acks=0 say, may be read behind what comes over this one.
    if (std::exchange(before, client) != client) producer += kPerConnection;
    const int16_t acks = seams_.random.one_in(10) ? 0 : seams_.random.one_in(3) ? 1 : -1;
    TaskGroup window;
    const auto batches = 1 + seams_.random.below(static_cast<uint64_t>(plan_.pipeline));
    for (uint64_t i = 0; i < batches; ++i) window.spawn(produce_batch(client, producer, partition, acks));
    co_await window.join();
    co_await pause(plan_.producer_pause);
  }
  if (client) client->close();
}

Task<void> Workload::produce_idempotently(int producer) {
  IdempotentProducer idempotent({.seams = seams_,
                                 .brokers = brokers_,
                                 .plan = plan_,
                                 .history = history_,
                                 .partitions = all_partitions(),
                                 .stopping = stopping_,
                                 .power_cuts = power_cuts_,
                                 .ids_given = producer_ids_given_,
                                 .repeats = repeated_batches_,
                                 .failed = fail_},
                                producer);
  co_await idempotent.run();
}

Task<void> Workload::produce_batch(Client client, int producer, PartitionName partition, int16_t acks) {
  auto values =
      new_values(producer % kPerConnection, 1 + seams_.random.below(static_cast<uint64_t>(plan_.max_batch_records)));
  for (std::string& value : values) {
    if (plan_.tombstones && seams_.random.one_in(4)) value = deletion(value);
  }
  BatchBuilder builder({.compression = static_cast<Compression>(seams_.random.below(5))});
  for (const std::string& value : values) add_record(builder, seams_.clock.wall_now_ms(), value);
  const Bytes batch = builder.build().value();

  kafka::ProduceRequest request{.acks = acks, .timeout_ms = 10'000};
  request.topic_data.push_back({.name = partition.first});
  request.topic_data.back().partition_data.push_back({.index = partition.second, .records = batch});
  history_.sent(partition, producer, values);
  const uint64_t cuts = power_cuts_;
  if (acks == 0) {
    client->send(request, kProduceVersion);
    co_return;
  }
  const auto response = co_await client->call<kafka::ProduceResponse>(request, kProduceVersion, kCallTimeout);
  if (!response) {
    if (response.error().code() != ErrorCode::network_exception) failed("produce: " + response.error().to_string());
    co_return;  // unknown
  }
  const auto& result = response->responses.at(0).partition_responses.at(0);
  last_error_ = result.error_code;
  if (result.error_code == ErrorCode::not_leader_or_follower) brokers_.forget(partition);
  if (result.error_code == ErrorCode::none) {
    // What the leader alone has promised may go with it.
    if (plan_.brokers > 1 && acks != kAllInSync) co_return;
    if (cuts == power_cuts_ || plan_.promise == Promise::durable)
      history_.acknowledged(partition, result.base_offset, values);
  } else if (result.error_code == ErrorCode::not_leader_or_follower) {
    // Also told to those whose records are in the log of a leader that is none any more.
  } else if (!describe(result.error_code).maybe_persisted) {
    history_.refused(values);
  }
}

// ---- consuming

void Workload::take_records(const PartitionName& partition, BytesView records, Offset& position,
                            std::vector<std::pair<Offset, std::string>>* content) {
  while (!records.empty()) {
    const auto header = parse_batch_header(records);
    if (!header || header->total_size > records.size() || !batch_crc_matches(records.first(header->total_size))) {
      if (plan_.faults.bit_flips && !stopping_) return;  // it is asked for again, until it is repaired
      return failed(
          fmt::format("{}-{}: a response does not end with a whole batch", partition.first, partition.second));
    }
    auto reader =
        open_records(*header, records.first(header->total_size), Decompressor::of_this_thread(), kDecompressedMax);
    if (!reader) return failed("a stored batch cannot be read: " + reader.error().to_string());
    RecordView record;
    while (reader->next(record)) {
      if (record.offset < position) continue;
      const std::string value = value_of(record);
      history_.seen(partition, record.offset, value);
      if (content != nullptr) content->emplace_back(record.offset, value);
      position = record.offset + 1;
    }
    if (!reader->status().ok()) return failed("a stored batch cannot be read: " + reader->status().to_string());
    position = std::max(position, header->next_offset());  // also over what compaction has emptied
    records = records.subspan(header->total_size);
  }
}

// The number of bytes that came. `position` moves behind them.
Task<Result<int>> Workload::fetch_once(Client client, PartitionName partition, Offset& position,
                                       std::vector<std::pair<Offset, std::string>>* content) {
  kafka::FetchRequest request{
      .max_wait_ms = static_cast<int32_t>(seams_.random.below(500)), .min_bytes = 1, .max_bytes = 1 << 20};
  request.topics.push_back({.topic = partition.first});
  const LeaderEpoch epoch = brokers_.known_leader(partition).epoch;
  const History::Leadership leadership{.epoch = epoch, .connection = client->number()};
  request.topics.back().partitions.push_back(
      {.partition = partition.second,
       .current_leader_epoch = epoch,
       .fetch_offset = position,
       .partition_max_bytes = static_cast<int32_t>(1 + seams_.random.below(20'000))});
  const uint64_t cuts = power_cuts_;
  const bool alone = plan_.brokers == 1;
  const Offset floor =
      alone ? history_.high_watermark_floor(partition) : history_.high_watermark_floor(partition, leadership);
  const Offset start_floor = history_.log_start_floor(partition, epoch);
  const auto response = co_await client->call<kafka::FetchResponse>(request, kFetchVersion, kCallTimeout);
  if (!response) co_return failure(response.error());
  if (cuts != power_cuts_ && plan_.promise != Promise::durable) co_return 0;
  const auto& result = response->responses.at(0).partitions.at(0);
  const bool found = result.error_code == ErrorCode::none || result.error_code == ErrorCode::offset_out_of_range;
  if (found && result.log_start_offset != kNoOffset) {  // -1: not known yet after an election
    history_.log_start(partition, epoch, start_floor, result.log_start_offset);
  }
  const bool start_is_unknown = plan_.cleanup == Cleanup::remove && result.log_start_offset == kNoOffset;
  const bool may_be_removed = start_is_unknown || position < result.log_start_offset;
  if (result.error_code == ErrorCode::offset_out_of_range && plan_.promise == Promise::durable && !may_be_removed) {
    failed(fmt::format("{}-{}: offset {} is out of range, the log ends at {}", partition.first, partition.second,
                       position, result.high_watermark));
  }
  if (result.error_code != ErrorCode::none) {
    brokers_.forget(partition);
    co_return failure(Status(result.error_code));
  }
  if (alone) {
    history_.high_watermark(partition, floor, result.high_watermark);
  } else {
    history_.high_watermark(partition, leadership, floor, result.high_watermark);
  }
  take_records(partition, result.records.bytes(), position, content);
  // A new leader may not know yet that what this reader has seen is committed.
  if (!result.records.bytes().empty() && position > result.high_watermark)
    failed("records above the high watermark were returned");
  co_return static_cast<int>(result.records.size());
}

Task<void> Workload::consume() {
  std::map<PartitionName, Offset> positions;
  Client client;
  std::set<PartitionName> disappointed;  // where the last request failed: there may be a new leader
  while (!stopping_) {
    const PartitionName partition = random_partition();
    client = co_await brokers_.leader(partition, client);
    if (!client) {
      co_await pause(200ms);
      continue;
    }
    if (disappointed.erase(partition) > 0) {
      co_await look_at_the_end(client, partition);
      co_await ask_for_an_epoch_end(client, partition);
    }
    if (seams_.random.one_in(20)) positions[partition] = history_.log_start_floor(partition);
    if (seams_.random.one_in(10)) co_await look_at_the_end(client, partition);
    if (seams_.random.one_in(30)) co_await ask_in_an_old_epoch(client, partition);
    const auto got = co_await fetch_once(client, partition, positions[partition], nullptr);
    if (!got && got.error() == ErrorCode::offset_out_of_range) {
      positions[partition] = history_.log_start_floor(partition);
    }
    if (got) continue;
    disappointed.insert(partition);
    co_await pause(100ms);
  }
  if (client) client->close();
}

// What anybody was told to be the end stays readable, whoever leads.
Task<void> Workload::look_at_the_end(Client client, PartitionName partition) {
  const uint64_t cuts = power_cuts_;
  const Offset floor = history_.high_watermark_floor(partition);
  const auto end = co_await latest_offset(client, partition, brokers_.known_leader(partition).epoch);
  if (!end || (cuts != power_cuts_ && plan_.promise != Promise::durable)) co_return;
  history_.high_watermark(partition, floor, *end);
}

// Who has led in an epoch answers nobody who believes in an earlier one.
Task<void> Workload::ask_in_an_old_epoch(Client client, PartitionName partition) {
  const LeaderEpoch epoch = brokers_.known_leader(partition).epoch;
  if (epoch <= LeaderEpoch(0)) co_return;
  if (!co_await latest_offset(client, partition, epoch)) co_return;
  if (!co_await latest_offset(client, partition, epoch - 1)) co_return;
  failed(fmt::format("{}-{}: the leader of epoch {} answers a question for the leader of the one before",
                     partition.first, partition.second, epoch));
}

// As consumers do that have heard of a new leader: whatever it says of an earlier epoch is final.
Task<void> Workload::ask_for_an_epoch_end(Client client, PartitionName partition) {
  const LeaderEpoch epoch = brokers_.known_leader(partition).epoch;
  if (epoch <= LeaderEpoch(0)) co_return;
  const LeaderEpoch asked(static_cast<int32_t>(seams_.random.below(static_cast<uint64_t>(epoch.value()))));
  kafka::OffsetForLeaderEpochRequest request;
  request.topics.push_back({.topic = partition.first});
  request.topics.back().partitions.push_back(
      {.partition = partition.second, .current_leader_epoch = epoch, .leader_epoch = asked});
  const uint64_t cuts = power_cuts_;
  const auto response =
      co_await client->call<kafka::OffsetForLeaderEpochResponse>(request, kEpochEndVersion, kCallTimeout);
  if (!response || (cuts != power_cuts_ && plan_.promise != Promise::durable)) co_return;
  const auto& result = response->topics.at(0).partitions.at(0);
  // Nothing was written in that epoch, or in one before it.
  if (result.error_code != ErrorCode::none || result.leader_epoch == kNoLeaderEpoch) co_return;
  history_.epoch_end(partition, asked, {.epoch = result.leader_epoch, .end = result.end_offset});
}

// ---- groups

GroupContext Workload::group_context() {
  return {
      .seams = seams_, .brokers = brokers_, .history = groups_, .partitions = all_partitions(), .stopping = stopping_};
}

Task<void> Workload::be_in_a_group(int member) {
  // The first static members share an id, now and then: each fences the other.
  const int number = member == 1 && seams_.random.one_in(4) ? 0 : member;
  const auto instance =
      member < plan_.static_members ? std::optional(fmt::format("instance-{}", number)) : std::nullopt;
  GroupMember group_member(group_context(), std::string(kGroup), instance, {});
  co_await group_member.run();
}

Task<void> Workload::be_in_a_consumer_group(int member) {
  const auto instance = member == 0 ? std::optional<std::string>("instance") : std::nullopt;
  ConsumerMember consumer_member(group_context(), std::string(kConsumerGroup), instance);
  co_await consumer_member.run();
}

Task<void> Workload::be_in_a_mixed_group(int member) {
  const auto instance = member == 0 ? std::optional<std::string>("instance") : std::nullopt;
  MixedMember mixed_member(group_context(), std::string(kMixedGroup), instance);
  co_await mixed_member.run();
}

Task<void> Workload::check_groups() {
  if (plan_.group_members > 0) co_await check_group(std::string(kGroup));
  if (plan_.consumer_members > 0) co_await check_group(std::string(kConsumerGroup));
  if (plan_.mixed_members > 0) co_await check_group(std::string(kMixedGroup));
}

Task<void> Workload::check_group(std::string group) {
  const ErrorCode error = co_await GroupMember::check_offsets(group_context(), group);
  const bool log_refused = error == ErrorCode::not_coordinator || error == ErrorCode::coordinator_not_available;
  if (error == ErrorCode::none || (plan_.faults.disks_fail() && log_refused)) co_return;
  failed(
      fmt::format("the offsets of {} cannot be read although everything is healed: {}", group, describe(error).name));
}

// ---- at the end

Task<void> Workload::wait_for_full_isr(Duration limit) {
  const MonotonicTime deadline = seams_.clock.now() + limit;
  std::string behind = "nobody answers";
  while (seams_.clock.now() < deadline) {
    if (const Client client = co_await brokers_.any()) {
      kafka::MetadataRequest request{.allow_auto_topic_creation = false};
      request.topics.reset();
      const auto metadata = co_await client->call<kafka::MetadataResponse>(request, kMetadataVersion, kCallTimeout);
      client->close();
      if (metadata) behind = not_in_sync(*metadata, plan_.faults.wiped_disks);
      if (behind.empty()) co_return;
    }
    co_await pause(200ms);
  }
  failed("not every replica is in sync although everything is healed: " + behind);
}

Task<void> Workload::check_liveness() {
  for (const PartitionName& partition : all_partitions()) {
    const size_t before = history_.acknowledged_count();
    // The leader may just have changed.
    for (int tries = 0; tries < kTriesWhenHealed && history_.acknowledged_count() == before; ++tries) {
      const Client client = co_await connect_to_leader(partition);
      if (!client) co_return;
      co_await produce_batch(client, 0, partition, kAllInSync);
      client->close();
      if (last_error_ != ErrorCode::not_leader_or_follower) break;
      co_await pause(200ms);
    }
    if (history_.acknowledged_count() == before && plan_.faults.disks_fail() &&
        last_error_ == ErrorCode::kafka_storage_error) {
      refused_logs_.insert(partition);
    } else if (history_.acknowledged_count() == before) {
      failed(fmt::format("{}-{} takes no records although everything is healed: {}", partition.first, partition.second,
                         describe(last_error_).name));
    }
  }
}

Task<Result<Offset>> Workload::latest_offset(Client client, const PartitionName& partition, LeaderEpoch epoch) {
  kafka::ListOffsetsRequest request;
  request.topics.push_back({.name = partition.first});
  request.topics.back().partitions.push_back(
      {.partition_index = partition.second, .current_leader_epoch = epoch, .timestamp = -1});
  const auto response = co_await client->call<kafka::ListOffsetsResponse>(request, kListOffsetsVersion, kCallTimeout);
  if (!response) co_return failure(response.error());
  const auto& result = response->topics.at(0).partitions.at(0);
  if (result.error_code != ErrorCode::none) co_return failure(Status(result.error_code));
  co_return result.offset;
}

Task<void> Workload::read_partition(PartitionName partition) {
  std::vector<std::pair<Offset, std::string>> content;
  Offset start = history_.log_start_floor(partition);
  Offset position = start;
  std::optional<Offset> end;
  ErrorCode error = ErrorCode::none;
  Client client;
  // The leader may just have changed.
  for (int tries = 0; tries < kTriesWhenHealed && (!end || position < *end); ++tries) {
    client = co_await brokers_.leader(partition, client);
    if (client && !end) {
      const auto latest = co_await latest_offset(client, partition, brokers_.known_leader(partition).epoch);
      if (latest) end = *latest;
      error = latest ? ErrorCode::none : latest.error().code();
    }
    while (client && end && position < *end) {
      const auto got = co_await fetch_once(client, partition, position, &content);
      if (got && *got > 0) continue;
      error = got ? ErrorCode::none : got.error().code();
      if (error == ErrorCode::offset_out_of_range && position < history_.log_start_floor(partition)) {
        // Retention was faster than this reader.
        content.clear();
        position = start = history_.log_start_floor(partition);
        continue;
      }
      break;
    }
    if (!end || position < *end) {
      brokers_.forget(partition);
      co_await pause(200ms);
    }
  }
  if (client) client->close();
  if (!end || position < *end) {
    co_return failed(fmt::format("{}-{}: nothing to read at {} although everything is healed: {}", partition.first,
                                 partition.second, position, describe(error).name));
  }
  history_.final_content(partition, start, std::max(start, *end), content);
}

Task<void> Workload::read_everything() {
  for (const PartitionName& partition : all_partitions()) {
    if (!refused_logs_.contains(partition)) co_await read_partition(partition);
  }

  const Client client = co_await connect();
  if (!client) co_return;
  kafka::MetadataRequest request{.allow_auto_topic_creation = false};
  request.topics.reset();
  const auto metadata = co_await client->call<kafka::MetadataResponse>(request, kMetadataVersion, kCallTimeout);
  client->close();
  if (!metadata) co_return failed("metadata: " + metadata.error().to_string());
  for (const std::string& name : topics_that_must_exist_) {
    const bool there = std::ranges::any_of(metadata->topics, [&name](const auto& topic) { return topic.name == name; });
    if (!there) failed(fmt::format("topic {} was created and is gone", name));
  }
}

}  // namespace naru::simulation
