// Fetch: read what is there; if that is too little, park until there is more or the client's patience ends.
//
// A parked fetch costs a timer and one entry per partition, no polling. The append that satisfies it resumes it on its
// own thread, which reads again and answers straight to the socket.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

#include "async/wakeup.h"
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "kafka_protocol/messages/fetch_request.h"
#include "kafka_protocol/messages/fetch_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithZstd = 10;
constexpr int16_t kFirstVersionWithTopicIds = 13;
constexpr int16_t kFirstVersionWithReplicaState = 15;
constexpr int8_t kReadUncommitted = 0;

// A partition of the request with what was found in it.
struct Target {
  const kafka::FetchRequest::FetchTopic* topic;
  const kafka::FetchRequest::FetchPartition* wanted;
  HostedPartition hosted;
  PartitionView view;
};

class ParkedFetch final : public FetchWatcher {
 public:
  ParkedFetch(uint64_t id, uint64_t bytes_wanted) : FetchWatcher(id), bytes_wanted_(bytes_wanted) {}

  void more_to_read(uint64_t bytes) override {
    if (bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes >= bytes_wanted_) wakeup_.wake();
  }
  void state_changed() override { wakeup_.wake(); }
  void give_up() { wakeup_.wake(); }
  OneShot<>& woken() { return wakeup_.event(); }

 private:
  const uint64_t bytes_wanted_;
  std::atomic<uint64_t> bytes_{0};
  Wakeup wakeup_;
};

std::vector<Target> find_targets(const BrokerServices& services, const RequestContext& context,
                                 const kafka::FetchRequest& request) {
  const bool by_id = context.version >= kFirstVersionWithTopicIds;
  std::vector<Target> targets;
  for (const auto& topic : request.topics) {
    for (const auto& wanted : topic.partitions) {
      Target target{.topic = &topic, .wanted = &wanted};
      target.hosted = by_id ? services.partitions.find(topic.topic_id, wanted.partition)
                            : services.partitions.find(topic.topic, wanted.partition);
      if (!target.hosted) {
        target.view.status =
            target.hosted.why_missing(by_id ? ErrorCode::unknown_topic_id : ErrorCode::unknown_topic_or_partition);
      } else if (!services.authorizer.authorize(context, Operation::read, ResourceType::topic,
                                                target.hosted.partition->identity().topic)) {
        target.hosted = {};
        target.view.status = Status(ErrorCode::topic_authorization_failed);
      }
      targets.push_back(std::move(target));
    }
  }
  return targets;
}

// Old clients must not get zstd. Whether a stored batch is compressed with it, only its header tells.
Result<bool> contains_zstd(const LogSlice& slice) {
  for (uint64_t position = slice.position; position < slice.position + slice.bytes;) {
    std::array<std::byte, kBatchHeaderSize> bytes;
    NARU_TRY_ASSIGN(const size_t got, slice.file->read_at(position, bytes));
    NARU_TRY_ASSIGN(const BatchHeader header, parse_batch_header(BytesView(bytes).first(got)));
    if (header.compression() == Compression::zstd) return true;
    position += header.total_size;
  }
  return false;
}

uint64_t bytes_limit(const BrokerServices& services, const kafka::FetchRequest& request) {
  return static_cast<uint64_t>(std::clamp(request.max_bytes, 0, services.config.fetch_max_bytes));
}

// Reads all targets, in the order of the request, within the request's limits. Returns the number of bytes found.
Task<uint64_t> read_targets(const BrokerServices& services, const RequestContext& context,
                            const kafka::FetchRequest& request, std::vector<Target>& targets) {
  const uint64_t limit = bytes_limit(services, request);
  uint64_t total = 0;
  for (Target& target : targets) {
    if (!target.hosted) continue;
    const uint64_t left = limit > total ? limit - total : 0;
    const auto wanted = static_cast<uint64_t>(std::max(target.wanted->partition_max_bytes, 0));
    // The first partition with data returns at least one batch, however large: else a client could never pass it.
    const ReadRequest read{.from = target.wanted->fetch_offset,
                           .current_leader_epoch = target.wanted->current_leader_epoch,
                           .max_bytes = static_cast<uint32_t>(std::min(wanted, left)),
                           .at_least_one_batch = total == 0};
    target.view = co_await target.hosted.partition->read(read);
    if (context.version < kFirstVersionWithZstd && !target.view.slice.empty()) {
      const auto zstd = contains_zstd(target.view.slice);
      if (!zstd || *zstd) {
        target.view.status = zstd ? Status(ErrorCode::unsupported_compression_type) : zstd.error();
        target.view.slice = {};
      }
    }
    total += target.view.slice.bytes;
  }
  co_return total;
}

