// Who asks, and since when: what a handler knows besides the request itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "access/caller.h"
#include "broker/decoded_memory.h"
#include "broker/quota.h"
#include "foundation/shared_bytes.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "kafka_protocol/api_row.h"
#include "network/connection.h"
#include "observability/slow_request_log.h"

namespace naru {

class ForwardedRequests;

// Lives, like everything it refers to, until the request is answered.
struct RequestContext {
  const kafka::ApiRow& api;
  int16_t version;
  int32_t correlation_id;
  std::optional<std::string_view> client_id;  // points into `frame`
  const Caller& caller;
  const std::shared_ptr<Connection>& connection;
  const SharedBytes& frame;  // decoded requests point into it
  MonotonicTime received;
  RequestTimes& times;
  DecodedMemory& memory;
  Quota& quota;
  ForwardedRequests& forwarded;
  const bool was_forwarded;  // by another broker, for `caller`
  // Not ok: the request was passed on to the controller, and nobody knows what became of it. This is the answer then.
  Status given_up;

  // Nothing that follows this request can be understood, or is wanted: of its own connection, not of the one on which
  // another broker has passed it on. Loop thread.
  void ignore_further_input() const {
    if (!was_forwarded) connection->ignore_further_input();
  }

  // A part of the frame that stays valid on its own.
  SharedBytes keep(BytesView part) const {
    return frame.slice(static_cast<size_t>(part.data() - frame.view().data()), part.size());
  }
};

}  // namespace naru
