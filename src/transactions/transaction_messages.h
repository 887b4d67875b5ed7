// What is asked of a transaction coordinator, and what it answers: the doors translate their protocols to and from
// these.
//
// Errors are the newest ones that Kafka knows for a case; whoever speaks an older version of a request translates them
// (PRODUCER_FENCED to INVALID_PRODUCER_EPOCH, and so on).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error_code.h"
#include "foundation/ids.h"
#include "foundation/time.h"
#include "record_format/transaction_marker.h"

namespace naru {

struct TopicPartitionName {
  std::string topic;
  PartitionIndex partition{0};
  auto operator<=>(const TopicPartitionName&) const = default;
};

// The protocol between a client and the coordinator. From version 2 on (KIP-890) partitions are added by their leaders,
// and every transaction has an epoch of its own.
inline constexpr int16_t kTransactionVersion1 = 1;
inline constexpr int16_t kTransactionVersion2 = 2;

// The numbers are those of stored records.
enum class TransactionState : int8_t {
  empty = 0,
  ongoing = 1,
  prepare_commit = 2,
  prepare_abort = 3,
  complete_commit = 4,
  complete_abort = 5,
};

std::string_view name_of(TransactionState state);  // Kafka's words: Empty, Ongoing, PrepareCommit, ...
// Also true for states that Kafka has and we do not; nothing is ever in one of them.
bool is_transaction_state_name(std::string_view name);

// --- Producers -------------------------------------------------------------------------------------------------------

// In all that a client asks itself: connections are numbered as they are accepted, and 0 stands for none that counts.
// An answer with `is_late` means that the producer has since been heard on a later connection (or that this one is
// older than the coordinator's knowledge, and nobody can tell). Nothing was changed, and the client must not be told
// anything: the connection is to be closed. A client that is still there asks again on a new one.

struct InitProducer {
  std::string transactional_id;
  int32_t timeout_ms = 0;
  std::optional<ProducerIdentity> expected;  // whom the client takes itself for
  std::optional<ProducerId> fresh_id;        // never used before; see needs_fresh_id
  uint64_t connection = 0;
};

struct InitProducerAnswer {
  ErrorCode error = ErrorCode::none;
  ProducerIdentity producer;
  // Without an error: nothing was changed, and the same has to be asked again with a fresh_id.
  bool needs_fresh_id = false;
  bool is_late = false;
};

struct AddPartitions {
  enum class Mode : uint8_t {
    add,          // by the client (version 1)
    verify_only,  // by a leader: are they in the transaction? (version 1)
    implicit,     // by a leader, for the client (version 2)
  };
  std::string transactional_id;
  ProducerIdentity producer;
  std::vector<TopicPartitionName> partitions;
  Mode mode = Mode::add;
  uint64_t connection = 0;  // of the client; looked at in mode add
  // After INVALID_PRODUCER_ID_MAPPING, the client asks who it is; otherwise it would come to the same end each time.
  bool may_recover = true;
  // For the end of the transaction before, if that is being ended: otherwise concurrent_transactions at once.
  bool may_wait = true;
};

struct AddPartitionsAnswer {
  std::vector<ErrorCode> partitions;                // in the order of the request
  TransactionNumber number = kNoTransactionNumber;  // of the transaction that those without an error are in
  int32_t coordinator_epoch = -1;                   // of who says so; with a number
  bool is_late = false;
};

struct EndTransaction {
  std::string transactional_id;
  ProducerIdentity producer;
  TransactionResult result = TransactionResult::abort;
  int16_t version = kTransactionVersion1;  // 2: EndTxn 5 and later
  std::optional<ProducerId> fresh_id;      // never used before; see needs_fresh_id
  uint64_t connection = 0;
};

struct EndTransactionAnswer {
  ErrorCode error = ErrorCode::none;
  ProducerIdentity next;        // version 2: who the producer is from now on
  bool needs_fresh_id = false;  // without an error: nothing was changed; to be asked again with a fresh_id
  bool is_late = false;
};

// --- Markers ---------------------------------------------------------------------------------------------------------

// Which coordinator has decided: the partition of __transaction_state, and since when it has been led.
struct CoordinatorReign {
  PartitionIndex partition{0};
  LeaderEpoch leader_epoch{0};
};

struct MarkersWanted {
  CoordinatorReign coordinator;
  std::string transactional_id;
  ProducerIdentity producer;  // with the epoch that the markers carry
  TransactionResult result = TransactionResult::abort;
  int16_t transaction_version = kTransactionVersion1;
  TransactionNumber number = kNoTransactionNumber;
  std::vector<TopicPartitionName> partitions;  // at least one
};

// Every one of them is in its log, committed, or its partition does not exist any more.
struct MarkersWritten {
  std::string transactional_id;
  ProducerIdentity producer;
  TransactionNumber number = kNoTransactionNumber;
};

// --- Administration --------------------------------------------------------------------------------------------------

struct DescribedTransaction {
  std::string transactional_id;
  ErrorCode error = ErrorCode::none;  // transactional_id_not_found
  TransactionState state = TransactionState::empty;
  ProducerIdentity producer;
  int32_t timeout_ms = 0;
  WallTimeMs start_ms = -1;                    // of the last transaction; -1 in state empty
  WallTimeMs last_update_ms = -1;              // of any change
  int16_t transaction_version = 0;             // of the last transaction
  bool was_aborted_by_coordinator = false;     // the last transaction, because of its time
  std::vector<TopicPartitionName> partitions;  // of the transaction that is open, or whose markers are being written
};

// Sorted. Shared by the shards that are asked: it may be large.
using ProducerIdFilter = std::shared_ptr<const std::vector<ProducerId>>;

struct ListTransactions {
  std::vector<std::string> states;     // none: all
  ProducerIdFilter producer_ids = {};  // null or none: all
  int64_t longer_than_ms = -1;         // at least 0: only ids whose last transaction began longer ago, or that had none
};

struct ListedTransaction {
  std::string transactional_id;
  ProducerIdentity producer;
  TransactionState state = TransactionState::empty;
  int32_t timeout_ms = 0;
  WallTimeMs start_ms = -1;  // as in DescribedTransaction
  size_t partitions = 0;
};

}  // namespace naru
