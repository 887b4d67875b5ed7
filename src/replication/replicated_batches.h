// Batches as a leader sent them, checked before any of them is stored.
#pragma once

#include <vector>

#include "foundation/ids.h"
#include "foundation/shared_bytes.h"
#include "foundation/status.h"
#include "record_format/record_batch.h"

namespace naru {

struct ReplicatedBatch {
  SharedBytes bytes;
  BatchHeader header;
};

// Whole batches one directly behind the other, from the one that holds or begins at `from` on, none of a later epoch
// than the leader's, each with the right CRC. corrupt_message where they are not: then nothing of it may be stored.
// What the records say is not looked at: the leader did that when they were produced.
//
// Where compaction has put one filler in the place of several batches, `from` may lie inside of it: then the first
// batch is a filler that begins at `from`. Another batch that begins before `from` and holds it is passed on as it is:
// the leader's log may begin in the middle of it.
Result<std::vector<ReplicatedBatch>> check_replicated_batches(const SharedBytes& bytes, Offset from,
                                                              LeaderEpoch leader_epoch);

}  // namespace naru
