// Calls of etcd's JSON gateway, at one of several servers: the one that answered last, until it does not.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "coordination_store/etcd/http_client.h"

namespace naru {

struct EtcdReply {
  Status status;  // unavailable: outcome unknown
  std::string body;
  bool lease_is_gone = false;
};

// Thread-safe. Opened and closed as the HttpClient is.
class EtcdClient {
 public:
  // `servers`: host:port each.
  EtcdClient(const Clock& clock, Scheduler& scheduler, std::vector<std::string> servers)
      : servers_(std::move(servers)), http_(clock, scheduler) {}

  HttpClient& http() { return http_; }
  size_t server_count() const { return servers_.size(); }

  // What may happen twice is tried at every server.
  Task<EtcdReply> call(std::string path, std::string body, Duration timeout);
  // The same, going on on the HTTP client's thread.
  Task<EtcdReply> call_aside(std::string path, std::string body, Duration timeout);
  // What must not is tried at another one only if the one before never saw it.
  Task<EtcdReply> call_once(std::string path, std::string body, Duration timeout);
  // For a stream.
  HttpRequest request(std::string_view path, std::string body) const;

 private:
  Task<EtcdReply> call_any(HttpRequest request, std::string path, bool aside = false);

  const std::vector<std::string> servers_;
  std::atomic<size_t> current_{0};
  HttpClient http_;
};

}  // namespace naru
