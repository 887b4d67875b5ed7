// What a join costs the coordinator of a large group of the consumer protocol: no log, no network.
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include "consumer_groups/consumer_protocol/consumer_groups.h"
#include "foundation/log.h"

namespace naru {
namespace {

constexpr int kMembers = 400;
constexpr int kTopics = 400;
constexpr int kTopicsOfAMember = 40;

struct BenchedConsumerGroup {
  BenchedConsumerGroup() {
    silence_log();
    std::vector<SubscribableTopic> topics;
    for (int i = 0; i < kTopics; ++i) topics.push_back({topic_name(i), Uuid{1, static_cast<uint64_t>(i) + 1}, 6});
    CoordinatorOutcome outcome;
    TopicsSweep sweep{.topics = std::make_shared<const SubscribableTopics>(1, std::move(topics))};
    groups.metadata_changed(sweep, kTopics, time, outcome);
  }

  static std::string topic_name(int number) { return fmt::format("a-topic-with-a-usual-name-{:04}", number); }
  std::vector<std::string> some_topics() {
    std::vector<std::string> names;
    for (int i = 0; i < kTopicsOfAMember; ++i) names.push_back(topic_name(static_cast<int>(random() % kTopics)));
    return names;
  }
  void beat(const std::string& member_id, int32_t epoch, std::vector<std::string> topics = {}) {
    ConsumerHeartbeat request{.group_id = "g", .member_id = member_id, .member_epoch = epoch};
    if (epoch == kJoinEpoch) {
      request.rebalance_timeout = 60s;
      request.subscribed_topics = std::move(topics);
      request.owned.emplace();
    }
    CoordinatorOutcome outcome;
    benchmark::DoNotOptimize(groups.heartbeat(request, time, outcome));
  }

  std::mt19937_64 random{7};
  ConsumerGroups groups{ConsumerGroupSettings{}};
  CoordinatorTime time{MonotonicTime{} + 1h, 1'700'000'000'000};
};

// One comes and goes; the others stay. The time is that of both.
void join_and_leave(benchmark::State& state, bool all_different) {
  BenchedConsumerGroup bench;
  const std::vector<std::string> shared = bench.some_topics();
  for (int i = 0; i < kMembers; ++i) {
    bench.beat(fmt::format("member-{:04}", i), kJoinEpoch, all_different ? bench.some_topics() : shared);
  }
  for (auto _ : state) {
    bench.beat("newcomer", kJoinEpoch, all_different ? bench.some_topics() : shared);
    bench.beat("newcomer", kLeaveEpoch);
  }
}
BENCHMARK_CAPTURE(join_and_leave, same_subscriptions, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(join_and_leave, different_subscriptions, true)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace naru
