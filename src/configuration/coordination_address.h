// Where the small truth about a cluster is kept: "embedded", or a service and the place in it.
//
//     embedded
//     zookeeper://host:2181,host:2181/naru
//     etcd://host:2379,host:2379/naru
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/status.h"
#include "platform/transport.h"

namespace naru {

enum class CoordinationService : uint8_t { embedded, zookeeper, etcd };

struct CoordinationAddress {
  CoordinationService service = CoordinationService::embedded;
  std::vector<Endpoint> servers;  // of a service, at least one
  std::string root;               // begins with a slash and does not end with one; one per cluster

  // As parse_coordination_address() takes it.
  std::string to_string() const;
  bool operator==(const CoordinationAddress&) const = default;
};

// invalid_config with a sentence that says what is wrong.
Result<CoordinationAddress> parse_coordination_address(std::string_view text);

}  // namespace naru
