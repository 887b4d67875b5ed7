// Counts of connections: how many came, how many were refused and why, how they ended.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "observability/metrics_registry.h"

namespace naru {

// Why a connection was closed.
enum class ConnectionEnd : uint8_t {
  client,           // the client left, or the network failed
  idle,             // no request for connections.max.idle.ms
  slow_request,     // a request that began and did not come to its end
  malformed,        // bytes that are no frames
  refused_request,  // a request that the broker can only answer by closing
  no_answer,        // an answer of ours that cannot be encoded: a mistake of the broker's
  unread_answers,   // answers that the client did not read, while memory for such answers was used up
  memory,           // a request larger than the whole memory budget
  stop,             // the broker stops
};
inline constexpr size_t kConnectionEnds = 9;

enum class ConnectionRefusal : uint8_t { max_connections, max_connections_per_ip, stopping };
inline constexpr size_t kConnectionRefusals = 3;

// Thread-safe after construction.
class ConnectionMetrics {
 public:
  explicit ConnectionMetrics(MetricsRegistry& registry)
      : accepted_(registry.counter("naru_connections_accepted_total", "Connections that were accepted")) {
    constexpr std::array<std::string_view, kConnectionEnds> kEnds{
        "client",    "idle",           "slow_request", "malformed", "refused_request",
        "no_answer", "unread_answers", "memory",       "stop"};
    constexpr std::array<std::string_view, kConnectionRefusals> kRefusals{"max_connections", "max_connections_per_ip",
                                                                          "stopping"};
    for (size_t i = 0; i < kConnectionEnds; ++i) {
      ended_[i] = &registry.counter("naru_connections_closed_total", "Connections that were closed, by reason",
                                    {{"reason", std::string(kEnds[i])}});
    }
    for (size_t i = 0; i < kConnectionRefusals; ++i) {
      refused_[i] = &registry.counter("naru_connections_refused_total", "Connections that were refused, by reason",
                                      {{"reason", std::string(kRefusals[i])}});
    }
  }

  void accepted() { accepted_.add(); }
  void refused(ConnectionRefusal why) { refused_[static_cast<size_t>(why)]->add(); }
  void ended(ConnectionEnd why) { ended_[static_cast<size_t>(why)]->add(); }

 private:
  Counter& accepted_;
  std::array<Counter*, kConnectionEnds> ended_{};
  std::array<Counter*, kConnectionRefusals> refused_{};
};

}  // namespace naru
