// Plain sockets for the floor programs and the load generators: as little as possible between them and the kernel.
#pragma once

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace naru::bench {

[[noreturn]] inline void die(std::string_view what) {
  std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(what.size()), what.data(), std::strerror(errno));
  std::exit(1);
}

inline sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

inline void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

inline int connect_to(uint16_t port) {
  const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  if (::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) die("connect");
  send_at_once(connection);
  return connection;
}

// Listens on a port that the kernel chooses, and tells it on stdout.
inline int listen_and_tell() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0) die("bind");
  if (::listen(listener, 128) != 0) die("listen");
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  std::printf("port %d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  return listener;
}

inline void write_all(int socket, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0) die("send");
    at += sent;
    size -= static_cast<size_t>(sent);
  }
}

inline void read_exactly(int socket, void* data, size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::recv(socket, at, size, 0);
    if (got == 0) {
      std::fprintf(stderr, "the server closed the connection\n");
      std::exit(1);
    }
    if (got < 0) die("recv");
    at += got;
    size -= static_cast<size_t>(got);
  }
}

inline uint32_t big_endian_at(const void* data) {
  uint32_t value;
  std::memcpy(&value, data, sizeof value);
  return ntohl(value);
}

}  // namespace naru::bench
