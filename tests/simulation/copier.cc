#include "simulation/copier.h"

#include <algorithm>
#include <utility>

#include "kafka_protocol/messages/list_offsets_request.h"
#include "kafka_protocol/messages/list_offsets_response.h"
#include "simulation/committed_reader.h"

namespace naru::simulation {
namespace {

constexpr Duration kCallTimeout = 20s;
constexpr int16_t kListOffsetsVersion = 7;
constexpr int32_t kTransactionTimeoutMs = 2000;
constexpr size_t kMostBatches = 3;
constexpr uint64_t kMostPadding = 30;

// The coordinator has aborted it, says the answer to a commit: TRANSACTION_ABORTABLE to clients of version 2, the other
// one to those of version 1.
bool is_refusal(ErrorCode error) {
  return error == ErrorCode::transaction_abortable || error == ErrorCode::invalid_producer_id_mapping;
}

// In up to three batches.
std::vector<TransactionalClient::Records> in_batches(const TransactionalClient::Records& records, Random& random) {
  std::vector<TransactionalClient::Records> batches(1);
  for (const auto& record : records) {
    if (!batches.back().empty() && batches.size() < kMostBatches && random.one_in(3)) batches.emplace_back();
    batches.back().push_back(record);
  }
  return batches;
}

}  // namespace

Task<Result<Offset>> end_of_partition(BrokerDirectory& brokers, PartitionName partition, bool committed) {
  const auto client = co_await brokers.leader(partition, nullptr);
  if (!client) co_return failure(Status(ErrorCode::network_exception));
  kafka::ListOffsetsRequest request{.isolation_level = static_cast<int8_t>(committed ? 1 : 0)};
  request.topics.push_back({.name = partition.first});
  request.topics.back().partitions.push_back({.partition_index = partition.second,
                                              .current_leader_epoch = brokers.known_leader(partition).epoch,
                                              .timestamp = -1});
  const auto response = co_await client->call<kafka::ListOffsetsResponse>(request, kListOffsetsVersion, kCallTimeout);
  client->close();
  if (!response) co_return failure(response.error());
  const auto& result = response->topics.at(0).partitions.at(0);
  if (result.error_code == ErrorCode::none) co_return result.offset;
  brokers.forget(partition);
  co_return failure(Status(result.error_code));
}

Task<void> Copier::pause(Duration longest) {
  const Duration length(static_cast<int64_t>(1 + context_.seams.random.below(static_cast<uint64_t>(longest.count()))));
  ignore(co_await sleep_until(context_.seams.scheduler, context_.seams.clock.now() + length));
}

bool Copier::is_over() const {
  return deadline_ ? context_.seams.clock.now() >= *deadline_ : context_.stopping;
}

// An id survives its clients, and so it may come from a client of version 1 to one of version 2, and back.
std::shared_ptr<TransactionalClient> Copier::new_client() {
  return std::make_shared<TransactionalClient>(
      context_.seams, context_.brokers,
      TransactionalClient::Settings{.transactional_id = stage_.name(),
                                    .version = static_cast<int16_t>(context_.seams.random.one_in(2) ? 1 : 2),
                                    .timeout_ms = kTransactionTimeoutMs,
                                    .is_calm = is_calm()},
      [this] { return is_over(); });
}

Task<void> Copier::run() {
  while (!is_over()) {
    co_await live(new_client());
    co_await pause(context_.pause);
  }
  co_await replaced_.join();
}

Task<void> Copier::live(std::shared_ptr<TransactionalClient> client) {
  bool has_begun = false;
  while (!is_over()) {
    has_begun = has_begun || co_await begin(*client);
    if (!has_begun) break;
    const Next next = co_await copy_some(client);
    if (next == Next::be_replaced) co_return;
    if (next == Next::die) break;
    if (next == Next::begin_again) has_begun = false;
    co_await pause(context_.pause);
  }
  co_await client->close();
}

Task<bool> Copier::begin(TransactionalClient& client) {
  const bool has_begun = co_await client.begin();
  last_error_ = client.last_error();
  if (!has_begun) co_return false;
  for (int index = 0; index < context_.partitions; ++index) {
    const auto position = co_await client.position(stage_.name(), source(index));
    last_error_ = client.last_error();
    if (!position) co_return false;
    positions_[source(index)] = *position;
  }
  co_return true;
}

Task<Copier::Copies> Copier::read_some(uint64_t transaction) {
  Random& random = context_.seams.random;
  Copies copies;
  for (int index = 0; index < context_.partitions; ++index) {
    if (context_.partitions > 1 && chance(3)) continue;
    const PartitionName from = source(index);
    const auto client = co_await context_.brokers.leader(from, nullptr);
    if (!client) continue;
    const auto read = co_await read_committed(client, context_.seams, context_.history, from,
                                              context_.brokers.known_leader(from).epoch, positions_[from]);
    client->close();
    if (!read) {
      last_error_ = read.error().code();
      context_.brokers.forget(from);
      continue;
    }
    const size_t count = is_calm() ? read->records.size() : std::min(read->records.size(), 1 + random.below(8));
    auto& records = copies.records[{stage_.to, from.second}];
    for (size_t i = 0; i < count; ++i) {
      const auto original = CopiedValue::parse(read->records[i].second);
      if (!original) continue;
      const CopiedValue copy{.number = original->number, .transaction = transaction};
      records.emplace_back(copy.key(), copy.to_string(random.below(kMostPadding)));
    }
    // Past markers and what was aborted, too, where everything before was taken.
    const Offset next = count == read->records.size() ? read->next : read->records[count - 1].first + 1;
    if (records.empty()) {
      copies.records.erase({stage_.to, from.second});
      positions_[from] = next;
    } else {
      copies.positions[from] = next;
    }
  }
  co_return copies;
}

Task<Copier::Next> Copier::copy_some(std::shared_ptr<TransactionalClient> client) {
  const uint64_t transaction = context_.history.new_transaction();
  const Copies copies = co_await read_some(transaction);
  if (copies.records.empty()) co_return Next::wait;
  for (const auto& [partition, records] : copies.records) {
    for (const auto& [key, value] : records) context_.history.sent(transaction, partition, value);
  }
  if (chance(15)) {
    const auto& [partition, records] = *copies.records.begin();
    co_await client->write_and_give_up(partition, records);
    co_return !chance(2) && co_await client->end(false) ? Next::go_on : Next::die;
  }
  if (chance(15)) {
    replaced_.spawn(go_on_replaced(client, transaction, copies));
    co_return Next::be_replaced;
  }
  const bool is_written = co_await write(*client, copies);
  last_error_ = client->last_error();
  if (chance(20)) co_return Next::die;
  if (!is_written) co_return chance(2) ? Next::die : Next::begin_again;
  if (chance(20)) {  // longer than a transaction may last: it does not know that it was aborted
    ignore(co_await sleep_until(context_.seams.scheduler,
                                context_.seams.clock.now() + Milliseconds(kTransactionTimeoutMs) + 1s));
  }
  co_return co_await end(*client, transaction, copies);
}

// It may come first with all or a part of it; but either it or who has replaced it commits, and never both.
Task<void> Copier::go_on_replaced(std::shared_ptr<TransactionalClient> client, uint64_t transaction, Copies copies) {
  co_await pause(context_.pause);
  const bool is_written = co_await write(*client, copies);
  co_await pause(1s);
  if (is_written) co_await commit(*client, transaction);
  co_await client->close();
}

// The positions may be sent before the records or behind them.
Task<bool> Copier::write(TransactionalClient& client, const Copies& copies) {
  const bool positions_first = chance(3);
  if (positions_first && !co_await client.send_offsets(stage_.name(), copies.positions)) co_return false;
  for (const auto& [partition, records] : copies.records) {
    if (!co_await client.write(partition, in_batches(records, context_.seams.random))) co_return false;
  }
  co_return positions_first || co_await client.send_offsets(stage_.name(), copies.positions);
}

Task<bool> Copier::commit(TransactionalClient& client, uint64_t transaction) {
  context_.history.commit_asked(transaction);
  context_.committing.insert(stage_.name());
  const bool is_committed = co_await client.end(true);
  context_.committing.erase(stage_.name());
  if (is_committed) context_.history.committed(transaction);
  if (!is_committed && is_refusal(client.last_error())) context_.history.refused(transaction);
  co_return is_committed;
}

Task<Copier::Next> Copier::end(TransactionalClient& client, uint64_t transaction, const Copies& copies) {
  if (chance(8)) co_return co_await client.end(false) ? Next::go_on : Next::begin_again;
  const bool is_committed = co_await commit(client, transaction);
  last_error_ = client.last_error();
  if (!is_committed) co_return chance(2) ? Next::die : Next::begin_again;
  for (const auto& [partition, position] : copies.positions) positions_[partition] = position;
  co_return Next::go_on;
}

Task<bool> Copier::is_at_the_end() {
  for (int index = 0; index < context_.partitions; ++index) {
    const auto end = co_await end_of_partition(context_.brokers, source(index), false);
    if (!end) last_error_ = end.error().code();
    if (!end || positions_[source(index)] < *end) co_return false;
  }
  co_return true;
}

Task<bool> Copier::finish(Duration limit) {
  deadline_ = context_.seams.clock.now() + limit;
  bool is_done = false;
  while (!is_done && !is_over()) {
    const auto client = new_client();
    bool has_begun = co_await begin(*client);
    while (has_begun && !is_done && !is_over()) {
      const Next next = co_await copy_some(client);
      has_begun = next == Next::go_on || next == Next::wait;
      is_done = next == Next::wait && co_await is_at_the_end();
      if (next == Next::wait && !is_done) co_await pause(context_.pause);
    }
    co_await client->close();
    if (!is_done) co_await pause(context_.pause);
  }
  co_return is_done;
}

}  // namespace naru::simulation
