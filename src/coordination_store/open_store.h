// Opens the coordination store that an address names.
#pragma once

#include <memory>

#include "async/cancellation.h"
#include "configuration/coordination_address.h"
#include "coordination_store/coordination_store.h"
#include "coordination_store/embedded/embedded_store.h"
#include "platform/seams.h"

namespace naru {

struct StoreOptions {
  CoordinationAddress address;
  Duration session_timeout = 6s;
  Duration connect_timeout = 10s;
  CancelToken cancelled;          // nobody wants it any more
  EmbeddedStoreOptions embedded;  // if the address says so
};

// A new session. Closed before it is destroyed. A service that cannot be reached is `unavailable`, with a sentence that
// says what to do.
Task<Result<std::unique_ptr<CoordinationStore>>> open_coordination_store(Seams seams, StoreOptions options);

}  // namespace naru
