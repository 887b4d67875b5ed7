// Addresses as the kernel wants them, and the way there from a host name.
#pragma once

#include <sys/socket.h>

#include <vector>

#include "platform/real/unique_descriptor.h"
#include "platform/transport.h"

namespace naru {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  Endpoint to_endpoint() const;
};

// Numeric hosts only: does not block.
Result<std::vector<SocketAddress>> resolve_numeric(const Endpoint& endpoint);
// Asks the name service, and blocks for as long as that takes. At least one address.
Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint);

// A non-blocking TCP socket for this kind of address.
Result<UniqueDescriptor> open_socket(const SocketAddress& address);
// What every connection of ours wants: no Nagle delay, and a dead peer found some day.
void tune_connection(int socket);
Endpoint local_endpoint(int socket);

}  // namespace naru
