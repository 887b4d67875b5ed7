// Reads what a broker has stored, without a client.
#pragma once

#include <functional>

#include "log_storage/partition_log.h"
#include "record_format/record_batch.h"
#include "record_format/record_reader.h"

namespace naru::simulation {

// Shows whole batches from `from` to `end`, as far as they are there, beginning with the one that `from` is in.
// Inside the strand of the log's partition.
Status read_stored_batches(PartitionLog& log, Offset from, Offset end,
                           const std::function<Status(const BatchHeader&, BytesView)>& show);

// Shows the records from `from` to `end`, as far as they are there; a batch that begins before is shown whole.
// Inside the strand of the log's partition.
Status read_stored_records(PartitionLog& log, Offset from, Offset end,
                           const std::function<Status(const BatchHeader&, const RecordView&)>& show);

}  // namespace naru::simulation
