#include "broker/fetch_targets.h"

#include <algorithm>
#include <map>
#include <utility>

#include "broker/leader_hints.h"
#include "broker/reply.h"
#include "broker/stored_codecs.h"
#include "cluster_control/metadata_publisher.h"
#include "foundation/request_canary.h"
#include "kafka_protocol/messages/fetch_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithZstd = 10;
constexpr int16_t kFirstVersionWithFollowers = 11;  // consumers that may read from followers
constexpr int16_t kFirstVersionWithTopicIds = 13;
constexpr int16_t kFirstVersionWithReplicaState = 15;
constexpr int8_t kReadUncommitted = 0;
// What one answer copies, besides the batch that it has at least.
constexpr uint64_t kCopiedBytesMax = 1 << 20;

Task<void> refuse_zstd(Scheduler& scheduler, FetchTarget& target) {
  if (target.view.slice.empty()) co_return;
  const auto zstd = co_await contains_zstd(scheduler, target.view.slice);
  if (zstd && !*zstd) co_return;
  target.view.status = zstd ? Status(ErrorCode::unsupported_compression_type) : zstd.error();
  target.view.slice = {};
}

void fill(kafka::FetchResponse::PartitionData& partition, FetchTarget& target, const FetchTerms& terms,
          const std::shared_ptr<const FilePinLease>& pins, std::vector<OutputChunk>& records) {
  const PartitionView& view = target.view;
  partition.partition_index = target.index;
  partition.error_code = view.status.code();
  partition.high_watermark = view.high_watermark;
  partition.last_stable_offset = view.last_stable_offset;
  partition.log_start_offset = view.told_start_offset;
  partition.diverging_epoch.epoch = view.diverging.epoch;
  partition.diverging_epoch.end_offset = view.diverging.end_offset;
  if (terms.replica) {
    partition.tombstones.horizon = view.tombstones.offset;
    partition.tombstones.drops = view.tombstones.drops;
    partition.question = view.question;
  }
  partition.preferred_read_replica = target.nearer;
  // Null, not empty, unless the reader asked for committed records only.
  if (terms.read_committed) {
    for (const AbortedTransaction& aborted : view.aborted) {
      partition.aborted_transactions->push_back(
          {.producer_id = aborted.producer_id, .first_offset = aborted.first_offset});
    }
  } else {
    partition.aborted_transactions.reset();
  }
  if (view.slice.empty()) return;
  partition.records = kafka::ExternalRecords{.id = records.size(), .size = view.slice.bytes};
  if (!target.copied.empty()) {
    records.emplace_back(std::move(target.copied));
  } else {
    records.emplace_back(
        FileRange{.file = view.slice.file, .position = view.slice.position, .length = view.slice.bytes, .pins = pins});
  }
}

// Where it cannot be read, the partition has an error instead of records.
void copy_records(FetchTarget& target) {
  const LogSlice& slice = target.view.slice;
  target.copied.resize(slice.bytes);
  const auto got = slice.file->read_at(slice.position, target.copied);
  if (got && *got == slice.bytes) return;
  target.view.status = got ? Status(ErrorCode::kafka_storage_error, "a segment is shorter than its index says")
                           : Status(ErrorCode::kafka_storage_error, got.error().message());
  target.view.slice = {};
  target.copied = {};
}

// Costs nothing where nobody names a rack.
void find_nearer_replicas(const BrokerServices& services, const FetchTerms& terms, std::vector<FetchTarget>& targets) {
  if (terms.rack.empty() || terms.replica || targets.empty()) return;
  const MetadataImagePtr image = services.metadata.current();
  for (FetchTarget& target : targets) {
    target.nearer = kNoBroker;
    if (!target.partition) continue;
    const PartitionIdentity& identity = target.partition->identity();
    const PartitionState* state = find_partition_state(*image, identity.topic, identity.topic_id, identity.index);
    if (state != nullptr) target.nearer = nearest_replica(*image, *state, services.config.node_id, terms.rack);
    if (target.nearer != kNoBroker) services.reads_sent_nearer.add();
  }
}

std::optional<FetchingReplica> replica_of(const RequestContext& context, const kafka::FetchRequest& request) {
  const bool has_state = context.version >= kFirstVersionWithReplicaState;
  const BrokerId id = has_state ? request.replica_state.replica_id : request.replica_id;
  if (id < BrokerId(0)) return std::nullopt;
  return FetchingReplica{.id = id, .broker_epoch = has_state ? request.replica_state.replica_epoch : -1};
}

}  // namespace

