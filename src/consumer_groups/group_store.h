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

 private:
  Status apply_offset(BytesView key, std::optional<BytesView> value);
  Status apply_group(BytesView key, std::optional<BytesView> value);

  DurableGroups state_;
};

}  // namespace naru
