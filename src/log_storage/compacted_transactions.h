// The transactions that a compaction comes across, going over the batches of a log in their order: which records were
// aborted, and which markers have nothing left to end. A core without I/O.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "foundation/ids.h"
#include "log_storage/aborted_transaction.h"
#include "record_format/record_batch.h"

namespace naru {

// Thread: the worker that compacts.
class CompactedTransactions {
 public:
  // `aborted`: all that have records in what is gone over, by where they begin.
  explicit CompactedTransactions(std::vector<AbortedTransaction> aborted) : aborted_(std::move(aborted)) {}

  // Whether the records of this batch belong to an aborted transaction.
  bool is_aborted(const BatchHeader& data);
  // A batch of a transaction stays with records.
  void stays(const BatchHeader& data) { with_records_.insert(data.producer_id); }

  struct End {
    bool has_records = false;                   // some are left
    std::optional<AbortedTransaction> aborted;  // what is noted of it, if it was aborted
  };
  // A marker: of the transaction that it ends.
  End end(const BatchHeader& marker);

 private:
  void go_to(Offset offset);

  std::vector<AbortedTransaction> aborted_;
  size_t next_ = 0;
  std::unordered_map<ProducerId, AbortedTransaction> current_;  // the last one of each producer that has begun
  std::unordered_set<ProducerId> with_records_;
};

}  // namespace naru
