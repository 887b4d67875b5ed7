// For tests: an address that answers nothing, without leaving this machine.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <tuple>

#include <gtest/gtest.h>

#include "platform/transport.h"

namespace naru {

// A listener whose queue of connections is full: the kernel answers nothing to those who come later.
class BusyListener {
 public:
  BusyListener() {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address_;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address_), length), 0);
    EXPECT_EQ(::listen(listener_, 0), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &length), 0);
    for (int& client : clients_) {
      client = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
      std::ignore = ::connect(client, reinterpret_cast<sockaddr*>(&address_), length);
    }
  }
  ~BusyListener() {
    for (const int client : clients_) ::close(client);
    ::close(listener_);
  }
  BusyListener(const BusyListener&) = delete;
  BusyListener& operator=(const BusyListener&) = delete;

  Endpoint address() const { return {"127.0.0.1", ntohs(address_.sin_port)}; }

 private:
  int listener_ = -1;
  sockaddr_in address_{};
  std::array<int, 4> clients_{};
};

}  // namespace naru
