// Reading what a Fetch answer carries: batches of records, from a broker that may send anything. No I/O.
#pragma once

#include <span>

#include "foundation/bytes.h"
#include "foundation/function.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "record_format/record_reader.h"

namespace naru::client {

using AbortedTransactions = std::span<const kafka::FetchResponse::AbortedTransaction>;

// Calls `visit` for each record at or above `from`, until it returns false. Returns the offset to go on with: behind
// the last record visited if it stopped, else behind the last whole batch. Control batches are passed over, and what
// the aborted transactions wrote, which a broker tells to readers of committed records; a batch that is cut off at the
// end is left for the next fetch. corrupt_message with the offset when a batch is damaged, or is the only one and not
// whole.
Result<Offset> visit_records(BytesView batches, Offset from, UniqueFunction<bool(const RecordView&)> visit,
                             AbortedTransactions aborted = {});

}  // namespace naru::client
