// The records of __consumer_offsets that classic groups and offsets are made of (docs/formats/consumer_offsets.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "consumer_groups/group_messages.h"
#include "coordinator_runtime/coordinator_outcome.h"
#include "foundation/bytes.h"
#include "foundation/status.h"
#include "foundation/time.h"

namespace naru {

// What the key of a record begins with.
inline constexpr int16_t kOffsetKeyType = 1;
inline constexpr int16_t kGroupKeyType = 2;

struct StoredMember {
  std::string member_id;
  std::optional<std::string> instance_id;
  std::string client_id;
  std::string client_host;
  Milliseconds rebalance_timeout{};
  Milliseconds session_timeout{};
  Bytes metadata;  // of the group's protocol
  Bytes assignment;
  bool operator==(const StoredMember&) const = default;
};

// A classic group as of its last generation that was given out, or as of becoming empty.
struct StoredGroup {
  std::string protocol_type;
  int32_t generation = 0;
  std::optional<std::string> protocol;  // there if there are members
  std::optional<std::string> leader;
  WallTimeMs state_since = -1;  // -1: written by somebody who did not say
  std::vector<StoredMember> members;
  bool operator==(const StoredGroup&) const = default;
};

struct OffsetKey {
  std::string group_id;
  GroupPartition partition;
  auto operator<=>(const OffsetKey&) const = default;
};

// Can a record hold this text? Whatever comes from outside and goes into a record has been asked.
bool fits_record(std::string_view text);
// The name of a group is in each of its records.
bool is_group_id(std::string_view text);

Result<int16_t> group_record_type(BytesView key);

// Without a value: the tombstone.
CoordinatorRecord offset_record(std::string_view group_id, const GroupPartition& partition,
                                const CommittedOffset* committed);
// Inside of a transaction: it also says of which one (-1: not known).
CoordinatorRecord pending_offset_record(std::string_view group_id, const GroupPartition& partition,
                                        const CommittedOffset& committed, TransactionNumber number);
CoordinatorRecord group_record(std::string_view group_id, const StoredGroup* group);

Result<OffsetKey> decode_offset_key(BytesView key);
Result<CommittedOffset> decode_offset_value(BytesView value);
Result<TransactionNumber> decode_transaction_number(BytesView offset_value);
Result<std::string> decode_group_key(BytesView key);
Result<StoredGroup> decode_group_value(BytesView value);

}  // namespace naru
