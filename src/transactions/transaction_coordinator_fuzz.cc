// Arbitrary records: they are applied or refused, and whatever was applied can be served, replayed and left again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "foundation/assert.h"
#include "foundation/log.h"
#include "transactions/transaction_coordinator.h"

namespace naru {
namespace {

class ForgottenMarkers final : public MarkerSink {
 public:
  void send(const MarkersWanted& wanted) override {
    NARU_ASSERT(!wanted.partitions.empty(), "markers for nothing");
    orders.push_back({wanted.transactional_id, wanted.producer, wanted.number});
  }
  std::vector<MarkersWritten> orders;
};

// Sizes in front: one byte for the key, two for the value; an odd first byte of the value's size means a tombstone.
std::vector<CoordinatorRecord> records_of(BytesView input) {
  std::vector<CoordinatorRecord> records;
  while (input.size() >= 3) {
    const auto key_size = static_cast<size_t>(input[0]);
    const auto value_size = static_cast<size_t>(input[1]) / 2 * 256 + static_cast<size_t>(input[2]);
    const bool is_tombstone = (static_cast<unsigned>(input[1]) & 1U) != 0;
    input = input.subspan(3);
    const BytesView key = input.first(std::min(key_size, input.size()));
    input = input.subspan(key.size());
    const BytesView value = input.first(std::min(is_tombstone ? 0 : value_size, input.size()));
    input = input.subspan(value.size());
    CoordinatorRecord& record = records.emplace_back();
    record.key.assign(key.begin(), key.end());
    if (!is_tombstone) record.value.emplace(value.begin(), value.end());
  }
  return records;
}

Status apply_one(TransactionCoordinator& coordinator, const CoordinatorRecord& record) {
  return coordinator.apply(record.key, record.value ? std::optional<BytesView>(*record.value) : std::nullopt);
}

// Every producer adds a partition and commits; then time passes until all are forgotten.
void serve(TransactionCoordinator& coordinator, ForgottenMarkers& sink, CoordinatorOutcome& outcome) {
  CoordinatorTime time{MonotonicTime{}, 1'700'000'000'000};
  coordinator.loaded(time);
  const DurableTransactions before = coordinator.durable_state();
  for (const auto& [id, stored] : before) {
    coordinator.add_partitions(
        {.transactional_id = id, .producer = stored.producer, .partitions = {{"t", PartitionIndex(0)}}},
        [](const Result<AddPartitionsAnswer>&) {}, time, outcome);
    coordinator.end(
        {.transactional_id = id,
         .producer = stored.producer,
         .result = TransactionResult::commit,
         .version = stored.version,
         .fresh_id = ProducerId(1)},
        [](const Result<EndTransactionAnswer>&) {}, time, outcome);
    coordinator.init_producer(
        {.transactional_id = id, .timeout_ms = 1000, .fresh_id = ProducerId(2)},
        [](const Result<InitProducerAnswer>&) {}, time, outcome);
  }
  for (int i = 0; i < 1000 && coordinator.next_deadline(); ++i) {
    for (auto& reply : std::exchange(outcome.replies, {})) reply(Status());
    for (const MarkersWritten& written : std::exchange(sink.orders, {})) {
      coordinator.markers_written(written, time, outcome);
    }
    const Duration passed = std::max(time.now, *coordinator.next_deadline()) - time.now;
    time.now += passed;
    time.wall_ms += std::chrono::duration_cast<Milliseconds>(passed).count();
    coordinator.on_timer(time, outcome);
  }
}

void run_transactions(BytesView input) {
  ForgottenMarkers sink;
  TransactionCoordinator coordinator({}, sink);
  std::vector<CoordinatorRecord> log;
  for (CoordinatorRecord& record : records_of(input)) {
    if (apply_one(coordinator, record).ok()) log.push_back(std::move(record));
  }
  CoordinatorOutcome outcome;
  serve(coordinator, sink, outcome);
  for (CoordinatorRecord& record : outcome.records) log.push_back(std::move(record));
  TransactionCoordinator replayed({}, sink);
  for (const CoordinatorRecord& record : log) {
    NARU_ASSERT(apply_one(replayed, record).ok(), "what was applied once is applied again");
  }
  NARU_ASSERT(replayed.durable_state() == coordinator.durable_state(), "live state equals replay");
  coordinator.unload(Status(ErrorCode::not_coordinator));
  for (auto& reply : outcome.replies) reply(Status(ErrorCode::not_coordinator));
}

}  // namespace
}  // namespace naru

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  naru::silence_log();
  naru::run_transactions({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
