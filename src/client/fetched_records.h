// Reading what a Fetch answer carries: batches of records, from a broker that may send anything. No I/O.
#pragma once

#include "foundation/bytes.h"
#include "foundation/function.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "record_format/record_reader.h"

namespace naru::client {

// Calls `visit` for each record at or above `from`, until it returns false. Returns the offset to go on with: behind
// the last record visited if it stopped, else behind the last whole batch. Control batches are passed over; a batch
// that is cut off at the end is left for the next fetch. corrupt_message with the offset when a batch is damaged, or is
// the only one and not whole.
Result<Offset> visit_records(BytesView batches, Offset from, UniqueFunction<bool(const RecordView&)> visit);

}  // namespace naru::client