// Registrations end while the coordination service is away, and begin anew when it is back, without anything being lost
// in the brokers. Meanwhile they go on replicating, or every producer would have to wait.
ReplicaStanding standing_of(const MetadataImage& image, BrokerId self, const FetchingReplica& replica) {
  if (replica.id == self) return ReplicaStanding::stranger;
  const BrokerMetadata* broker = image.find_broker(replica.id);
  if (broker != nullptr && broker->epoch == replica.broker_epoch) return ReplicaStanding::registered;
  const auto known = image.known_brokers().find(replica.id);
  int64_t newest = known == image.known_brokers().end() ? -1 : known->second.registered_epoch;
  if (broker != nullptr) newest = std::max(newest, broker->epoch);
  const bool may_live = newest >= 0 && replica.broker_epoch >= newest;
  return may_live ? ReplicaStanding::unconfirmed : ReplicaStanding::stranger;
}

FetchTerms terms_of(const BrokerServices& services, const RequestContext& context, const kafka::FetchRequest& request) {
  const auto max_bytes = static_cast<uint64_t>(std::clamp(request.max_bytes, 0, services.config.fetch_max_bytes));
  return {.replica = replica_of(context, request),
          .leader_only = context.version < kFirstVersionWithFollowers,
          .by_topic_id = context.version >= kFirstVersionWithTopicIds,
          .accepts_zstd = context.version >= kFirstVersionWithZstd,
          .max_bytes = max_bytes,
          // Never more than the response may hold, or it would always wait in vain.
          .min_bytes = std::min(static_cast<uint64_t>(std::max(request.min_bytes, 0)), max_bytes),
          .max_files = services.files_per_fetch,
          .read_committed = request.isolation_level != kReadUncommitted,
          .rack = services.config.rack_aware_reads ? request.rack_id : std::string_view(),
          .deadline = context.received + Milliseconds(request.max_wait_ms)};
}

bool may_fetch(const Authorizer& authorizer, const Caller& caller, const FetchTerms& terms, std::string_view topic) {
  return terms.replica
             ? authorizer.authorize(caller, Operation::cluster_action, ResourceType::cluster, kClusterResource)
             : authorizer.authorize(caller, Operation::read, ResourceType::topic, topic);
}

void find_partition(const BrokerServices& services, const RequestContext& context, const FetchTerms& terms,
                    FetchTarget& target) {
  const HostedPartition hosted = terms.by_topic_id ? services.partitions.find(target.topic_id, target.index)
                                                   : services.partitions.find(target.topic, target.index);
  if (!hosted) {
    target.view.status = terms.by_topic_id ? why_not_here(services, hosted, target.topic_id, target.index)
                                           : why_not_here(services, hosted, target.topic, target.index);
    return;
  }
  if (!may_fetch(services.authorizer, context.caller, terms, hosted.partition->identity().topic)) {
    target.view.status = Status(ErrorCode::topic_authorization_failed);
    return;
  }
  target.view.status = Status();
  target.partition = hosted.partition;
}

// Brokers take their answers, and copying for them would keep every partition behind.
FetchSources take_sources(const BrokerServices& services, const RequestContext& context, const FetchTerms& terms,
                          size_t targets) {
  const size_t files = std::min(terms.max_files, targets);
  const PinnedFiles& of_connection = context.connection->pinned_files();
  const bool unlimited = terms.replica || is_planted(RequestCanary::unlimited_pinned_files);
  FetchSources sources{.files = unlimited ? services.file_pins.take_beyond(of_connection, files)
                                          : services.file_pins.take(of_connection, files)};
  sources.copies = files > 0 && sources.files.files() == 0;
  return sources;
}

Task<uint64_t> read_targets(const BrokerServices& services, const FetchTerms& terms, FetchSources& sources,
                            std::vector<FetchTarget>& targets, Turns& turns) {
  uint64_t total = 0;
  size_t files = 0;
  const size_t max_files = std::max<size_t>(sources.files.files(), 1);  // one at a time is copied
  const uint64_t max_total = sources.copies ? std::min(terms.max_bytes, kCopiedBytesMax) : terms.max_bytes;
  find_nearer_replicas(services, terms, targets);
  for (FetchTarget& target : targets) {
    co_await turns.step();
    if (!target.partition) continue;
    if (target.nearer != kNoBroker) {
      target.view = co_await target.partition->look(target.current_leader_epoch);
      if (target.failed()) target.nearer = kNoBroker;
      continue;
    }
    const bool room = max_total > total && files < max_files;
    const uint64_t left = room ? max_total - total : 0;
    // The first partition with data returns at least one batch, however large: else a client could never pass it.
    const auto max_bytes = static_cast<uint32_t>(std::min<uint64_t>(target.max_bytes, left));
    if (terms.replica) {
      target.view = co_await target.partition->read_as_follower(
          {.replica = terms.replica->id,
           .broker_epoch = terms.replica->broker_epoch,
           .registered = terms.replica->standing == ReplicaStanding::registered,
           .followed_at = terms.followed_at,
           .from = target.offset,
           .last_fetched_epoch = target.last_fetched_epoch,
           .flushed_end = target.flushed_offset,
           .log_start = target.log_start_offset,
           .current_leader_epoch = target.current_leader_epoch,
           .answered_question = target.answered_question,
           .max_bytes = max_bytes,
           .at_least_one_batch = total == 0});
    } else {
      target.view = co_await target.partition->read({.from = target.offset,
                                                     .current_leader_epoch = target.current_leader_epoch,
                                                     .max_bytes = max_bytes,
                                                     .at_least_one_batch = total == 0,
                                                     .leader_only = terms.leader_only,
                                                     .read_committed = terms.read_committed});
    }
    if (!terms.accepts_zstd) co_await refuse_zstd(services.scheduler, target);
    total += target.view.slice.bytes;
    files += target.view.slice.empty() ? 0 : 1;
  }
  sources.files.shrink_to(files);
  co_return files < max_files ? total : std::max(total, terms.min_bytes);
}

