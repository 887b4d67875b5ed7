// A ProducerState as bytes, and back. docs/formats/log.md has the layout.
#pragma once

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "log_storage/producer_state.h"

namespace naru {

// The state after everything below `offset` was applied.
Bytes encode_producer_snapshot(const ProducerState& state, Offset offset);

// corrupt_data for anything but the whole and undamaged snapshot of `offset`; unsupported_format for a newer version.
Result<ProducerState> decode_producer_snapshot(BytesView bytes, Offset offset, const ProducerLimits& limits);

}  // namespace naru
