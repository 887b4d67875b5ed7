#include "consumer_groups/offsets/pending_offsets.h"

#include <algorithm>

#include "foundation/assert.h"

namespace naru {
namespace {

size_t memory_of(const OffsetKey& key, size_t metadata_bytes) {
  // In both maps, with their nodes and strings.
  constexpr size_t kOverhead = 384;
  return kOverhead + 2 * (key.group_id.size() + key.partition.topic.size()) + metadata_bytes;
}

}  // namespace

void PendingOffsets::stage(const ProducerIdentity& producer, const OffsetKey& key, CommittedOffset committed) {
  size_t before = 0;
  take(key, producer.id, before);
  bytes_ += memory_of(key, committed.metadata.size());
  groups_[key.group_id][key.partition].push_back({.producer = producer, .committed = std::move(committed)});
  by_producer_[producer.id].insert(key);
}

void PendingOffsets::overtake(const OffsetKey& key) {
  const auto group = groups_.find(key.group_id);
  if (group == groups_.end()) return;
  const auto pending = group->second.find(key.partition);
  if (pending == group->second.end()) return;
  for (PendingOffset& each : pending->second) each.overtaken = true;
}

void PendingOffsets::drop(const OffsetKey& key) {
  std::vector<ProducerId> producers;
  const OfGroup& group = of_group(key.group_id);
  if (const auto pending = group.find(key.partition); pending != group.end()) {
    for (const PendingOffset& each : pending->second) producers.push_back(each.producer.id);
  }
  size_t before = 0;
  for (const ProducerId producer : producers) take(key, producer, before);
}

std::vector<std::pair<OffsetKey, CommittedOffset>> PendingOffsets::end(ProducerId producer, TransactionResult result) {
  std::vector<std::pair<OffsetKey, CommittedOffset>> visible;
  const auto found = by_producer_.find(producer);
  if (found == by_producer_.end()) return visible;
  const std::set<OffsetKey> keys = found->second;
  for (const OffsetKey& key : keys) {
    size_t before = 0;
    auto ended = take(key, producer, before);
    NARU_ASSERT(ended.has_value(), "the producer has nothing pending in {}", key.group_id);
    if (result == TransactionResult::abort || ended->overtaken) continue;
    // Whatever came before it in the log is behind it now.
    if (before > 0) {
      auto& others = groups_.find(key.group_id)->second.find(key.partition)->second;
      for (size_t i = 0; i < before; ++i) others[i].overtaken = true;
    }
    visible.emplace_back(key, std::move(ended->committed));
  }
  return visible;
}

bool PendingOffsets::contains(std::string_view group_id, const GroupPartition& partition) const {
  return of_group(group_id).contains(partition);
}

const PendingOffsets::OfGroup& PendingOffsets::of_group(std::string_view group_id) const {
  static const OfGroup kNone;
  const auto found = groups_.find(group_id);
  return found == groups_.end() ? kNone : found->second;
}

std::vector<std::pair<OffsetKey, CommittedOffset>> PendingOffsets::overtaken_of(ProducerId producer) const {
  std::vector<std::pair<OffsetKey, CommittedOffset>> overtaken;
  const auto found = by_producer_.find(producer);
  if (found == by_producer_.end()) return overtaken;
  for (const OffsetKey& key : found->second) {
    const PendingOffset& pending = *find(key, producer);
    if (pending.overtaken) overtaken.emplace_back(key, pending.committed);
  }
  return overtaken;
}

size_t PendingOffsets::count_of(ProducerId producer) const {
  const auto found = by_producer_.find(producer);
  return found == by_producer_.end() ? 0 : found->second.size();
}

size_t PendingOffsets::growth_by(ProducerId producer, const OffsetKey& key, size_t metadata_bytes) const {
  const size_t after = memory_of(key, metadata_bytes);
  const PendingOffset* replaced = find(key, producer);
  const size_t before = replaced == nullptr ? 0 : memory_of(key, replaced->committed.metadata.size());
  return after > before ? after - before : 0;
}

const PendingOffset* PendingOffsets::find(const OffsetKey& key, ProducerId producer) const {
  const OfGroup& group = of_group(key.group_id);
  const auto pending = group.find(key.partition);
  if (pending == group.end()) return nullptr;
  const auto found = std::ranges::find(pending->second, producer, [](const auto& each) { return each.producer.id; });
  return found == pending->second.end() ? nullptr : &*found;
}

std::optional<PendingOffset> PendingOffsets::take(const OffsetKey& key, ProducerId producer, size_t& before) {
  const PendingOffset* found = find(key, producer);
  if (found == nullptr) return std::nullopt;
  const auto group = groups_.find(key.group_id);
  const auto pending = group->second.find(key.partition);
  before = static_cast<size_t>(found - pending->second.data());
  const auto place = pending->second.begin() + static_cast<ptrdiff_t>(before);
  PendingOffset taken = std::move(*place);
  bytes_ -= memory_of(key, taken.committed.metadata.size());
  pending->second.erase(place);
  if (pending->second.empty()) group->second.erase(pending);
  if (group->second.empty()) groups_.erase(group);
  const auto keys = by_producer_.find(producer);
  keys->second.erase(key);
  if (keys->second.empty()) by_producer_.erase(keys);
  return taken;
}

}  // namespace naru
