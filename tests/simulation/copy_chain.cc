#include "simulation/copy_chain.h"

#include <algorithm>
#include <utility>

#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "record_format/batch_builder.h"
#include "simulation/committed_reader.h"

namespace naru::simulation {
namespace {

constexpr Duration kCallTimeout = 20s;
constexpr int16_t kProduceVersion = 9;
constexpr uint64_t kMostPadding = 40;

std::string name_of(const PartitionName& partition) {
  return fmt::format("{}-{}", partition.first, partition.second);
}

}  // namespace

std::vector<std::string> CopyChain::topics() const {
  std::vector<std::string> topics;
  if (plan_.copy_stages == 0) return topics;
  for (int i = 0; i <= plan_.copy_stages; ++i) topics.push_back(fmt::format("chain-{}", i));
  return topics;
}

Task<void> CopyChain::pause(Duration longest) {
  const Duration length(static_cast<int64_t>(1 + seams_.random.below(static_cast<uint64_t>(longest.count()))));
  ignore(co_await sleep_until(seams_.scheduler, seams_.clock.now() + length));
}

Copier CopyChain::copier(int stage) {
  const auto all = topics();
  return {{.seams = seams_,
           .brokers = brokers_,
           .history = history_,
           .stopping = stopping_,
           .committing = committing_,
           .partitions = plan_.copy_partitions,
           .pause = plan_.copy_pause},
          {.from = all.at(static_cast<size_t>(stage)), .to = all.at(static_cast<size_t>(stage) + 1)}};
}

Task<void> CopyChain::copy(int stage) {
  Copier one = copier(stage);
  co_await one.run();
}

PartitionName CopyChain::random_partition(bool but_last) {
  const auto all = topics();
  return {all[seams_.random.below(all.size() - (but_last ? 1 : 0))],
          PartitionIndex(static_cast<int32_t>(seams_.random.below(static_cast<uint64_t>(plan_.copy_partitions))))};
}

Task<void> CopyChain::write_sources() {
  while (!stopping_) {
    PartitionName partition = random_partition(true);
    if (!seams_.random.one_in(4)) partition.first = topics().front();
    if (const auto client = co_await brokers_.leader(partition, nullptr)) {
      co_await write_source(client, partition);
      client->close();
    }
    co_await pause(plan_.copy_pause);
  }
}

Task<void> CopyChain::write_source(std::shared_ptr<KafkaClient> client, PartitionName partition) {
  std::vector<std::string> values;
  BatchBuilder builder;
  for (uint64_t i = 0, count = 1 + seams_.random.below(6); i < count; ++i) {
    const CopiedValue value{.number = history_.new_number()};
    values.push_back(value.to_string(seams_.random.below(kMostPadding)));
    builder.add(seams_.clock.wall_now_ms(), value.key(), values.back());
    history_.source_sent(partition, values.back());
  }
  const Bytes batch = builder.build().value();
  kafka::ProduceRequest request{.acks = -1, .timeout_ms = 10'000};
  request.topic_data.push_back({.name = partition.first});
  request.topic_data.back().partition_data.push_back({.index = partition.second, .records = batch});
  const auto response = co_await client->call<kafka::ProduceResponse>(request, kProduceVersion, kCallTimeout);
  if (!response) co_return;
  const ErrorCode error = response->responses.at(0).partition_responses.at(0).error_code;
  if (error != ErrorCode::none) co_return brokers_.forget(partition);
  for (const std::string& value : values) history_.source_acknowledged(value);
}

Task<void> CopyChain::read() {
  std::map<PartitionName, Offset> positions;
  std::shared_ptr<KafkaClient> client;
  while (!stopping_) {
    const PartitionName partition = random_partition(false);
    client = co_await brokers_.leader(partition, client);
    if (!client) {
      co_await pause(200ms);
      continue;
    }
    if (seams_.random.one_in(20)) positions[partition] = Offset(0);
    const auto got = co_await read_committed(client, seams_, history_, partition,
                                             brokers_.known_leader(partition).epoch, positions[partition]);
    if (got) {
      positions[partition] = got->next;
    } else {
      brokers_.forget(partition);
    }
    co_await pause(plan_.copy_pause);
  }
  if (client) client->close();
}

// ---- at the end

bool CopyChain::is_excused(ErrorCode error) const {
  return plan_.faults.io_errors &&
         (error == ErrorCode::kafka_storage_error || error == ErrorCode::not_coordinator ||
          error == ErrorCode::coordinator_not_available || error == ErrorCode::network_exception);
}

Task<void> CopyChain::finish(Duration limit) {
  const auto all = topics();
  if (all.empty()) co_return;
  for (int stage = 0; stage < plan_.copy_stages; ++stage) {
    Copier one = copier(stage);
    if (co_await one.finish(limit)) continue;
    if (is_excused(one.last_error())) co_return;
    co_return failed_(fmt::format("{} is not copied to its end although everything is healed: {}",
                                  all[static_cast<size_t>(stage)], describe(one.last_error()).name));
  }
  for (const std::string& topic : all) {
    for (int index = 0; index < plan_.copy_partitions; ++index) {
      const PartitionName partition{topic, PartitionIndex(index)};
      if (!co_await check_stable_end(partition, seams_.clock.now() + limit)) co_return;
      if (!co_await read_whole(partition, seams_.clock.now() + limit)) co_return;
    }
  }
  history_.check_chain(all, plan_.copy_partitions);
}

// No transaction hangs.
Task<bool> CopyChain::check_stable_end(PartitionName partition, MonotonicTime deadline) {
  Result<Offset> end = failure(Status(ErrorCode::network_exception));
  Result<Offset> stable = end;
  while (seams_.clock.now() < deadline) {
    end = co_await end_of_partition(brokers_, partition, false);
    stable = co_await end_of_partition(brokers_, partition, true);
    if (end && stable && *end == *stable) co_return true;
    co_await pause(200ms);
  }
  const ErrorCode error = end ? ErrorCode::none : end.error().code();
  if (!is_excused(error)) {
    failed_(fmt::format("{}: the last stable offset is {} and the end {} although everything is healed: {}",
                        name_of(partition), stable.value_or(kNoOffset), end.value_or(kNoOffset), describe(error).name));
  }
  co_return false;
}

Task<bool> CopyChain::read_whole(PartitionName partition, MonotonicTime deadline) {
  CopyHistory::Records records;
  Offset position{0};
  while (seams_.clock.now() < deadline) {
    const auto end = co_await end_of_partition(brokers_, partition, true);
    const auto client = co_await brokers_.leader(partition, nullptr);
    while (client && end && position < *end) {
      auto read = co_await read_committed(client, seams_, history_, partition, brokers_.known_leader(partition).epoch,
                                          position);
      if (!read || read->next == position) break;
      records.insert(records.end(), read->records.begin(), read->records.end());
      position = read->next;
    }
    if (client) client->close();
    if (end && position >= *end) {
      history_.final_content(partition, records);
      co_return true;
    }
    brokers_.forget(partition);
    co_await pause(200ms);
  }
  failed_(fmt::format("{}: nothing to read at {} although everything is healed", name_of(partition), position));
  co_return false;
}

}  // namespace naru::simulation
