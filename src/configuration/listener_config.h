// The doors of a broker: listeners, advertised.listeners and listener.security.protocol.map, read together.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/status.h"
#include "platform/transport.h"

namespace naru {

// The numbers are Kafka's.
enum class SecurityProtocol : int16_t { plaintext = 0 };

struct ListenerConfig {
  std::string name;                    // upper case: "PLAINTEXT", "INTERNAL"
  Endpoint bind;                       // port 0: any free one
  std::optional<Endpoint> advertised;  // none: clients are told the address that they connected to
  SecurityProtocol security_protocol = SecurityProtocol::plaintext;

  bool operator==(const ListenerConfig&) const = default;
};

// "PLAINTEXT://host:port,INTERNAL://[::1]:port" or plain "host:port", which is listener PLAINTEXT.
// `advertised` uses the same form, names listeners of the first list, and may leave some out or be empty.
// `protocol_map` is "INTERNAL:PLAINTEXT,...". ErrorCode::invalid_argument with a sentence that says what to change.
Result<std::vector<ListenerConfig>> parse_listeners(std::string_view listeners, std::string_view advertised,
                                                    std::string_view protocol_map);

// Sentences about listeners that strangers may reach, and about those that clients are sent to and cannot reach; the
// broker logs them when it starts.
std::vector<std::string> listener_warnings(const std::vector<ListenerConfig>& listeners);

}  // namespace naru
