// The producers that commit offsets in transactions, as one shard knows them: who may commit, and which markers count.
//
// Follows the rules by which the partition judges batches and markers (replication), so that nothing is decided here
// that the log refuses afterwards: what was decided and cannot be written costs the shard a reload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "consumer_groups/group_messages.h"
#include "foundation/error_code.h"
#include "foundation/ids.h"
#include "foundation/time.h"
#include "record_format/transaction_marker.h"

namespace naru {

// Thread: the shard's strand.
class TransactionalProducers {
 public:
  // Of those whose transactions have ended so many are remembered, those that ended last.
  explicit TransactionalProducers(size_t ended_max = 10'000) : ended_max_(ended_max) {}

  // From the log, or decided just now.
  // kNoTransactionNumber: the record does not say.
  void apply_pending(const ProducerIdentity& producer, TransactionNumber number);
  void apply_marker(const ProducerIdentity& producer, const TransactionMarker& marker,
                    TransactionNumber number = kNoTransactionNumber);
  // Guards that were given before are void.
  void loaded(MonotonicTime now);

  CommitVerification begin_verification(const ProducerIdentity& producer);
  ErrorCode check_commit(const TransactionalCommit& request) const;
  // The commit is decided, and applied.
  void note_connection(const ProducerIdentity& producer, uint64_t connection);

  struct MarkerJudgement {
    ErrorCode error = ErrorCode::none;
    // False without an error: the shard has it already, or its transaction is long over. What has nothing to end is
    // written all the same: a shard that was replaced without knowing it must not say so.
    bool is_needed = false;
  };
  MarkerJudgement judge(const WriteMarker& request) const;

  bool has_open(ProducerId producer) const;
  size_t open_count() const { return producers_.size() - ended_.size(); }

 private:
  struct Producer {
    ProducerEpoch epoch{-1};
    int32_t coordinator_epoch = -1;
    bool open = false;      // it has written something since its last marker
    uint64_t ended_at = 0;  // when that was, as a number that guards are compared with
    TransactionNumber transaction_number = kNoTransactionNumber;  // of the open transaction; -1: nobody has said
    TransactionNumber ended_number = kNoTransactionNumber;        // of the last one whose marker is known here

    bool has_ended(TransactionNumber number) const { return number != kNoTransactionNumber && number <= ended_number; }
    uint64_t connection = 0;  // the newest from which this epoch has committed; 0: none since the shard was loaded
  };
  const Producer* find(ProducerId producer) const;
  bool guard_holds(uint64_t guard, const Producer* producer) const;
  void note_end(Producer& producer, ProducerId id);

  const size_t ended_max_;
  std::map<ProducerId, Producer> producers_;
  std::map<uint64_t, ProducerId> ended_;  // by ended_at: those without an open transaction
  uint64_t clock_ = 0;                    // rises with each guard and marker
  uint64_t loaded_at_ = 0;
  uint64_t forgotten_until_ = 0;  // whoever is not known may have ended a transaction until then
};

}  // namespace naru