bool should_wait(const FetchTerms& terms, const std::vector<FetchTarget>& targets, uint64_t found, MonotonicTime now) {
  if (found >= terms.min_bytes || now >= terms.deadline) return false;
  return std::ranges::none_of(targets, [](const FetchTarget& target) {
    // A read ends with its segment; what lies behind it is there already, and nobody would wake a fetch for it.
    const LogSlice& slice = target.view.slice;
    return target.failed() || target.diverges() || target.nearer != kNoBroker || target.view.question != 0 ||
           (!slice.empty() && slice.next_offset < target.view.readable_end);
  });
}

Task<void> prepare_records(const BrokerServices& services, const FetchSources& sources,
                           std::vector<FetchTarget>& targets) {
  std::vector<FetchTarget*> to_read;
  uint64_t bytes = 0;
  for (FetchTarget& target : targets) {
    const LogSlice& slice = target.view.slice;
    if (slice.empty()) continue;
    const bool at_the_end = slice.next_offset >= target.view.readable_end;  // written a moment ago
    if (!sources.copies && (at_the_end || slice.file->is_cached(slice.position, slice.bytes))) continue;
    to_read.push_back(&target);
    bytes += slice.bytes;
  }
  if (to_read.empty()) co_return;
  // Paid for while it is copied; then the connection pays for what waits to be sent.
  const auto memory = sources.copies ? services.memory.try_reserve(MemoryAccount::responses, bytes) : MemoryLease();
  if (!memory) {
    for (FetchTarget* target : to_read) target->view.slice = {};  // the next fetch gets it
    co_return;
  }
  co_await on_worker(services.scheduler, [&] {
    for (FetchTarget* target : to_read) {
      const LogSlice& slice = target->view.slice;
      if (sources.copies) {
        copy_records(*target);
      } else {
        slice.file->warm(slice.position, slice.bytes);
      }
    }
  });
}

Task<Response> build_fetch_response(const BrokerServices& services, const RequestContext& context,
                                    const FetchTerms& terms, FetchSources sources, int32_t session_id,
                                    const std::vector<FetchTarget*>& told, Turns& turns) {
  kafka::FetchResponse response;
  LeaderHints hints(services, context);
  response.session_id = session_id;
  std::vector<OutputChunk> records;
  const bool sends_files = sources.files.files() > 0;
  const auto pins = sends_files ? std::make_shared<const FilePinLease>(std::move(sources.files)) : nullptr;
  std::map<std::pair<std::string_view, Uuid>, size_t> places;
  size_t current = 0;
  for (FetchTarget* target : told) {
    co_await turns.step();
    const bool same_topic = !response.responses.empty() && response.responses[current].topic_id == target->topic_id &&
                            response.responses[current].topic == target->topic;
    if (!same_topic) {
      const auto [place, is_new] =
          places.try_emplace(std::pair(target->topic, target->topic_id), response.responses.size());
      current = place->second;
      if (is_new) {
        auto& topic = response.responses.emplace_back();
        topic.topic = target->topic;
        topic.topic_id = target->topic_id;
      }
    }
    auto& partition = response.responses[current].partitions.emplace_back();
    fill(partition, *target, terms, pins, records);
    if (const auto hint = hints.hint(partition.error_code, target->topic, target->topic_id, target->index)) {
      partition.current_leader = {.leader_id = hint->leader, .leader_epoch = hint->epoch};
    }
  }
  hints.fill_endpoints(response.node_endpoints);
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response, std::move(records));
}

}  // namespace naru
