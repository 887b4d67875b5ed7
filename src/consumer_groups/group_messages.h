// What is asked of a group coordinator, and what it answers: the doors translate their protocols to and from these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/error_code.h"
#include "foundation/ids.h"
#include "foundation/time.h"
#include "foundation/uuid.h"
#include "record_format/transaction_marker.h"

namespace naru {

// --- Membership of classic groups ------------------------------------------------------------------------------------

struct GroupProtocol {
  std::string name;
  Bytes metadata;
  bool operator==(const GroupProtocol&) const = default;
};

struct JoinGroup {
  std::string group_id;
  std::string member_id;
  std::optional<std::string> instance_id;
  std::string client_id;
  std::string client_host;
  Milliseconds session_timeout{};
  Milliseconds rebalance_timeout{};
  std::string protocol_type;
  std::vector<GroupProtocol> protocols;  // by preference
  std::string fresh_member_id;           // for a member that has none yet
  bool must_come_back_with_id = false;   // from version 4 on: MEMBER_ID_REQUIRED
  bool can_skip_assignment = false;      // from version 9 on
};

struct JoinedMember {
  std::string member_id;
  std::optional<std::string> instance_id;
  Bytes metadata;  // of the protocol that was chosen
};

struct JoinAnswer {
  ErrorCode error = ErrorCode::none;
  int32_t generation = -1;
  std::optional<std::string> protocol_type;
  std::optional<std::string> protocol_name;
  std::string leader;
  bool skip_assignment = false;
  std::string member_id;
  std::vector<JoinedMember> members;  // for the leader
};

// Who a member says it is.
struct MemberClaim {
  std::string member_id;
  std::optional<std::string> instance_id;
  int32_t generation = -1;  // or the member epoch of the consumer protocol
};

struct SyncGroup {
  std::string group_id;
  MemberClaim member;
  std::optional<std::string> protocol_type;
  std::optional<std::string> protocol_name;
  std::vector<std::pair<std::string, Bytes>> assignments;  // by member id; from the leader
};

struct SyncAnswer {
  ErrorCode error = ErrorCode::none;
  std::optional<std::string> protocol_type;
  std::optional<std::string> protocol_name;
  Bytes assignment;
};

struct GroupHeartbeat {
  std::string group_id;
  MemberClaim member;
};

struct LeaveGroup {
  struct Member {
    std::string member_id;
    std::optional<std::string> instance_id;
    std::string reason;  // for the log; it may be empty
  };
  std::string group_id;
  std::vector<Member> members;
};

// As much of it as a line of the log should have.
inline std::string_view reason_of(const LeaveGroup::Member& leaver) {
  constexpr size_t kLongest = 255;
  return leaver.reason.empty() ? std::string_view("no reason given")
                               : std::string_view(leaver.reason).substr(0, kLongest);
}

struct LeaveAnswer {
  ErrorCode error = ErrorCode::none;
  std::vector<ErrorCode> members;  // in the order of the request
};

// --- Offsets ---------------------------------------------------------------------------------------------------------

struct GroupPartition {
  std::string topic;
  PartitionIndex partition{0};
  auto operator<=>(const GroupPartition&) const = default;
};

struct CommittedOffset {
  Offset offset;  // the next one to read
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  std::string metadata;
  WallTimeMs committed_at = 0;
  std::optional<WallTimeMs> expires_at;  // only what old clients asked for (OffsetCommit 2 to 4)
  Uuid topic_id;                         // zero where it is not known, and the name has to do
  bool operator==(const CommittedOffset&) const = default;

