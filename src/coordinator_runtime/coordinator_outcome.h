// What a step of a coordinator leads to: records for its log, and answers that leave when the log has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/function.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "record_format/transaction_marker.h"

namespace naru {

// Both clocks at the moment of an event.
struct CoordinatorTime {
  MonotonicTime now;
  WallTimeMs wall_ms = 0;
};

struct CoordinatorRecord {
  Bytes key;
  std::optional<Bytes> value;  // none: a tombstone
};

// Called exactly once, inside the shard's strand. An error is the runtime's: the records could not be stored, or the
// shard has moved. What the coordinator itself refuses is part of the answer.
template <class Answer>
using Reply = UniqueFunction<void(Result<Answer>)>;

// Ends a producer's transaction in the coordinator's partition.
struct CoordinatorMarker {
  ProducerIdentity producer;  // with the epoch that the marker has
  TransactionMarker marker;
  int16_t transaction_version = 0;  // 2: every transaction has an epoch of its own
};

// Whoever fills it has applied the records already (StateShard::apply, apply_pending), and then the marker.
struct CoordinatorOutcome {
  std::vector<CoordinatorRecord> records;
  // All records of the step wait for the marker of this producer; they are a batch of their own. Excludes `marker`.
  std::optional<ProducerIdentity> transaction;
  // Written after the records. A crash may leave the records without it.
  std::optional<CoordinatorMarker> marker;
  // ok: these records and all before them are committed. Otherwise the reason why that will not be known.
  std::vector<UniqueFunction<void(const Status&)>> replies;
  // The answers have to be true when they are asked for: they leave when it is proven that nobody else has been elected
  // since. Costs a fetch of the followers, unless it writes anyway.
  bool proves_leadership = false;
  // Numbers of records, ascending: before these the step may be cut when it is too large for a batch. A crash leaves
  // the part up to the next cut, or nothing of it.
  std::vector<size_t> cuts;

  // What was decided so far stands for itself, whatever becomes of the rest of the step.
  void may_be_cut() {
    if (cuts.empty() || cuts.back() != records.size()) cuts.push_back(records.size());
  }

  template <class Answer>
  void answer(Reply<Answer> reply, Answer answer) {
    replies.push_back([reply = std::move(reply), answer = std::move(answer)](const Status& committed) mutable {
      if (committed.ok()) {
        reply(std::move(answer));
      } else {
        reply(failure(committed));
      }
    });
  }
};

}  // namespace naru
