// Arbitrary records: they are applied or refused, and whatever was applied can be served, replayed and left again.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "consumer_groups/group_coordinator.h"
#include "foundation/assert.h"
#include "foundation/log.h"

namespace naru {
namespace {

// Sizes in front: one byte for the key, two for the value; an odd first byte of the value's size means a tombstone.
std::vector<CoordinatorRecord> records_in(BytesView input) {
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

Status apply_record(GroupCoordinator& coordinator, const CoordinatorRecord& record) {
  return coordinator.apply(record.key, record.value ? std::optional<BytesView>(*record.value) : std::nullopt);
}

void run(BytesView input) {
  GroupCoordinator coordinator({});
  std::vector<CoordinatorRecord> log;
  for (CoordinatorRecord& record : records_in(input)) {
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
  for (CoordinatorRecord& record : outcome.records) log.push_back(std::move(record));
  GroupCoordinator replayed({});
  for (const CoordinatorRecord& record : log) {
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
