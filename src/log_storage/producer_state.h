// What a partition remembers of its idempotent and transactional producers: enough to tell the next batch of a producer
// from a repeated one and from one that is missing something, and which transactions are open.
//
// An I/O-free core. check() and check_marker() judge what somebody wants to append; apply() notes what was appended and
// judges nothing, so that followers and recovery arrive at the leader's state by applying the same batches. State is a
// function of the batches applied, their times, the limits and the calls of expire(): no clock in here, and no order by
// hash.
//
// A producer that is not known may have been forgotten, or may never have been here. complete_from() tells them apart:
// ids from there on were never forgotten, so a producer with such an id that is not known has to begin with sequence 0.
// Otherwise its second batch, which was in flight when the first was refused, would be taken for the first one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "foundation/error_code.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "log_storage/ended_transactions.h"
#include "record_format/record_batch.h"
#include "record_format/transaction_marker.h"

namespace naru {

// Milliseconds by a clock that never steps. Only differences mean something, and only in one process.
using RunningTimeMs = int64_t;

// As complete_from(): any producer may have been forgotten.
inline constexpr ProducerId kNoneComplete{std::numeric_limits<int64_t>::max()};

// `steps` sequence numbers behind `sequence`. They are 0 .. 2^31-1, and 0 follows the last.
int32_t sequence_after(int32_t sequence, int32_t steps);

// A batch as its repetition is recognised and answered.
struct ProducerBatch {
  int32_t first_sequence = 0;
  int32_t last_offset_delta = 0;
  Offset base_offset;
  WallTimeMs log_append_time_ms = kNoTimestamp;  // as the producer was told: kNoTimestamp with CreateTime

  int32_t last_sequence() const { return sequence_after(first_sequence, last_offset_delta); }
  Offset next_offset() const { return base_offset + last_offset_delta + 1; }
  bool operator==(const ProducerBatch&) const = default;
};

struct Producer {
  static constexpr size_t kWindow = 5;  // as many batches as clients keep in flight

  ProducerId id;
  ProducerEpoch epoch{0};
  uint8_t batch_count = 0;                     // 0: of this epoch, only markers or records of a coordinator are known
  std::array<ProducerBatch, kWindow> batches;  // of this epoch, oldest first
  WallTimeMs last_timestamp = kNoTimestamp;    // the largest of the last batch
  RunningTimeMs last_append_ms = 0;
  Offset transaction_start = kNoOffset;  // where the open transaction begins; kNoOffset: none is open
  Offset last_marker = kNoOffset;        // kNoOffset: none is known, and so is no coordinator epoch
  int32_t coordinator_epoch = -1;        // in the last marker

  bool in_transaction() const { return transaction_start != kNoOffset; }
  // There is at least one.
  const ProducerBatch& newest() const { return batches[batch_count - 1u]; }
  // -1: none.
  int32_t last_sequence() const { return batch_count == 0 ? -1 : newest().last_sequence(); }
  const ProducerBatch* find(int32_t first_sequence, int32_t last_offset_delta) const;
  void add(const ProducerBatch& batch);
  bool operator==(const Producer&) const;
};

struct ProducerLimits {
  size_t max_producers = 10'000;             // beyond it the one that was idle for longest is forgotten
  int64_t expiration_ms = 24 * 3'600'000LL;  // after its last append; what it stored may be gone long before
};

// What the partition knows of a batch beside its header.
struct AppendTerms {
  bool may_open = true;         // the batch may open a transaction
  bool begins_at_zero = false;  // with transactions of version 2: where no batch of the epoch is known, 0 comes first
};

// What check() found.
struct SequenceCheck {
  // Not ok: invalid_producer_epoch, out_of_order_sequence_number, invalid_txn_state; policy_violation when there is no
  // room for a further producer.
  Status refused;
  std::optional<ProducerBatch> duplicate;  // it is in the log already; answer as then
};

enum class MarkerAction : uint8_t {
  append,
  nothing,  // it changes nothing: no transaction is open, and its coordinator has been heard in this epoch
};

// What a marker has ended.
struct TransactionEnd {
  ProducerId producer_id;
  Offset first_offset;
  Offset marker_offset;
  TransactionResult result = TransactionResult::abort;
};

// A value. Thread: the partition's strand.
class ProducerState {
 public:
  // Each producer is held against the memory budget with this much.
  static constexpr size_t kBytesPerProducer = 320;

  explicit ProducerState(const ProducerLimits& limits = {}) : limits_(limits) {}
  ProducerState(ProducerState&&) = default;
  ProducerState& operator=(ProducerState&&) = default;