  // False: it was committed for another topic of the same name, and says nothing about this one.
  bool belongs_to(const Uuid& topic) const { return topic_id.is_zero() || topic_id == topic; }
};

struct FormerTopic {
  std::string name;
  Uuid id;
};

struct CommitOffsets {
  struct Entry {
    GroupPartition partition;
    Uuid topic_id;  // of today's topic of that name
    Offset offset;
    LeaderEpoch leader_epoch = kNoLeaderEpoch;
    std::string metadata;
  };
  std::string group_id;
  MemberClaim member;
  std::optional<Milliseconds> retention;  // of its own, from old clients
  bool knows_member_epochs = false;       // version 9 and later
  std::vector<Entry> entries;
};

struct CommitAnswer {
  std::vector<ErrorCode> entries;  // in the order of the request
};

struct FetchOffsets {
  std::string group_id;
  std::optional<std::string> member_id;  // checked in groups of the consumer protocol, if given
  int32_t member_epoch = -1;
  std::optional<std::vector<GroupPartition>> partitions;  // none: all of them
  // Not before it is known what becomes of what transactions have committed: unstable_offset_commit until then.
  bool require_stable = false;
};

struct FetchedOffset {
  GroupPartition partition;
  std::optional<CommittedOffset> committed;
  ErrorCode error = ErrorCode::none;
  ProducerId pending_producer = kNoProducerId;  // with unstable_offset_commit: who has to end its transaction first
};

struct FetchOffsetsAnswer {
  ErrorCode error = ErrorCode::none;
  std::vector<FetchedOffset> offsets;  // in the order of the request; all of them: by topic and partition
};

struct DeleteOffsets {
  std::string group_id;
  std::vector<GroupPartition> partitions;
};

struct DeleteOffsetsAnswer {
  ErrorCode error = ErrorCode::none;
  std::vector<ErrorCode> partitions;
};

// --- Offsets in transactions -----------------------------------------------------------------------------------------

// Whether the transaction's coordinator has to be asked before this producer commits.
struct CommitVerification {
  ErrorCode error = ErrorCode::none;
  uint64_t guard = 0;  // 0: no, its transaction is open here; otherwise for TransactionalCommit
};

struct TransactionalCommit {
  CommitOffsets offsets;  // which says nothing of retention and member epochs
  ProducerIdentity producer;
  uint64_t guard = 0;  // of the verification that the coordinator has answered well
  TransactionNumber transaction_number = kNoTransactionNumber;  // what it has said; -1: it was not asked
  int32_t coordinator_epoch = -1;                               // of who has said so; -1: unknown
  uint64_t connection = 0;  // rises with each accepted connection; 0: not from a connection
};

struct WriteMarker {
  ProducerIdentity producer;  // with the epoch that the marker has
  TransactionMarker marker;
  int16_t transaction_version = 0;                              // 2: every transaction has an epoch of its own
  TransactionNumber transaction_number = kNoTransactionNumber;  // of the transaction that it ends; -1: not known
};

// What a transaction has committed in a group that is not to be seen yet.
struct PendingTransaction {
  ProducerIdentity producer;
  WallTimeMs since = 0;                    // of the first commit
  std::vector<GroupPartition> partitions;  // ascending
};

// --- Administration --------------------------------------------------------------------------------------------------

// A page of the groups by name.
struct ListGroups {
  std::optional<std::string> after;                 // those behind this one
  size_t max = std::numeric_limits<size_t>::max();  // fewer are the last page
};

struct ListedGroup {
  std::string group_id;
  std::string protocol_type;
  std::string state;  // Kafka's words: Empty, PreparingRebalance, CompletingRebalance, Stable, Dead, ...
  std::string type;   // "classic" or "consumer"
};

struct DescribedMember {
  std::string member_id;
  std::optional<std::string> instance_id;
  std::string client_id;
  std::string client_host;
  Bytes metadata;
  Bytes assignment;
};

struct DescribedGroup {
  std::string group_id;
  ErrorCode error = ErrorCode::none;  // group_id_not_found
  std::string state;
  std::string protocol_type;
  std::string protocol;  // the chosen one
  std::vector<DescribedMember> members;
  int32_t generation = -1;
  WallTimeMs state_since = -1;           // -1: not known
  std::vector<std::string> waiting_for;  // member ids that a rebalance waits for, to join or to sync
};

}  // namespace naru
