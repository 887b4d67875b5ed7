// Produce: authorize, validate, split by partition, append, wait for the acknowledgements. What begins a transaction in
// a partition is appended only if the transaction's coordinator knows of it.
#include <algorithm>
#include <memory>
#include <utility>

#include "async/cancellation.h"
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/transaction_verdicts.h"
#include "broker/leader_hints.h"
#include "broker/produced_batch.h"
#include "broker/transaction_link.h"
#include "broker/turns.h"
#include "cluster_control/internal_topics.h"
#include "foundation/canary.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "log_storage/unsynced_logs.h"
#include "replication/append_group.h"

namespace naru {
namespace {

constexpr int16_t kFirstProduceWithIds = 13;
constexpr int16_t kFirstProduceThatJoins = 12;  // the leader adds partitions to the transaction

std::optional<Acks> to_acks(int16_t wire) {
  switch (wire) {
    case -1:
      return Acks::all_in_sync;
    case 0:
      return Acks::none;
    case 1:
      return Acks::leader;
    default:
      return std::nullopt;
  }
}

// Checking so many compressed bytes would keep a loop from its other connections for longer than handing the request to
// a worker costs: 0.06 ms (snappy, lz4) to 0.3 ms (gzip), expanding three to six times (batch_validator_bench), against
// some 0.01 ms (hand_over_bench).
constexpr size_t kCompressedBytesForWorker = 16 * 1024;
// Uncompressed bytes are checked and written faster, but a loop does not stop for the largest requests. Not measured.
constexpr size_t kBytesForWorker = 4 << 20;

// One partition of the request, in the order of the request; also its slot in the AppendGroup.
struct Slot {
  const kafka::ProduceRequest::TopicProduceData* topic;
  const kafka::ProduceRequest::PartitionProduceData* partition;
  std::vector<RejectedRecord> rejected;
  std::optional<TransactionVerdict> verified;  // of a batch that begins a transaction here
  Status unverified;                           // not ok: it must not
};

std::vector<Slot> slots_of(const kafka::ProduceRequest& request) {
  size_t partitions = 0;
  for (const auto& topic : request.topic_data) partitions += topic.partition_data.size();
  std::vector<Slot> slots;
  slots.reserve(partitions);  // once: a reserve for each of many topics would copy what is there for each of them
  for (const auto& topic : request.topic_data) {
    for (const auto& partition : topic.partition_data) slots.push_back({.topic = &topic, .partition = &partition});
  }
  return slots;
}

bool takes_long(const std::vector<Slot>& slots, size_t request_bytes) {
  if (request_bytes >= kBytesForWorker) return true;
  if (request_bytes < kCompressedBytesForWorker) return false;
  size_t compressed = 0;
  for (const Slot& slot : slots) {
    const auto header = parse_batch_header(slot.partition->records.value_or(BytesView()));
    if (header && header->compression() != Compression::none) compressed += slot.partition->records->size();
  }
  return compressed >= kCompressedBytesForWorker;
}

HostedPartition find_partition(const BrokerServices& services, const RequestContext& context, const Slot& slot) {
  return context.version >= kFirstProduceWithIds ? services.partitions.find(slot.topic->topic_id, slot.partition->index)
                                                 : services.partitions.find(slot.topic->name, slot.partition->index);
}

Status why_not_writable(const BrokerServices& services, const RequestContext& context, const HostedPartition& hosted) {
  const std::string& topic = hosted.partition->identity().topic;
  if (!services.authorizer.authorize(context.caller, Operation::write, ResourceType::topic, topic)) {
    return Status(ErrorCode::topic_authorization_failed);
  }
  if (is_internal_topic(topic)) {
    return Status(ErrorCode::invalid_topic_exception, "clients cannot write to an internal topic");
  }
  return Status();
}

enum class Started : uint8_t { yes, not_without_recompression };

// Starts the append of one slot, or its refusal, or says why not.
Result<Started> try_to_start_append(const BrokerServices& services, const RequestContext& context, Acks acks,
                                    Slot& slot, const std::shared_ptr<AppendGroup>& group, size_t index,
                                    bool may_recompress) {
  const HostedPartition hosted = find_partition(services, context, slot);
  if (!hosted) {
    return failure(context.version >= kFirstProduceWithIds
                       ? why_not_here(services, hosted, slot.topic->topic_id, slot.partition->index)
                       : why_not_here(services, hosted, slot.topic->name, slot.partition->index));
  }
  NARU_TRY(why_not_writable(services, context, hosted));
  if (!slot.partition->records) return failure(ErrorCode::invalid_record, "the partition carries no batch");
  if (!may_recompress && is_to_be_recompressed(*hosted.config, *slot.partition->records)) {
    return Started::not_without_recompression;
  }
  SharedBytes batch = context.keep(*slot.partition->records);
  auto validated = check_produced_batch(services, *hosted.config, context.version, batch, &slot.rejected);
  constexpr uint64_t kMemoryOfRejected = 300;  // here, and in the answer
  if (!context.memory.take_for_answer(kMemoryOfRejected * slot.rejected.size())) slot.rejected.clear();
  if (!slot.rejected.empty()) {
    hosted.partition->refuse(std::move(validated).error(), group, index);
    return Started::yes;
  }
  if (!validated) return failure(std::move(validated).error());
  if (batch.size() > static_cast<size_t>(hosted.config->segment_bytes)) {
    return failure(ErrorCode::record_list_too_large, "the batch has {} bytes, a segment at most {}", batch.size(),
                   hosted.config->segment_bytes);
  }
  if (!slot.unverified.ok()) return failure(slot.unverified);
  hosted.partition->append({.batch = std::move(batch),
                            .validated = std::move(*validated),
                            .acks = acks,
                            .verified = slot.verified,
                            .connection = context.connection->number()},
                           group, index);
  return Started::yes;
}

// Starts the append of one slot, or finishes it. False: neither, because the batch has to be recompressed. Inlined,
// what it has on its stack would double the frame of the handler's coroutine, which is then more than the allocator
// keeps at hand for each thread.
[[gnu::noinline]] bool start_append(const BrokerServices& services, const RequestContext& context, int16_t wire_acks,
                                    Slot& slot, const std::shared_ptr<AppendGroup>& group, size_t index,
                                    bool may_recompress) {
  const std::optional<Acks> acks = to_acks(wire_acks);
  auto started = acks ? try_to_start_append(services, context, *acks, slot, group, index, may_recompress)
                      : failure(ErrorCode::invalid_required_acks, "acks is {}, not -1, 0 or 1", wire_acks);
  if (!started) group->finish(index, {.status = std::move(started).error()});
  return !started || *started == Started::yes;
}

// --- Transactions ----------------------------------------------------------------------------------------------------

// A batch that may begin a transaction in its partition.
struct Unverified {
  size_t slot;
  VerificationGuard guard;
  ProducerIdentity producer;
  std::string topic;
};

Task<std::vector<Unverified>> find_unverified(const BrokerServices& services, const RequestContext& context,
                                              std::vector<Slot>& slots) {
  std::vector<Unverified> found;
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto header = parse_batch_header(slots[i].partition->records.value_or(BytesView()));
    if (!header || !header->is_transactional()) continue;
    const HostedPartition hosted = find_partition(services, context, slots[i]);
    if (!hosted || !why_not_writable(services, context, hosted).ok()) continue;  // refused later
    const auto guard = co_await hosted.partition->begin_verification(*header);
    if (!guard) {
      slots[i].unverified = guard.error();
    } else if (*guard != 0) {
      found.push_back({.slot = i,
                       .guard = *guard,
                       .producer = {header->producer_id, header->producer_epoch},
                       .topic = hosted.partition->identity().topic});
    }
  }
  co_return found;
}

// Asks the coordinator about everything that begins a transaction.
Task<void> verify_transactions(const BrokerServices& services, const RequestContext& context,
                               std::string_view transactional_id, std::vector<Slot>& slots) {
  const std::vector<Unverified> found = co_await find_unverified(services, context, slots);
  const bool joins = context.version >= kFirstProduceThatJoins;
  // One request has one producer, if the client is sane: each of several is asked about by itself.
  for (auto from = found.begin(); from != found.end();) {
    if (context.connection->cut_off().cancelled()) {
      for (; from != found.end(); ++from) slots[from->slot].unverified = Status(ErrorCode::request_timed_out);
      co_return;
    }
    const auto to =
        std::find_if(from, found.end(), [&](const Unverified& one) { return one.producer != from->producer; });
    AddPartitions join{.transactional_id = std::string(transactional_id),
                       .producer = from->producer,
                       .partitions = {},
                       .mode = joins ? AddPartitions::Mode::implicit : AddPartitions::Mode::verify_only};
    for (auto one = from; one != to; ++one) {
      join.partitions.push_back({one->topic, slots[one->slot].partition->index});
    }
    const auto joined = co_await services.transaction_link.join(std::move(join));
    for (auto one = from; one != to; ++one) {
      Slot& slot = slots[one->slot];
      ErrorCode answer = joined ? joined->partitions[static_cast<size_t>(one - from)] : ErrorCode::none;
      if (is_planted(Canary::unverified_batches)) answer = ErrorCode::none;
      slot.unverified = joined ? as_produce_error(context.version, answer) : not_answered(joined.error());
      if (!slot.unverified.ok()) continue;
      slot.verified = TransactionVerdict{.guard = one->guard,
                                         .number = joined->number,
                                         .coordinator_epoch = joined->coordinator_epoch,
                                         .implicit = joins};
    }
    from = to;
  }
}

// Without it nobody can be asked about the transactions of the request's batches.
Status problem_with_transactional_id(const BrokerServices& services, const RequestContext& context,
                                     const kafka::ProduceRequest& request) {
  const bool allowed = request.transactional_id &&
                       services.authorizer.authorize(context.caller, Operation::write, ResourceType::transactional_id,
                                                     *request.transactional_id);
  return allowed ? Status() : Status(ErrorCode::transactional_id_authorization_failed);
}

bool has_transactional_batch(const std::vector<Slot>& slots) {
  return std::ranges::any_of(slots, [](const Slot& slot) {
    const auto header = parse_batch_header(slot.partition->records.value_or(BytesView()));
    return header && header->is_transactional();
  });
}

// Not a leader that has lost its leadership in between.
bool blames_records(ErrorCode code) {
  return code == ErrorCode::invalid_record || code == ErrorCode::invalid_timestamp;
}

kafka::ProduceResponse build_response(const BrokerServices& services, const RequestContext& context,
                                      const std::vector<Slot>& slots, const AppendGroup& group) {
  kafka::ProduceResponse response;
  LeaderHints hints(services, context);
  const kafka::ProduceRequest::TopicProduceData* current = nullptr;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].topic != current) {
      current = slots[i].topic;
      auto& topic = response.responses.emplace_back();
      topic.name = current->name;
      topic.topic_id = current->topic_id;
    }
    const AppendResult result = group.result(i);
    auto& partition = response.responses.back().partition_responses.emplace_back();
    partition.index = slots[i].partition->index;
    partition.error_code = result.status.code();
    partition.base_offset = result.base_offset;
    partition.log_append_time_ms = result.log_append_time_ms;
    partition.log_start_offset = result.log_start_offset;
    if (!result.status.ok()) {
      partition.base_offset = kNoOffset;
      if (const auto hint = hints.hint(partition.error_code, current->name, current->topic_id, partition.index)) {
        partition.current_leader = {.leader_id = hint->leader, .leader_epoch = hint->epoch};
      }
      partition.error_message = result.status.message().empty() ? std::string(describe(result.status.code()).meaning)
                                                                : result.status.message();
    }
    if (!blames_records(partition.error_code)) continue;
    for (const RejectedRecord& rejected : slots[i].rejected) {
      partition.record_errors.push_back({.batch_index = rejected.index, .batch_index_error_message = rejected.reason});
    }
  }
  hints.fill_endpoints(response.node_endpoints);
  return response;
}

