// Creating and deleting topics.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cluster_client.h"

namespace naru::client {

struct NewTopic {
  std::string name;
  int32_t partitions = -1;  // -1: the broker's default
  int16_t replicas = -1;    // likewise
  std::vector<std::pair<std::string, std::string>> configs;
};

struct CreatedTopic {
  Uuid id;
  int32_t partitions = -1;  // -1: the broker did not say
  int16_t replicas = -1;
};

// Asks the controller; once more when it has moved. After network_exception the outcome is unknown.
Task<Result<CreatedTopic>> create_topic(ClusterClient& client, NewTopic topic);
Task<Status> delete_topic(ClusterClient& client, std::string name);
// `count` with those that exist.
Task<Status> set_partitions(ClusterClient& client, std::string name, int32_t count);

}  // namespace naru::client
