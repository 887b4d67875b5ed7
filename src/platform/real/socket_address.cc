#include "platform/real/socket_address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <cstring>
#include <memory>

#include "platform/real/os_error.h"

namespace naru {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};

Result<std::vector<SocketAddress>> look_up(const Endpoint& endpoint, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (failed != 0) {
    return failure(ErrorCode::io_error, "cannot resolve host '{}': {}", endpoint.host, ::gai_strerror(failed));
  }
  const std::unique_ptr<addrinfo, FreeAddresses> owned(found);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    std::memcpy(&address.storage, info->ai_addr, info->ai_addrlen);
    address.length = info->ai_addrlen;
  }
  return addresses;
}

void set_option(int socket, int level, int option) {
  const int on = 1;
  ::setsockopt(socket, level, option, &on, sizeof on);
}

}  // namespace

Endpoint SocketAddress::to_endpoint() const {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(get(), length, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {host.data(), static_cast<uint16_t>(std::stoul(port.data()))};
}

Result<std::vector<SocketAddress>> resolve_numeric(const Endpoint& endpoint) {
  return look_up(endpoint, AI_NUMERICHOST);
}

Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint) {
  return look_up(endpoint, 0);
}

Result<UniqueDescriptor> open_socket(const SocketAddress& address) {
  UniqueDescriptor socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return failure(os_error(errno, "socket", address.to_endpoint().to_string()));
  return socket;
}

void tune_connection(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE);
}

Endpoint local_endpoint(int socket) {
  SocketAddress address;
  if (::getsockname(socket, address.get(), &address.length) != 0) return {};
  return address.to_endpoint();
}

}  // namespace naru
