// A ProducerState as bytes, and back. docs/formats/log.md has the layout.
#pragma once

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "log_storage/producer_state.h"

namespace naru {

// The state after everything below `offset` was applied. Times go in as the time since then, and come out as if no time
// had passed in between: a clock that was set, or a broker that was down, makes nobody look idle.
Bytes encode_producer_snapshot(const ProducerState& state, Offset offset, RunningTimeMs now);

// corrupt_data for anything but the whole and undamaged snapshot of `offset`; unsupported_format for a newer version.
Result<ProducerState> decode_producer_snapshot(BytesView bytes, Offset offset, const ProducerLimits& limits,
                                               RunningTimeMs now);

}  // namespace naru
