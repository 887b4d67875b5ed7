#include "broker/handlers/metadata_words.h"

#include <algorithm>

namespace naru {

std::optional<Endpoint> address_for(const RequestContext& context, const BrokerMetadata& broker) {
  const auto listener = std::ranges::find(broker.listeners, context.caller.listener, &BrokerListener::name);
  if (listener == broker.listeners.end()) return std::nullopt;
  if (listener->host.empty()) return context.connection->local();
  return Endpoint{listener->host, listener->port};
}

std::string error_text(const Status& status) {
  return status.message().empty() ? std::string(describe(status.code()).meaning) : status.message();
}

MonotonicTime deadline_of(const RequestContext& context, int32_t timeout_ms) {
  return context.received + Milliseconds(std::max(timeout_ms, 0));
}

Status not_in_time(int32_t timeout_ms) {
  return error(ErrorCode::request_timed_out, "not done within the request's timeout of {} ms; it goes on", timeout_ms);
}

}  // namespace naru
