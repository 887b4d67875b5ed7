// The durable part of classic groups and offsets: what the records say, and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "consumer_groups/group_messages.h"
#include "consumer_groups/group_records.h"
#include "consumer_groups/offsets/pending_offsets.h"
#include "coordinator_runtime/coordinator_outcome.h"
#include "foundation/bytes.h"
#include "foundation/status.h"
#include "observability/state_memory.h"

namespace naru {

using GroupOffsets = std::map<GroupPartition, CommittedOffset>;

// All of it, by group, to compare and to print.
struct DurableGroups {
  std::map<std::string, StoredGroup, std::less<>> groups;
  std::map<std::string, GroupOffsets, std::less<>> offsets;  // never an empty one
  PendingOffsets pending;                                    // in transactions
  bool operator==(const DurableGroups&) const = default;
  std::string to_string() const;
};

// Thread: the shard's strand.
class GroupStore {
 public:
  // `memory`: where offsets are counted, if anywhere; outlives it.
  explicit GroupStore(MemoryBudget* memory = nullptr) : memory_(memory) {}

  static bool knows(int16_t record_type) { return record_type == kOffsetKeyType || record_type == kGroupKeyType; }

  // A record of a type that it knows. After an error nothing has changed.
  Status apply(int16_t record_type, BytesView key, std::optional<BytesView> value);
  // The same inside of a transaction, where there is nothing but offsets.
  Status apply_pending(const ProducerIdentity& producer, BytesView key, std::optional<BytesView> value);
  void apply_marker(ProducerId producer, TransactionResult result);
  // Decided just now: applied, and put into the outcome.
  void emit(CoordinatorRecord record, CoordinatorOutcome& outcome);
  void emit_pending(const ProducerIdentity& producer, CoordinatorRecord record, CoordinatorOutcome& outcome);

  const StoredGroup* find_group(std::string_view group_id) const;
  const GroupOffsets& offsets_of(std::string_view group_id) const;  // valid until the next change
  const PendingOffsets& pending() const { return state_.pending; }
  bool has_offsets(std::string_view group_id) const;  // committed, or pending
  bool knows_group(std::string_view group_id) const;
  const DurableGroups& all() const { return state_; }
  size_t offset_count() const;  // about, with those that are pending

  // To be asked before offsets are committed: about what the first one of a group, and each of them, adds to what there
  // is. 0 for one that replaces as much.
  uint64_t growth_by_group(std::string_view group_id) const;
  uint64_t growth_by_offset(std::string_view group_id, const GroupPartition& partition, size_t metadata_bytes) const;
  bool has_memory_for(uint64_t more_bytes) const { return memory_.has_room(more_bytes); }

 private:
  Status apply_offset(BytesView key, std::optional<BytesView> value);
  Status apply_group(BytesView key, std::optional<BytesView> value);
  void put_offset(OffsetKey key, CommittedOffset committed);
  void remove_offset(const OffsetKey& key);
  void count_memory();

  DurableGroups state_;
  uint64_t offset_bytes_ = 0;  // of those that are committed, about
  StateMemory memory_;
};

}  // namespace naru
