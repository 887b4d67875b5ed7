// Arbitrary records, some of them in transactions: they are applied or refused, and whatever was applied can be served,
// replayed and left again.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "consumer_groups/group_coordinator.h"
#include "foundation/assert.h"
#include "foundation/log.h"

namespace naru {
namespace {

struct FuzzedRecord {
  CoordinatorRecord record;  // with an empty key it is a marker
  std::optional<ProducerIdentity> producer;
  TransactionResult result = TransactionResult::abort;
};

// Sizes in front: one byte for the key, two for the value; an odd first byte of the value's size means a tombstone. No
// key: the next record is pending, or a transaction ends; the other two bytes tell which producer's, and how.
std::vector<FuzzedRecord> records_in(BytesView input) {
  std::vector<FuzzedRecord> records;
  std::optional<ProducerIdentity> producer;
  while (input.size() >= 3) {
    const auto key_size = static_cast<size_t>(input[0]);
    const auto value_size = static_cast<size_t>(input[1]) / 2 * 256 + static_cast<size_t>(input[2]);
    const bool is_tombstone = (static_cast<unsigned>(input[1]) & 1U) != 0;
    input = input.subspan(3);
    if (key_size == 0) {
      const ProducerIdentity named{ProducerId(static_cast<int64_t>(value_size % 4)), ProducerEpoch(0)};
      if (value_size / 4 % 2 == 0) {
        producer = named;
      } else {
        records.push_back({{}, named, is_tombstone ? TransactionResult::abort : TransactionResult::commit});
      }
      continue;
    }
    const BytesView key = input.first(std::min(key_size, input.size()));
    input = input.subspan(key.size());
    const BytesView value = input.first(std::min(is_tombstone ? 0 : value_size, input.size()));
    input = input.subspan(value.size());
    records.push_back({.record = {}, .producer = std::exchange(producer, std::nullopt)});
    CoordinatorRecord& record = records.back().record;
    record.key.assign(key.begin(), key.end());
    if (!is_tombstone) record.value.emplace(value.begin(), value.end());
  }
  return records;
}

Status apply_record(GroupCoordinator& coordinator, const FuzzedRecord& fuzzed) {
  const CoordinatorRecord& record = fuzzed.record;
  const auto value = record.value ? std::optional<BytesView>(*record.value) : std::nullopt;
  if (!fuzzed.producer) return coordinator.apply(record.key, value);
  if (!record.key.empty()) return coordinator.apply_pending(*fuzzed.producer, record.key, value);
  return coordinator.apply_marker(*fuzzed.producer, {fuzzed.result, 0});
}

void run(BytesView input) {
  GroupCoordinator coordinator({});
  std::vector<FuzzedRecord> log;
  for (FuzzedRecord& record : records_in(input)) {
    if (apply_record(coordinator, record).ok()) log.push_back(std::move(record));
  }
  // Nobody is heard of: all sessions end, all groups become empty.
  CoordinatorTime time{MonotonicTime{}, 1'700'000'000'000};
  coordinator.loaded(time);
  CoordinatorOutcome outcome;
  for (int i = 0; i < 1000 && coordinator.next_deadline(); ++i) {
    time.now = std::max(time.now, *coordinator.next_deadline());
    coordinator.on_timer(time, outcome);
  }
  for (CoordinatorRecord& record : outcome.records) log.push_back({.record = std::move(record), .producer = {}});
  GroupCoordinator replayed({});
  for (const FuzzedRecord& record : log) {
    NARU_ASSERT(apply_record(replayed, record).ok(), "what was applied once is applied again");
  }
  NARU_ASSERT(replayed.durable_state() == coordinator.durable_state(), "live state equals replay");
  coordinator.unload(Status(ErrorCode::not_coordinator));
}

}  // namespace
}  // namespace naru

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  naru::silence_log();
  naru::run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