// Gives up at the request's own timeout, or when there is nobody to be answered any more, as when the broker stops: its
// followers may be gone, too. What was appended may still become durable, and the error says so.
Task<void> wait_for_acks(const BrokerServices& services, CancelToken cut_off, std::shared_ptr<AppendGroup> group,
                         Milliseconds timeout) {
  if (group->finished()) co_return;
  const auto timer = services.scheduler.start_timer(services.clock.now() + timeout, [group] { group->give_up(); });
  const CancelCallback on_cut_off(cut_off, [group] { group->give_up(); });
  co_await group->settled();
  services.scheduler.cancel_timer(timer);
}

// acks=0 has no response; a failure is told by closing the connection.
Response answer_without_response(const std::vector<Slot>& slots, const AppendGroup& group) {
  for (size_t i = 0; i < slots.size(); ++i) {
    const Status status = group.result(i).status;
    if (!status.ok()) {
      return close_connection(fmt::format("produce with acks=0 to {}-{} failed: {}", slots[i].topic->name,
                                          slots[i].partition->index, status.to_string()));
    }
  }
  return {};
}

}  // namespace

Task<Response> handle_produce(const BrokerServices& services, const RequestContext& context,
                              kafka::WireReader& reader) {
  kafka::ProduceRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  std::vector<Slot> slots = slots_of(request);
  const auto group = std::make_shared<AppendGroup>(slots.size());
  // The requests behind this one wait until it has its place in the logs.
  const bool long_work = takes_long(slots, context.frame.size());
  const bool transactional = has_transactional_batch(slots);
  bool held = long_work || transactional;
  if (held) context.connection->hold_requests();
  Turns turns(services, context, held ? Turns::Order::free : Turns::Order::kept);
  if (transactional) {
    if (Status refused = problem_with_transactional_id(services, context, request); !refused.ok()) {
      for (Slot& slot : slots) slot.unverified = refused;
    } else {
      co_await verify_transactions(services, context, *request.transactional_id, slots);
    }
  }
  const auto hold = [&] {
    if (std::exchange(held, true)) return;
    context.connection->hold_requests();
    turns.settled();  // turns that end later do so on another thread
  };
  bool on_worker = false;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!long_work) co_await turns.step();
    if (services.unsynced_logs.full()) {
      hold();
      co_await services.unsynced_logs.some_room();
      on_worker = false;
    }
    if (long_work && !std::exchange(on_worker, true)) co_await to_worker(services.scheduler);
    if (start_append(services, context, request.acks, slots[i], group, i, false)) continue;
    // Each batch that has to be recompressed waits for its turn among all work for workers, such as syncs.
    hold();
    co_await to_worker(services.scheduler);
    start_append(services, context, request.acks, slots[i], group, i, true);
  }
  if (held) context.connection->release_requests();
  turns.settled();
  context.times.mark(RequestStage::handled, services.clock.now());
  if (to_acks(request.acks) == Acks::none) {
    co_await group->settled();  // soon: it waits for the append, not for the disk, so the timeout has no say
    co_return answer_without_response(slots, *group);
  }
  co_await wait_for_acks(services, context.connection->cut_off(), group, Milliseconds(std::max(request.timeout_ms, 0)));
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, build_response(services, context, slots, *group));
}

}  // namespace naru
