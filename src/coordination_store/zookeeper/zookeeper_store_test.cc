#include "coordination_store/zookeeper/zookeeper_store.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "coordination_store/real_backend_testing.h"
#include "coordination_store/server_failover_testing.h"
#include "coordination_store/server_faults_testing.h"
#include "coordination_store/server_process_testing.h"
#include "coordination_store/shared_store_contract.h"

namespace naru {
namespace {

std::vector<std::string> zookeeper_command(const std::string& folder) {
  return {"java",
          "-Xms64m",
          "-Xmx256m",
          "-cp",
          "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar",
          "org.apache.zookeeper.server.quorum.QuorumPeerMain",
          folder + "/zoo.cfg"};
}

Result<std::unique_ptr<CoordinationStore>> open_zookeeper(std::string servers, std::string root, Duration timeout) {
  auto opened = run_for_real(ZooKeeperStore::open(
      shared_platform().seams(),
      {.servers = std::move(servers), .root = std::move(root), .session_timeout = timeout, .connect_timeout = 120s}));
  if (!opened) return failure(std::move(opened).error());
  return std::unique_ptr<CoordinationStore>(std::move(*opened));
}

class ZooKeeperServer {
 public:
  // `more`: further lines of the configuration.
  explicit ZooKeeperServer(const std::string& more = "", const std::string& id = "")
      : process_(zookeeper_command(folder_.path()), folder_.path() + "/log") {
    std::filesystem::create_directory(folder_.path() + "/data");
    if (!id.empty()) std::ofstream(folder_.path() + "/data/myid") << id << "\n";
    std::ofstream(folder_.path() + "/zoo.cfg")
        << "tickTime=1000\ndataDir=" << folder_.path() << "/data\nclientPort=" << port_
        << "\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n"
        << more;
    process_.start();
  }
  static ZooKeeperServer& shared() {
    static ZooKeeperServer server;
    return server;
  }

  uint16_t port() const { return port_; }
  ServerProcess& process() { return process_; }
  static Result<std::unique_ptr<CoordinationStore>> open(uint16_t port, std::string root, Duration timeout) {
    return open_zookeeper("127.0.0.1:" + std::to_string(port), std::move(root), timeout);
  }

 private:
  TemporaryFolder folder_;
  const uint16_t port_ = free_loopback_port();
  ServerProcess process_;
};

class ZooKeeperEnsemble {
 public:
  ZooKeeperEnsemble() {
    std::string members = "initLimit=10\nsyncLimit=5\n";
    for (int id = 1; id <= 3; ++id) {
      members += fmt::format("server.{}=127.0.0.1:{}:{}\n", id, free_loopback_port(), free_loopback_port());
    }
    for (int id = 1; id <= 3; ++id) servers_.push_back(std::make_unique<ZooKeeperServer>(members, std::to_string(id)));
  }

  ServerProcess& process(size_t server) { return servers_[server]->process(); }
  Result<std::unique_ptr<CoordinationStore>> open() {
    std::string addresses;
    for (const auto& server : servers_) addresses += fmt::format(",127.0.0.1:{}", server->port());
    return open_zookeeper(addresses.substr(1), "/naru", 20s);
  }

 private:
  std::vector<std::unique_ptr<ZooKeeperServer>> servers_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(ZooKeeper, CoordinationStoreContract, RealBackend<ZooKeeperServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(ZooKeeper, SharedStoreContract, RealBackend<ZooKeeperServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(ZooKeeper, ServerFaults, ZooKeeperServer);
INSTANTIATE_TYPED_TEST_SUITE_P(ZooKeeper, ServerFailover, ZooKeeperEnsemble);

TEST(ZooKeeperStore, ServersThatDoNotAnswerAreNamed) {
  const auto opened = run_for_real(ZooKeeperStore::open(
      shared_platform().seams(),
      {.servers = "127.0.0.1:" + std::to_string(free_loopback_port()), .root = "/naru", .connect_timeout = 300ms}));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::unavailable);
  EXPECT_NE(opened.error().message().find("127.0.0.1:"), std::string::npos) << opened.error().message();
}

}  // namespace
}  // namespace naru
