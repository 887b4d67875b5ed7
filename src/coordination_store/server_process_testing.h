// For tests: server programs on loopback ports of their own, with their data in folders of their own, and a proxy that
// cuts connections.
#pragma once

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/assert.h"

namespace naru {

inline sockaddr_in loopback_address(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A socket that is bound to a free port, and the port.
inline std::pair<int, uint16_t> bind_loopback() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback_address(0);
  socklen_t size = sizeof(address);
  const bool bound = ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  NARU_ASSERT(bound, "no free port");
  return {socket, ntohs(address.sin_port)};
}

// That was free a moment ago.
inline uint16_t free_loopback_port() {
  const auto [socket, port] = bind_loopback();
  ::close(socket);
  return port;
}

// Removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "naru_test_XXXXXX").string()) {
    NARU_ASSERT(::mkdtemp(path_.data()) != nullptr, "no temporary folder");
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Dies with the thread that started it.
class ServerProcess {
 public:
  // The program is looked up in PATH; its output goes to the file `log`.
  ServerProcess(std::vector<std::string> command, std::string log)
      : command_(std::move(command)), log_(std::move(log)) {}
  ~ServerProcess() { kill(); }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  void start() {
    pid_ = ::fork();
    NARU_ASSERT(pid_ >= 0, "cannot fork");
    if (pid_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int log = ::open(log_.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& argument : command_) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }
  void pause() { ::kill(pid_, SIGSTOP); }
  void resume() { ::kill(pid_, SIGCONT); }

 private:
  const std::vector<std::string> command_;
  const std::string log_;
  pid_t pid_ = 0;
};

// Forwards connections to a port, until it is told otherwise. One thread.
class TcpProxy {
 public:
  explicit TcpProxy(uint16_t target) : target_(target) {
    std::tie(listener_, port_) = bind_loopback();
    NARU_ASSERT(::listen(listener_, 16) == 0 && ::pipe2(wake_, O_CLOEXEC) == 0, "no proxy");
    thread_ = std::thread([this] { run(); });
  }
  ~TcpProxy() {
    stopping_ = true;
    wake();
    thread_.join();
    for (const int descriptor : {listener_, wake_[0], wake_[1]}) ::close(descriptor);
  }
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  uint16_t port() const { return port_; }
  // Requests go through, but the first answer cuts all connections. New ones are refused, or taken.
  void cut_at_next_answer(bool refuse_new = true) {
    refuse_after_cut_ = refuse_new;
    cut_at_answer_ = true;
  }
  // Neither direction, and no new connection, but nothing is closed either.
  void hold() {
    holding_ = true;
    wake();
  }
  void heal() {
    cut_at_answer_ = false;
    refusing_ = false;
    holding_ = false;
    wake();
  }

 private:
  void wake() {
    const char byte = 0;
    NARU_ASSERT(::write(wake_[1], &byte, 1) == 1, "cannot wake the proxy");
  }

  void run() {
    while (!stopping_) {
      std::vector<pollfd> polls{{wake_[0], POLLIN, 0}};
      if (!holding_) {
        polls.push_back({listener_, POLLIN, 0});
        for (const auto& [from, to] : peers_) polls.push_back({from, POLLIN, 0});
      }
      ::poll(polls.data(), polls.size(), -1);
      for (const pollfd& poll : polls) {
        if (poll.revents != 0) serve(poll.fd);
      }
    }
    cut();
  }

  void serve(int descriptor) {
    if (descriptor == wake_[0]) {
      char bytes[64];
      static_cast<void>(::read(wake_[0], bytes, sizeof(bytes)));
    } else if (descriptor == listener_) {
      accept();
    } else if (const auto peer = peers_.find(descriptor); peer != peers_.end()) {
      forward(descriptor, peer->second);
    }
  }

  void accept() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback_address(target_);
    if (refusing_ || ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      ::close(client);
      ::close(server);
      return;
    }
    servers_.insert({server, client});
    peers_.insert({client, server});
    peers_.insert({server, client});
  }

  void forward(int from, int to) {
    char bytes[65536];
    // The event may be of a descriptor that was closed meanwhile and is another one's number now.
    const ssize_t count = ::recv(from, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return;
    if (cut_at_answer_ && servers_.contains(from)) {
      cut_at_answer_ = false;
      refusing_ = refuse_after_cut_.load();
      return cut();
    }
    if (count <= 0 || ::send(to, bytes, static_cast<size_t>(count), MSG_NOSIGNAL) != count) close_pair(from, to);
  }

  void close_pair(int one, int other) {
    for (const int descriptor : {one, other}) {
      peers_.erase(descriptor);
      servers_.erase(descriptor);
      ::close(descriptor);
    }
  }

  void cut() {
    while (!servers_.empty()) close_pair(servers_.begin()->first, servers_.begin()->second);
  }

  const uint16_t target_;
  int listener_ = -1;
  uint16_t port_ = 0;
  int wake_[2] = {-1, -1};
  std::atomic<bool> stopping_{false}, cut_at_answer_{false}, refuse_after_cut_{false}, refusing_{false},
      holding_{false};
  std::map<int, int> peers_;    // both directions
  std::map<int, int> servers_;  // the ends that talk to the target
  std::thread thread_;
};

}  // namespace naru
