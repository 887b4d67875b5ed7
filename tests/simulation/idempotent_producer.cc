#include "simulation/idempotent_producer.h"

#include <algorithm>
#include <utility>

#include "async/task_group.h"
#include "kafka_protocol/messages/init_producer_id_request.h"
#include "kafka_protocol/messages/init_producer_id_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "log_storage/producer_state.h"
#include "record_format/batch_builder.h"

namespace naru::simulation {
namespace {

constexpr Duration kCallTimeout = 20s;
constexpr int16_t kProduceVersion = 9, kInitProducerIdVersion = 4;
// So old that a broker whose clock was set back does not find it in its future.
constexpr int64_t kAgeMs = 24 * 3'600'000;

}  // namespace

Task<void> IdempotentProducer::pause(Duration longest) {
  const Seams& seams = context_.seams;
  const Duration length(static_cast<int64_t>(1 + seams.random.below(static_cast<uint64_t>(longest.count()))));
  ignore(co_await sleep_until(seams.scheduler, seams.clock.now() + length));
}

// Nothing when the run stops first.
Task<IdempotentProducer::Client> IdempotentProducer::connect() {
  while (!context_.stopping) {
    if (Client client = co_await context_.brokers.any()) co_return client;
    co_await pause(300ms);
  }
  co_return nullptr;
}

Task<IdempotentProducer::Client> IdempotentProducer::connect_to_leader(const PartitionName& partition) {
  while (!context_.stopping) {
    if (Client client = co_await context_.brokers.leader(partition, nullptr)) co_return client;
    co_await pause(300ms);
  }
  co_return nullptr;
}

Task<void> IdempotentProducer::get_id() {
  while (!id_ && !context_.stopping) {
    const Client client = co_await connect();
    if (!client) co_return;
    kafka::InitProducerIdRequest request;
    request.transactional_id.reset();
    const auto response =
        co_await client->call<kafka::InitProducerIdResponse>(request, kInitProducerIdVersion, kCallTimeout);
    client->close();
    if (response && response->error_code == ErrorCode::none) {
      id_ = response->producer_id;
      cuts_before_id_ = context_.power_cuts;
      next_sequence_.clear();
      if (!context_.ids_given.insert(*id_).second) {
        context_.failed(fmt::format("producer id {} was given out twice", *id_));
      }
      continue;
    }
    if (response && !describe(response->error_code).retriable) {
      context_.failed(fmt::format("no producer id: {}", describe(response->error_code).name));
    }
    co_await pause(200ms);
  }
}

IdempotentProducer::Window IdempotentProducer::next_window(const PartitionName& partition) {
  Random& random = context_.seams.random;
  const auto [next, first] = next_sequence_.try_emplace(partition, 0);
  // The first one alone: a partition that may have forgotten a producer (one with compacted batches, say) lets it begin
  // anywhere, so if the first batch was refused, the second would be taken for the first.
  const bool alone = first && !kSwitches.overlapping_first_batches;
  Window window(alone ? 1 : 1 + random.below(static_cast<uint64_t>(context_.plan.pipeline)));
  for (Batch& batch : window) {
    BatchBuilder builder({.compression = static_cast<Compression>(random.below(5)),
                          .producer_id = *id_,
                          .producer_epoch = ProducerEpoch(0),
                          .base_sequence = next->second});
    const auto count = 1 + random.below(static_cast<uint64_t>(context_.plan.max_batch_records));
    for (uint64_t i = 0; i < count; ++i) {
      batch.values.push_back(fmt::format("{}.{}{}", number_, next_value_++, std::string(random.below(60), '.')));
      builder.add(context_.seams.clock.wall_now_ms() - kAgeMs, key_of(batch.values.back()), batch.values.back());
    }
    batch.bytes = builder.build().value();
    next->second = sequence_after(next->second, static_cast<int32_t>(count));
    context_.history.sent(partition, number_, batch.values);
  }
  return window;
}

bool IdempotentProducer::sequences_may_be_lost() const {
  return context_.plan.promise != Promise::durable && cuts_before_id_ != context_.power_cuts;
}

Task<void> IdempotentProducer::run() {
  context_.history.expect_no_gaps(number_);
  while (!context_.stopping) {
    co_await get_id();
    if (!id_) co_return;
    if (sequences_may_be_lost()) {
      id_.reset();
      continue;
    }
    const PartitionName partition = context_.partitions[context_.seams.random.below(context_.partitions.size())];
    Window window = next_window(partition);
    if (!co_await deliver(partition, window)) id_.reset();
    co_await pause(context_.plan.producer_pause);
  }
}

Task<bool> IdempotentProducer::deliver(const PartitionName& partition, Window& window) {
  while (!std::ranges::all_of(window, &Batch::stored)) {
    co_await attempt(partition, window);
    if (context_.stopping || sequences_may_be_lost() || !may_go_on(partition, window)) co_return false;
    co_await pause(100ms);
  }
  co_return !sequences_may_be_lost();
}

Task<void> IdempotentProducer::attempt(const PartitionName& partition, Window& window) {
  std::vector<Client> clients;
  const int connections = context_.seams.random.one_in(4) ? 2 : 1;
  for (int i = 0; i < connections; ++i) {
    clients.push_back(co_await connect_to_leader(partition));
    if (!clients.back()) clients.pop_back();
  }
  TaskGroup answers;
  for (const Client& client : clients) {
    for (Batch& batch : window) {
      if (batch.stored) continue;
      if (std::exchange(batch.sent, true)) ++context_.repeats;
      answers.spawn(send(client, partition, batch));
    }
  }
  // A hasty one closes before the answers come, and asks again at once.
  if (context_.seams.random.one_in(6)) {
    co_await pause(20ms);
    for (const Client& client : clients) client->close();
  }
  co_await answers.join();
  for (const Client& client : clients) client->close();
}

Task<void> IdempotentProducer::send(Client client, const PartitionName& partition, Batch& batch) {
  // What one replica has promised may go with it, and with it the sequence.
  const bool by_leader_alone = context_.plan.brokers == 1 && context_.seams.random.one_in(3);
  kafka::ProduceRequest request{.acks = static_cast<int16_t>(by_leader_alone ? 1 : -1), .timeout_ms = 10'000};
  request.topic_data.push_back({.name = partition.first});
  request.topic_data.back().partition_data.push_back({.index = partition.second, .records = batch.bytes});
  const uint64_t cuts = context_.power_cuts;
  const auto response = co_await client->call<kafka::ProduceResponse>(request, kProduceVersion, kCallTimeout);
  if (!response) {
    if (!batch.stored) batch.error = ErrorCode::network_exception;  // unknown
    co_return;
  }
  const auto& result = response->responses.at(0).partition_responses.at(0);
  if (result.error_code != ErrorCode::none) {
    if (!batch.stored) batch.error = result.error_code;
    if (result.error_code == ErrorCode::not_leader_or_follower) context_.brokers.forget(partition);
    co_return;
  }
  if (cuts != context_.power_cuts && context_.plan.promise != Promise::durable) co_return;
  batch.stored = true;
  context_.history.acknowledged(partition, result.base_offset, batch.values);
}

bool IdempotentProducer::may_go_on(const PartitionName& partition, const Window& window) {
  const auto first = std::ranges::find(window, false, &Batch::stored);
  if (first == window.end()) return true;
  const bool can_be_repeated = describe(first->error).retriable;
  if (!can_be_repeated) {
    // Everything before it is stored, so it is the next one or a repeated one, and both have to be taken.
    context_.failed(fmt::format("{}-{}: a batch of producer {} that was due got {}", partition.first, partition.second,
                                *id_, describe(first->error).name));
  }
  return can_be_repeated;
}

}  // namespace naru::simulation
