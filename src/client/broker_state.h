// What one broker says about itself: its disks, its clock and its listeners.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/broker_connection.h"
#include "client/cluster_metadata.h"

namespace naru::client {

struct PartitionSize {
  TopicPartition name;
  uint64_t bytes = 0;
};

struct LogFolder {
  std::string path;
  ErrorCode error = ErrorCode::none;
  int64_t log_bytes = 0;                // of all partitions in it
  std::optional<uint64_t> total_bytes;  // of its disk
  std::optional<uint64_t> free_bytes;
  std::vector<PartitionSize> partitions;
};
Task<Result<std::vector<LogFolder>>> describe_log_folders(BrokerConnection& connection, Duration timeout);

struct BrokerClock {
  WallTimeMs broker = 0;  // what the broker's clock showed,
  WallTimeMs before = 0;  // some time between these two of ours
  WallTimeMs after = 0;

  // How far the broker's clock is ahead of ours, at least: 0 when the answer fits in between.
  int64_t ahead_ms() const;
};
// Nothing from a broker that does not tell.
Task<Result<std::optional<BrokerClock>>> ask_for_time(BrokerConnection& connection, const Clock& clock,
                                                      Duration timeout);

struct ListenerSettings {
  std::string listeners;                       // "NAME://HOST:PORT,..."
  std::optional<std::string> between_brokers;  // the one that is set apart for brokers
};
// `broker` is the one at the other end.
Task<Result<ListenerSettings>> describe_listeners(BrokerConnection& connection, BrokerId broker, Duration timeout);

}  // namespace naru::client
