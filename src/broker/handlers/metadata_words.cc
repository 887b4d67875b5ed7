#include "broker/handlers/metadata_words.h"

#include <algorithm>

namespace naru {

std::optional<Endpoint> address_for(const RequestContext& context, const BrokerMetadata& broker) {
  const auto listener = std::ranges::find(broker.listeners, context.connection->listener_name(), &BrokerListener::name);
  if (listener == broker.listeners.end()) return std::nullopt;
  if (listener->host.empty()) return context.connection->local();
  return Endpoint{listener->host, listener->port};
}

std::string error_text(const Status& status) {
  return status.message().empty() ? std::string(describe(status.code()).meaning) : status.message();
}

}  // namespace naru
