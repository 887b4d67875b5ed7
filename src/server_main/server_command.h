// `naru server`: one broker in this process, until SIGTERM or SIGINT.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace naru {

struct ServerFlags {
  std::string config_file;       // --config
  std::string data;              // --data
  std::string kafka;             // --kafka
  std::string advertise;         // --advertise
  std::string node_id;           // --node-id
  std::vector<std::string> set;  // --set key=value
  std::vector<std::pair<std::string, std::string>> environment;
};

// The exit code: 0 after a clean shutdown, 1 when the broker could not start or not stop in order, 2 for wrong flags.
int run_server(const ServerFlags& flags, std::string_view version);

}  // namespace naru