// A read ends with its segment; what lies behind it is there already, and nobody would wake a fetch that waits for it.
bool more_to_read(const std::vector<Target>& targets) {
  return std::ranges::any_of(targets, [](const Target& target) {
    const LogSlice& slice = target.view.slice;
    return !slice.empty() && slice.next_offset < target.view.high_watermark;
  });
}

bool any_error(const std::vector<Target>& targets) {
  return std::ranges::any_of(targets, [](const Target& target) { return !target.view.status.ok(); });
}

Task<void> park(const BrokerServices& services, const RequestContext& context, const std::vector<Target>& targets,
                uint64_t bytes_missing, Milliseconds patience) {
  const auto parked = std::make_shared<ParkedFetch>(services.next_watcher_id(), bytes_missing);
  const auto timer = services.scheduler.start_timer(services.clock.now() + patience, [parked] { parked->give_up(); });
  {
    const CancelCallback client_gone(context.connection->gone(), [parked] { parked->give_up(); });
    for (const Target& target : targets) target.hosted.partition->watch(parked, target.view.committed_bytes);
    co_await parked->woken();
  }
  context.times.skip_wait(services.clock.now());
  services.scheduler.cancel_timer(timer);
  for (const Target& target : targets) target.hosted.partition->unwatch(parked->id());
}

// Data that was not read for long is not in memory, and sendfile would stop the whole loop until it is.
Task<void> warm_cold_data(const BrokerServices& services, const std::vector<Target>& targets) {
  std::vector<LogSlice> cold;
  for (const Target& target : targets) {
    const LogSlice& slice = target.view.slice;
    const bool at_the_end = slice.next_offset >= target.view.high_watermark;  // written a moment ago
    if (!slice.empty() && !at_the_end && !slice.file->is_cached(slice.position, slice.bytes)) cold.push_back(slice);
  }
  if (cold.empty()) co_return;
  co_await on_worker(services.scheduler, [&cold] {
    for (const LogSlice& slice : cold) slice.file->warm(slice.position, slice.bytes);
  });
}

Response build_response(const RequestContext& context, const kafka::FetchRequest& request,
                        const std::vector<Target>& targets) {
  kafka::FetchResponse response;
  std::vector<FileRange> files;
  const kafka::FetchRequest::FetchTopic* current = nullptr;
  for (const Target& target : targets) {
    if (target.topic != current) {
      current = target.topic;
      auto& topic = response.responses.emplace_back();
      topic.topic = current->topic;
      topic.topic_id = current->topic_id;
    }
    auto& partition = response.responses.back().partitions.emplace_back();
    const PartitionView& view = target.view;
    partition.partition_index = target.wanted->partition;
    partition.error_code = view.status.code();
    partition.high_watermark = view.high_watermark;
    partition.last_stable_offset = view.high_watermark;
    partition.log_start_offset = view.log_start_offset;
    // Null, not empty, unless the reader asked for committed records only.
    if (request.isolation_level == kReadUncommitted) partition.aborted_transactions.reset();
    if (view.slice.empty()) continue;
    partition.records = kafka::ExternalRecords{.id = files.size(), .size = view.slice.bytes};
    files.push_back({.file = view.slice.file, .position = view.slice.position, .length = view.slice.bytes});
  }
  return encode_reply(context, response, files);
}

Response refuse(const RequestContext& context, ErrorCode code) {
  kafka::FetchResponse response;
  response.error_code = code;
  return encode_reply(context, response);
}

bool from_replica(const RequestContext& context, const kafka::FetchRequest& request) {
  const BrokerId replica =
      context.version >= kFirstVersionWithReplicaState ? request.replica_state.replica_id : request.replica_id;
  return replica >= BrokerId(0);
}

}  // namespace

Task<Response> handle_fetch(const BrokerServices& services, const RequestContext& context, kafka::WireReader& reader) {
  kafka::FetchRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);
  // We never hand out a session, so a client that names one talks about somebody else's.
  if (request.session_id != 0) co_return refuse(context, ErrorCode::fetch_session_id_not_found);
  if (from_replica(context, request)) co_return close_connection("a fetch in the name of a broker, from a client");

  std::vector<Target> targets = find_targets(services, context, request);
  uint64_t found = co_await read_targets(services, context, request, targets);

  // Never more than the response may hold, or it would always wait in vain.
  const auto min_bytes =
      std::min(static_cast<uint64_t>(std::max(request.min_bytes, 0)), bytes_limit(services, request));
  const MonotonicTime deadline = context.received + Milliseconds(request.max_wait_ms);
  const auto patience = std::chrono::ceil<Milliseconds>(deadline - services.clock.now());
  if (found < min_bytes && patience > Milliseconds(0) && !targets.empty() && !any_error(targets) &&
      !more_to_read(targets)) {
    co_await park(services, context, targets, min_bytes - found, patience);
    co_await read_targets(services, context, request, targets);
  }
  co_await warm_cold_data(services, targets);
  co_return build_response(context, request, targets);
}

}  // namespace naru
