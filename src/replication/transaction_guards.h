// What a leader knows, during its reign, of transactional producers beyond what the log says: which of them have just
// been asked about at their coordinator, under which number the open transaction was confirmed, which one was ended
// last, and on which connection a producer was heard last. A core without I/O.
//
// A batch may open a transaction only with a guard: the coordinator has said, after the guard was made, that the
// transaction is ongoing, and no marker of the producer has come since. So a batch that comes late, after its
// transaction was ended, opens nothing.
//
// A marker that this reign has appended is recognised when it comes again. Of any other one nobody here can say that it
// has nothing to end: a leader that was replaced without knowing it would say the same.
//
// Nothing of it outlives the reign. What is lost is asked for again; a number that is not known says nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "foundation/ids.h"
#include "record_format/transaction_marker.h"

namespace naru {

// Unique within a partition's life in this process. 0: the producer's transaction is open already; nobody has to be
// asked.
using VerificationGuard = uint64_t;

// What the coordinator has said to a question under this guard.
struct TransactionVerdict {
  VerificationGuard guard = 0;
  TransactionNumber number = kNoTransactionNumber;
  int32_t coordinator_epoch = -1;  // of who has said so; -1: unknown
  bool implicit = false;           // version 2: the coordinator has added the partition to the transaction
};

// Thread: the partition's strand.
class TransactionGuards {
 public:
  // Producers beyond that are forgotten, the one that was not heard of for longest first, those with open transactions
  // last: their next batch has to be verified again, their next marker is appended whatever was before.
  static constexpr size_t kMaxProducers = 4096;

  // A producer is about to be asked about, for a batch that begins with this sequence (-1: of a coordinator). Several
  // questions about one producer epoch share a guard.
  VerificationGuard begin(const ProducerIdentity& producer, int32_t base_sequence);
  // Whether the guard still holds for a batch of this producer.
  bool holds(const ProducerIdentity& producer, VerificationGuard guard) const;
  // Whether a batch with an earlier sequence was asked about under the guard, and has to come first.
  bool comes_too_early(const ProducerIdentity& producer, int32_t base_sequence) const;
  // A batch that was verified has opened a transaction: the guard has done its duty.
  void opened(const ProducerIdentity& producer, TransactionNumber number);
  // A marker of the producer was appended. Guards are void, unless the marker has come before.
  // With version 2 the marker carries the epoch of the next transaction, whose first batch may have been asked about
  // already: that guard stays.
  void ended(const ProducerIdentity& marker, TransactionNumber number, int16_t transaction_version);
  // Whether this reign has appended the marker of this transaction, or of a later one.
  bool has_ended(ProducerId producer, TransactionNumber number) const;
  // The number of the open transaction; kNoTransactionNumber: not known.
  TransactionNumber number(ProducerId producer) const;

  // Connections have rising numbers. Whether a later one than `connection` has appended for the producer in its epoch.
  bool comes_late(const ProducerIdentity& producer, uint64_t connection) const;
  void appended(const ProducerIdentity& producer, uint64_t connection);

  // The reign is over, or begins.
  void clear();
  size_t size() const { return by_id_.size(); }

 private:
  struct Entry {
    ProducerId id;
    ProducerEpoch guarded_epoch{-1};
    VerificationGuard guard = 0;
    int32_t lowest_sequence = -1;                     // asked about under the guard
    TransactionNumber number = kNoTransactionNumber;  // of the open transaction
    TransactionNumber ended = kNoTransactionNumber;   // of the last one that was ended
    ProducerEpoch heard_epoch{-1};
    uint64_t connection = 0;
  };
  const Entry* find(ProducerId id) const;
  Entry& touch(ProducerId id);

  std::list<Entry> entries_;  // the one that was heard of last comes last
  std::unordered_map<ProducerId, std::list<Entry>::iterator> by_id_;
  VerificationGuard last_guard_ = 0;
};

}  // namespace naru
