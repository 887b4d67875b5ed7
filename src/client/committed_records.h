// What readers of committed records get of the batches that a Fetch answer carries. No I/O.
#pragma once

#include <span>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "kafka_protocol/messages/fetch_response.h"

namespace naru::client {

struct CommittedLook {
  bool found = false;  // a batch with a record that they get
  Offset next;         // else: behind the last whole batch
};

// From `from` on. `aborted`: as the broker told with these batches, which it was asked for as a reader of committed
// records. corrupt_message when a batch is damaged, or is the only one and not whole.
Result<CommittedLook> look_for_committed(BytesView batches, Offset from,
                                         std::span<const kafka::FetchResponse::AbortedTransaction> aborted);

}  // namespace naru::client
