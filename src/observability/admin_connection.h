// One HTTP connection of the admin server: reads the head of one request, sends one answer, closes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "platform/seams.h"

namespace naru {

class AdminServer;

// On the server's loop.
class AdminConnection final : public StreamObserver, public std::enable_shared_from_this<AdminConnection> {
 public:
  AdminConnection(AdminServer& server, uint64_t id, std::unique_ptr<Stream> stream)
      : server_(server), id_(id), stream_(std::move(stream)) {}

  void start(Seams& seams);
  // Leaves the server's list.
  void close();

 private:
  void on_readable() override;
  void on_writable() override { send(); }
  void send();

  AdminServer& server_;
  const uint64_t id_;
  std::unique_ptr<Stream> stream_;
  std::string head_;  // of the request, as far as it has come
  std::string answer_;
  size_t sent_ = 0;
  bool closed_ = false;
};

}  // namespace naru
