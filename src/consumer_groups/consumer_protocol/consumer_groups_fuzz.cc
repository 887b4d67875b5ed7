// Arbitrary records of groups of the consumer protocol: they are applied or refused, and whatever was applied can be
// served, replayed and left again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "consumer_groups/consumer_protocol/consumer_group_records.h"
#include "consumer_groups/consumer_protocol/consumer_groups.h"
#include "foundation/assert.h"
#include "foundation/log.h"

namespace naru {
namespace {

// One byte chooses the type of the key, two more the sizes; an odd first byte means a tombstone.
std::vector<CoordinatorRecord> consumer_group_records_in(BytesView input) {
  constexpr int16_t kTypes[] = {3, 5, 6, 7, 8, 16};
  std::vector<CoordinatorRecord> records;
  while (input.size() >= 3) {
    const auto choice = static_cast<unsigned>(input[0]);
    const auto key_size = std::min(static_cast<size_t>(input[1]), input.size() - 3);
    const BytesView key = input.subspan(3, key_size);
    const auto value_size = std::min(static_cast<size_t>(input[2]), input.size() - 3 - key_size);
    const BytesView value = input.subspan(3 + key_size, value_size);
    input = input.subspan(3 + key_size + value_size);
    CoordinatorRecord& record = records.emplace_back();
    record.key = {std::byte{0}, static_cast<std::byte>(kTypes[choice / 2 % 6])};
    append_bytes(record.key, key);
    if (choice % 2 == 0) record.value.emplace(value.begin(), value.end());
  }
  return records;
}

void run_consumer_groups(BytesView input) {
  ConsumerGroups groups{ConsumerGroupSettings{}};
  std::vector<CoordinatorRecord> log;
  for (CoordinatorRecord& record : consumer_group_records_in(input)) {
    if (groups.apply(record.key, record.value).ok()) log.push_back(std::move(record));
  }
  CoordinatorTime time{MonotonicTime{}, 1'700'000'000'000};
  groups.loaded(time);
  CoordinatorOutcome outcome;
  std::vector<SubscribableTopic> topics{{.name = "t", .id = Uuid{1, 1}, .partitions = 3}};
  TopicsSweep sweep{.topics = std::make_shared<const SubscribableTopics>(1, topics)};
  while (groups.metadata_changed(sweep, 1, time, outcome)) {
  }
  // Who joins gives a group what it may lack: half of them go on as they were found.
  const bool somebody_joins = !input.empty() && static_cast<unsigned>(input.back()) % 2 == 0;
  for (const auto& [group_id, group] : groups.durable_state()) {
    groups.describe(group_id);
    if (!somebody_joins) continue;
    ConsumerHeartbeat request{.group_id = group_id, .member_id = "newcomer"};
    request.rebalance_timeout = 1s;
    request.subscribed_topics = {"t"};
    request.owned.emplace();
    groups.heartbeat(request, time, outcome);
    groups.describe(group_id);
  }
  // Nobody is heard of any more: all sessions end.
  for (int i = 0; i < 1000 && groups.next_deadline(); ++i) {
    time.now = std::max(time.now, *groups.next_deadline());
    groups.on_timer(time, outcome);
  }
  for (CoordinatorRecord& record : outcome.records) log.push_back(std::move(record));
  ConsumerGroups replayed{ConsumerGroupSettings{}};
  for (const CoordinatorRecord& record : log) {
    NARU_ASSERT(replayed.apply(record.key, record.value).ok(), "what was applied once is applied again");
  }
  NARU_ASSERT(replayed.durable_state() == groups.durable_state(), "live state equals replay");
}

}  // namespace
}  // namespace naru

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  naru::silence_log();
  naru::run_consumer_groups({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
