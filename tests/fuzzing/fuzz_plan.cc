#include "fuzzing/fuzz_plan.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace naru::fuzzing {
namespace {

using kafka::ApiKey;

// What others need before they can succeed comes more often, what takes something away from them less often.
constexpr uint64_t weight_of(ApiKey api) {
  switch (api) {
    case ApiKey::produce:
    case ApiKey::fetch:
    case ApiKey::init_producer_id:
    case ApiKey::add_partitions_to_txn:
    case ApiKey::join_group:
    case ApiKey::sync_group:
    case ApiKey::consumer_group_heartbeat:
    case ApiKey::find_coordinator:
    case ApiKey::offset_commit:
      return 10;
    case ApiKey::leave_group:
    case ApiKey::delete_topics:
    case ApiKey::naru_topics_removed:
    case ApiKey::delete_groups:
    case ApiKey::offset_delete:
      return 2;
    case ApiKey::naru_broker_stopping:
    case ApiKey::naru_offline_logs:
      return 1;
    default:
      return 4;
  }
}

constexpr auto kWeights = [] {
  std::array<uint64_t, kafka::kApiTable.size()> weights{};
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = weight_of(kafka::kApiTable[i].key);
  return weights;
}();
constexpr uint64_t kAllWeights = [] {
  uint64_t sum = 0;
  for (const uint64_t weight : kWeights) sum += weight;
  return sum;
}();

constexpr size_t kTopicsToSpare = 10;
constexpr size_t kCrowd = 3000;
constexpr size_t kManyGroups = 160'000;  // to list all of them in one turn of a loop takes too long
constexpr uint64_t kManyDeaf = 6;

template <class T, size_t kCount>
T pick(Random& random, const std::array<T, kCount>& values) {
  return values[random.below(kCount)];
}

}  // namespace

std::string FuzzPlan::to_string() const {
  return fmt::format(
      "focus on {}{}, one in {} mutated, one in {} of them huge, bytes of one in {} changed, {} connections per "
      "broker, "
      "{} deaf ones, pipelines of {}, a restart in {} requests, buffers of {} bytes, {} more transactional ids",
      focus ? kafka::kApiTable[*focus].name : "nothing", roomy ? ", roomy" : "", mutated_one_in, huge_one_in,
      bytes_one_in, connections, deaf_connections, pipeline, restart_one_in, network_buffer, crowd);
}

uint64_t FuzzPlan::memory_budget() const {
  return roomy ? 512 << 20 : 32 << 20;
}

size_t FuzzPlan::frame_max() const {
  return roomy ? 12 << 20 : 4 << 20;
}

size_t FuzzPlan::groups() const {
  return roomy ? kManyGroups : 0;
}

FuzzPlan draw_plan(Random& random) {
  FuzzPlan plan;
  if (random.one_in(2)) plan.focus = random.below(kafka::kApiTable.size());
  plan.mutated_one_in = pick<uint64_t, 3>(random, {2, 3, 5});
  plan.huge_one_in = pick<uint64_t, 4>(random, {0, 20, 100, 400});
  if (plan.focus && random.one_in(8)) plan.huge_one_in = 2;
  plan.bytes_one_in = pick<uint64_t, 3>(random, {0, 20, 60});
  plan.connections = 1 + random.below(3);
  plan.deaf_connections = random.below(3);
  plan.pipeline = pick<size_t, 4>(random, {1, 2, 4, 8});
  plan.restart_one_in = pick<uint64_t, 3>(random, {0, 0, 800});
  plan.network_buffer = pick<size_t, 3>(random, {2 << 10, 16 << 10, 256 << 10});
  if (random.one_in(16)) plan.crowd = kCrowd;
  if (random.one_in(8)) {
    plan.deaf_connections = kManyDeaf;
    plan.deaf_one_in = 2;
    plan.network_buffer = 2 << 10;  // so that answers wait in the broker
  }
  return plan;
}

ApiKey draw_api(Random& random, const FuzzPlan& plan) {
  if (plan.focus && random.one_in(3)) return kafka::kApiTable[*plan.focus].key;
  uint64_t left = random.below(kAllWeights);
  size_t api = 0;
  while (left >= kWeights[api]) left -= kWeights[api++];
  return kafka::kApiTable[api].key;
}

bool needs_coordinator(ApiKey api) {
  switch (api) {
    case ApiKey::join_group:
    case ApiKey::sync_group:
    case ApiKey::heartbeat:
    case ApiKey::leave_group:
    case ApiKey::describe_groups:
    case ApiKey::delete_groups:
    case ApiKey::offset_commit:
    case ApiKey::offset_fetch:
    case ApiKey::offset_delete:
    case ApiKey::consumer_group_heartbeat:
    case ApiKey::consumer_group_describe:
    case ApiKey::add_partitions_to_txn:
    case ApiKey::add_offsets_to_txn:
    case ApiKey::end_txn:
    case ApiKey::txn_offset_commit:
    case ApiKey::describe_transactions:
    case ApiKey::naru_add_partitions_to_txn:
      return true;
    default:
      return false;
  }
}

ApiKey first_needed(ApiKey api, KnownWorld& world) {
  const auto a_group = [&](auto fits) { return std::ranges::any_of(world.groups(), fits); };
  const auto a_member = [&](auto fits) {
    return a_group([&](const KnownGroup& group) {
      return group.kind == KnownGroup::Kind::classic && std::ranges::any_of(group.members, fits);
    });
  };
  const auto a_transaction = [&](auto fits) { return std::ranges::any_of(world.transactions(), fits); };
  switch (api) {
    case ApiKey::heartbeat:
    case ApiKey::leave_group:
      if (a_member([](const KnownMember& member) { return member.epoch >= 0 && member.has_assignment; })) return api;
      return first_needed(ApiKey::sync_group, world);
    case ApiKey::sync_group:
      if (a_member([](const KnownMember& member) { return member.epoch >= 0 && !member.has_assignment; })) return api;
      return ApiKey::join_group;
    case ApiKey::delete_topics:
    case ApiKey::create_partitions:
      if (world.image().topics().size() > kTopicsToSpare) return api;
      return ApiKey::create_topics;
    case ApiKey::delete_groups:
    case ApiKey::offset_delete:
      if (a_group(
              [](const KnownGroup& group) { return group.has_offsets && group.kind == KnownGroup::Kind::simple; })) {
        return api;
      }
      return ApiKey::offset_commit;
    case ApiKey::end_txn:
    case ApiKey::txn_offset_commit:
      if (a_transaction([](const KnownTransaction& transaction) { return transaction.open; })) return api;
      return first_needed(ApiKey::add_offsets_to_txn, world);
    case ApiKey::add_partitions_to_txn:
    case ApiKey::add_offsets_to_txn:
    case ApiKey::naru_add_partitions_to_txn:
      if (a_transaction([](const KnownTransaction& known) { return known.producer_id != kNoProducerId; })) return api;
      return ApiKey::init_producer_id;
    default:
      return api;
  }
}

}  // namespace naru::fuzzing
