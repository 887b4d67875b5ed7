// Reading and changing the configuration of topics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cluster_client.h"

namespace naru::client {

struct ConfigEntry {
  std::string name;
  std::optional<std::string> value;  // none for secrets
  int8_t source = 0;                 // as in the protocol; see config_source_name()

  // Whether somebody set it for this very topic.
  bool is_set_here() const;
};

// "topic", "broker", "cluster", "file", "default"; "unknown" for numbers that we do not know.
std::string_view config_source_name(int8_t source);

// In the order of their names.
Task<Result<std::vector<ConfigEntry>>> describe_topic_config(ClusterClient& client, std::string topic);

struct ConfigChanges {
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> remove;  // back to what counts without
};
// All of them or none.
Task<Status> alter_topic_config(ClusterClient& client, std::string topic, ConfigChanges changes);

}  // namespace naru::client
