#include "coordination_store/zookeeper/zookeeper_store.h"

#include <fstream>

#include <gtest/gtest.h>

#include "coordination_store/real_backend_testing.h"
#include "coordination_store/server_faults_testing.h"
#include "coordination_store/server_process_testing.h"
#include "coordination_store/shared_store_contract.h"

namespace naru {
namespace {

constexpr Duration kZooKeeperTimeout = 2s;

class ZooKeeperServer {
 public:
  ZooKeeperServer() : port_(free_loopback_port()), process_(command(), folder_.path() + "/log") {
    std::ofstream(folder_.path() + "/zoo.cfg")
        << "tickTime=100\ndataDir=" << folder_.path() << "/data\nclientPort=" << port_
        << "\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n";
    process_.start();
  }
  static ZooKeeperServer& shared() {
    static ZooKeeperServer server;
    return server;
  }

  uint16_t port() const { return port_; }
  ServerProcess& process() { return process_; }
  static Result<std::unique_ptr<CoordinationStore>> open(uint16_t port, std::string root) {
    auto opened =
        run_for_real(ZooKeeperStore::open(shared_platform().seams(), {.servers = "127.0.0.1:" + std::to_string(port),
                                                                      .root = std::move(root),
                                                                      .session_timeout = kZooKeeperTimeout}));
    if (!opened) return failure(std::move(opened).error());
    return std::unique_ptr<CoordinationStore>(std::move(*opened));
  }

 private:
  std::vector<std::string> command() const {
    return {"java",
            "-Xms64m",
            "-Xmx256m",
            "-cp",
            "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar",
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            folder_.path() + "/zoo.cfg"};
  }

  TemporaryFolder folder_;
  const uint16_t port_;
  ServerProcess process_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(ZooKeeper, CoordinationStoreContract, RealBackend<ZooKeeperServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(ZooKeeper, SharedStoreContract, RealBackend<ZooKeeperServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(ZooKeeper, ServerFaults, ZooKeeperServer);

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
