#include "fuzzing/known_world.h"

#include <algorithm>

#include <fmt/core.h>

namespace naru::fuzzing {
namespace {

constexpr int kClassicGroups = 6, kConsumerGroups = 5, kSimpleGroups = 5, kTransactions = 10;
constexpr size_t kProducersMax = 20;

void add_groups(std::vector<KnownGroup>& groups, KnownGroup::Kind kind, std::string_view name, int count) {
  for (int i = 0; i < count; ++i) {
    auto& group = groups.emplace_back();
    group.id = fmt::format("{}-{}", name, i);
    group.kind = kind;
  }
}

}  // namespace

KnownMember* KnownGroup::find(std::string_view member_id) {
  const auto found = std::ranges::find(members, member_id, &KnownMember::id);
  return found == members.end() ? nullptr : &*found;
}

void KnownGroup::forget(std::string_view member_id) {
  std::erase_if(members, [member_id](const KnownMember& member) { return member.id == member_id; });
}

KnownWorld::KnownWorld() {
  add_groups(groups_, KnownGroup::Kind::classic, "classic", kClassicGroups);
  add_groups(groups_, KnownGroup::Kind::consumer, "consumer", kConsumerGroups);
  add_groups(groups_, KnownGroup::Kind::simple, "simple", kSimpleGroups);
  for (int i = 0; i < kTransactions; ++i) transactions_.emplace_back().id = fmt::format("transaction-{}", i);
}

int64_t KnownWorld::broker_epoch(BrokerId id) const {
  const BrokerMetadata* broker = image().find_broker(id);
  return broker == nullptr ? -1 : broker->epoch;
}

KnownGroup* KnownWorld::find_group(std::string_view id) {
  const auto found = std::ranges::find(groups_, id, &KnownGroup::id);
  return found == groups_.end() ? nullptr : &*found;
}

KnownTransaction* KnownWorld::find_transaction(std::string_view id) {
  const auto found = std::ranges::find(transactions_, id, &KnownTransaction::id);
  return found == transactions_.end() ? nullptr : &*found;
}

KnownTransaction* KnownWorld::find_transaction(ProducerId id) {
  const auto found = std::ranges::find(transactions_, id, &KnownTransaction::producer_id);
  return found == transactions_.end() ? nullptr : &*found;
}

void KnownWorld::remember_offsets(std::string_view group_id, const Uuid& topic, uint64_t bytes) {
  uint64_t& known = offsets_[{std::string(group_id), topic}];
  offset_bytes_ += bytes - known;
  known = bytes;
}

void KnownWorld::forget_offsets_of_deleted_topics() {
  std::erase_if(offsets_, [this](const auto& entry) { return image().find_topic(entry.first.second) == nullptr; });
  offset_bytes_ = 0;
  for (const auto& [key, bytes] : offsets_) offset_bytes_ += bytes;
}

void KnownWorld::remember_producer(ProducerId id, ProducerEpoch epoch) {
  std::erase_if(producers_, [id](const auto& producer) { return producer.first == id; });
  producers_.emplace_back(id, epoch);
  if (producers_.size() > kProducersMax) producers_.erase(producers_.begin());
}

}  // namespace naru::fuzzing
