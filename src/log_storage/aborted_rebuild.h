// Which transactions were aborted, found out from the batches: for segments whose index of them is missing or in doubt.
#pragma once

#include <memory>
#include <span>

#include "foundation/status.h"
#include "log_storage/aborted_transaction.h"
#include "log_storage/log_producers.h"
#include "log_storage/producer_state.h"
#include "log_storage/segment.h"

namespace naru {

// As it is noted when its marker has just been applied to `state`.
AbortedTransaction as_aborted(const TransactionEnd& ended, const ProducerState& state);

// Notes the aborted transactions in those of the `segments` (a log from its begin on) that are in doubt, and settles
// them. Where their transactions began may be told by segments before, or by a snapshot. Blocks. corrupt_data when a
// batch that has to be read is damaged.
Status rebuild_aborted(std::span<Segment* const> segments, LogProducers& producers);

}  // namespace naru