  // Whether a client, or a coordinator (sequence -1), may append this batch now. A producer without state may begin
  // anywhere if it may have been forgotten, else with 0. Batches without a producer id always pass. The epoch is judged
  // first, then whether it is a repeated batch, then its transaction, then its sequence.
  SequenceCheck check(const BatchHeader& header, const AppendTerms& terms = {}) const;
  // Whether a coordinator may end the producer's transaction. `transaction_version` 2: each marker has a higher epoch
  // than its transaction. invalid_producer_epoch, transaction_coordinator_fenced.
  Result<MarkerAction> check_marker(const ProducerIdentity& producer, const TransactionMarker& marker,
                                    int16_t transaction_version) const;

  // The batch, with its offsets, is in the log. Gaps in sequences and epochs that go back are taken as they are. Of a
  // control batch with records, `marker` is what it says.
  std::optional<TransactionEnd> apply(const BatchHeader& stored, RunningTimeMs now,
                                      const std::optional<TransactionMarker>& marker = std::nullopt);

  // --- Transactions. -------------------------------------------------------------------------------------------------
  // Whether the producer's transaction of this epoch is open.
  bool in_transaction(const ProducerIdentity& producer) const;
  // Where the oldest open transaction begins; kNoOffset: none is open.
  Offset oldest_open() const { return open_.empty() ? kNoOffset : open_.begin()->first; }
  // Readers of committed records read to here: below it, every transaction has ended, and its marker is below
  // `high_watermark`. Never above `high_watermark`.
  Offset last_stable_offset(Offset high_watermark) const;
  // Everything below is committed for good: no ended transaction with its marker there is held back any more.
  void committed(Offset high_watermark) { ended_.committed(high_watermark); }
  const EndedTransactions& ended() const { return ended_; }

  // Forgets producers that have not appended for expiration_ms; never one with an open transaction. Costs what it
  // forgets.
  size_t expire(RunningTimeMs now);
  // Forgets the one that was idle for longest, unless it is the only one or all have open transactions.
  bool evict_longest_idle();
  // Producers that had to make room since the state was made.
  uint64_t evicted() const { return evicted_; }

  // Every producer with this id or a higher one that has ever appended is known. Rises with those that are forgotten,
  // and becomes kNoneComplete with the first batch that compaction has changed: it may have taken the batches of
  // producers that were forgotten elsewhere.
  ProducerId complete_from() const { return std::max(complete_from_, forgotten_end_); }
  void set_complete_from(ProducerId first) {
    complete_from_ = first;
    forgotten_end_ = ProducerId(0);
  }
  // What holds apart from those that this state has forgotten since.
  void learn_complete_from(ProducerId first) { complete_from_ = first; }

  // What a log that begins at `start` has to know beforehand, so that it arrives at this state with its own batches:
  // all producers, with what they appended below `start`. Where later batches have replaced what was known then, less
  // is said of them.
  ProducerState as_of(Offset start) const;

  // Appends a producer as the least idle one; what a snapshot says. False: it is there already.
  bool restore(const Producer& producer);
  void restore_ended(const EndedTransactions::Entry& entry) { ended_.add(entry); }

  bool empty() const { return by_id_.empty(); }
  size_t size() const { return by_id_.size(); }
  const Producer* find(ProducerId id) const;
  // The one that was idle for longest comes first; those with open transactions come last.
  std::vector<std::reference_wrapper<const Producer>> producers() const;
  bool operator==(const ProducerState& other) const {
    return by_idleness_ == other.by_idleness_ && in_transactions_ == other.in_transactions_;
  }

 private:
  using Producers = std::list<Producer>;

  bool was_never_here(ProducerId id) const;
  bool is_full() const { return size() >= limits_.max_producers && by_idleness_.empty(); }
  Producers& list_of(const Producer& producer) { return producer.in_transaction() ? in_transactions_ : by_idleness_; }
  std::optional<TransactionEnd> end_transaction(Producer& producer, Offset marker_offset,
                                                const TransactionMarker& marker);
  Producers::iterator find_or_add(ProducerId id, ProducerEpoch epoch);
  void forget_longest_idle();
  // By forgetting others than this one.
  void make_room(const Producer& newest);

  ProducerLimits limits_;
  // By the order of their last appends, those with open transactions apart.
  Producers by_idleness_;
  Producers in_transactions_;
  std::unordered_map<ProducerId, Producers::iterator> by_id_;
  std::map<Offset, ProducerId> open_;  // by where the transactions begin
  EndedTransactions ended_;
  ProducerId complete_from_ = kNoneComplete;
  ProducerId forgotten_end_{0};
  uint64_t evicted_ = 0;
};

}  // namespace naru
