// What the control batches of a log say.
#pragma once

#include <cstdint>
#include <optional>

#include "foundation/bytes.h"
#include "foundation/status.h"
#include "platform/file_system.h"
#include "record_format/record_batch.h"
#include "record_format/transaction_marker.h"

namespace naru {

// The marker in a batch whose CRC was checked. Nothing for a batch without one: of other records, or emptied.
// corrupt_message for a control batch that is no marker we know.
Result<std::optional<TransactionMarker>> marker_of(const BatchHeader& header, BytesView whole_batch);

// The same for a batch in a file, of which only the header was read; its CRC is checked. Reads nothing unless it is a
// control batch.
Result<std::optional<TransactionMarker>> read_marker(const File& file, uint64_t position, const BatchHeader& header);

}  // namespace naru
