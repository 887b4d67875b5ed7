// What a coordinator costs by itself: no log, no network.
#include <string>
#include <utility>

#include <benchmark/benchmark.h>

#include "consumer_groups/group_coordinator.h"
#include "foundation/log.h"

namespace naru {
namespace {

struct BenchedCoordinator {
  GroupCoordinator coordinator{{.initial_rebalance_delay = 0ms}};
  CoordinatorTime time{MonotonicTime{} + 1h, 1'700'000'000'000};

  void finish(CoordinatorOutcome& outcome) const {
    for (auto& reply : outcome.replies) reply(Status());
  }
  int32_t join(const std::string& group, const std::string& fresh_id, const std::string& member_id) {
    int32_t generation = -1;
    CoordinatorOutcome outcome;
    coordinator.join(
        {.group_id = group,
         .member_id = member_id,
         .client_id = "client",
         .client_host = "/127.0.0.1",
         .session_timeout = 45s,
         .rebalance_timeout = 300s,
         .protocol_type = "consumer",
         .protocols = {{"range", Bytes(64)}},
         .fresh_member_id = fresh_id},
        [&generation](Result<JoinAnswer> answer) { generation = answer->generation; }, time, outcome);
    finish(outcome);
    return generation;
  }
  void sync(const std::string& group, const std::string& id, int32_t generation) {
    CoordinatorOutcome outcome;
    coordinator.sync(
        {.group_id = group, .member = {.member_id = id, .generation = generation}}, [](Result<SyncAnswer>) {}, time,
        outcome);
    finish(outcome);
  }
};

std::string group_name(int64_t group) {
  return "group-" + std::to_string(group);
}

// One group of one member for each of 10,000: the timers and the lookups are those of as many members.
void heartbeats(benchmark::State& state) {
  constexpr int64_t kGroups = 10'000;
  BenchedCoordinator bench;
  for (int64_t group = 0; group < kGroups; ++group) {
    bench.sync(group_name(group), "member", bench.join(group_name(group), "member", ""));
  }
  int64_t next = 0;
  for (auto _ : state) {
    CoordinatorOutcome outcome;
    const GroupHeartbeat request{group_name(next), {"member", {}, 1}};
    bench.coordinator.heartbeat(request, [](Result<ErrorCode>) {}, bench.time, outcome);
    bench.finish(outcome);
    if (++next == kGroups) {
      next = 0;
      bench.time.now += 3s;
      CoordinatorOutcome due;
      bench.coordinator.on_timer(bench.time, due);
    }
  }
}
BENCHMARK(heartbeats);

void commits_of_ten_partitions(benchmark::State& state) {
  BenchedCoordinator bench;
  CommitOffsets request{.group_id = "group"};
  for (int partition = 0; partition < 10; ++partition) {
    request.entries.push_back({.partition = {"orders", PartitionIndex(partition)}, .topic_id = Uuid{1, 2}});
  }
  for (auto _ : state) {
    CoordinatorOutcome outcome;
    bench.coordinator.commit_offsets(request, [](Result<CommitAnswer>) {}, bench.time, outcome);
    bench.finish(outcome);
    benchmark::DoNotOptimize(outcome.records.data());
  }
}
BENCHMARK(commits_of_ten_partitions);

// A whole generation of one group: everybody joins, everybody syncs, and at the end all sessions are over at once.
void life_of_a_group(benchmark::State& state) {
  silence_log();
  const auto members = static_cast<int>(state.range(0));
  for (auto _ : state) {
    BenchedCoordinator bench;
    for (int i = 0; i < members; ++i) bench.join("g", "member-" + std::to_string(i), "");
    int32_t generation = -1;
    for (int i = 0; i < members; ++i) {
      const std::string id = "member-" + std::to_string(i);
      const int32_t told = bench.join("g", "", id);
      if (told > 0) generation = told;
    }
    for (int i = members; i > 0; --i) bench.sync("g", "member-" + std::to_string(i - 1), generation);
    bench.time.now += 1h;
    for (int i = 0; i < 4; ++i) {
      CoordinatorOutcome outcome;
      bench.coordinator.on_timer(bench.time, outcome);
      bench.finish(outcome);
    }
    benchmark::DoNotOptimize(bench.coordinator.durable_state().groups.size());
  }
}
BENCHMARK(life_of_a_group)->Arg(100)->Arg(1000)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace naru
