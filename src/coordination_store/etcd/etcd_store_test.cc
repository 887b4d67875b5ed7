#include "coordination_store/etcd/etcd_store.h"

#include <gtest/gtest.h>

#include "coordination_store/real_backend_testing.h"
#include "coordination_store/server_failover_testing.h"
#include "coordination_store/server_faults_testing.h"
#include "coordination_store/server_process_testing.h"
#include "coordination_store/shared_store_contract.h"

namespace naru {
namespace {

constexpr Duration kEtcdTimeout = 20s;

// One member of a cluster, or a cluster of its own.
struct EtcdMember {
  TemporaryFolder folder;
  uint16_t port = free_loopback_port();
  uint16_t peer_port = free_loopback_port();
  std::string name = std::to_string(peer_port);
  std::unique_ptr<ServerProcess> process;

  std::string peer() const { return fmt::format("http://127.0.0.1:{}", peer_port); }
  std::string server() const { return fmt::format("127.0.0.1:{}", port); }
  // `cluster`: NAME=PEER,... of all members.
  void start(const std::string& cluster) {
    const std::string client = "http://" + server();
    const std::vector<std::string> command{"etcd",
                                           "--name",
                                           name,
                                           "--data-dir",
                                           folder.path() + "/data",
                                           "--listen-client-urls",
                                           client,
                                           "--advertise-client-urls",
                                           client,
                                           "--listen-peer-urls",
                                           peer(),
                                           "--initial-advertise-peer-urls",
                                           peer(),
                                           "--initial-cluster",
                                           cluster,
                                           "--heartbeat-interval",
                                           "50",
                                           "--election-timeout",
                                           "500"};
    process = std::make_unique<ServerProcess>(command, folder.path() + "/log");
    process->start();
  }
};

Result<std::unique_ptr<CoordinationStore>> open_etcd(std::vector<std::string> servers, std::string root,
                                                     Duration timeout = kEtcdTimeout) {
  auto opened = run_for_real(EtcdStore::open(
      shared_platform().seams(),
      {.servers = std::move(servers), .root = std::move(root), .session_timeout = timeout, .connect_timeout = 120s}));
  if (!opened) return failure(std::move(opened).error());
  return std::unique_ptr<CoordinationStore>(std::move(*opened));
}

class EtcdServer {
 public:
  EtcdServer() { member_.start(member_.name + "=" + member_.peer()); }
  static EtcdServer& shared() {
    static EtcdServer server;
    return server;
  }

  uint16_t port() const { return member_.port; }
  ServerProcess& process() { return *member_.process; }
  static Result<std::unique_ptr<CoordinationStore>> open(uint16_t port, std::string root, Duration timeout) {
    return open_etcd({"127.0.0.1:" + std::to_string(port)}, std::move(root), timeout);
  }

 private:
  EtcdMember member_;
};

class EtcdEnsemble {
 public:
  EtcdEnsemble() {
    std::string cluster;
    for (const EtcdMember& member : members_) cluster += fmt::format(",{}={}", member.name, member.peer());
    for (EtcdMember& member : members_) member.start(cluster.substr(1));
  }

  ServerProcess& process(size_t member) { return *members_[member].process; }
  Result<std::unique_ptr<CoordinationStore>> open() {
    return open_etcd({members_[0].server(), members_[1].server(), members_[2].server()}, "/naru", 20s);
  }

 private:
  EtcdMember members_[3];
};

INSTANTIATE_TYPED_TEST_SUITE_P(Etcd, CoordinationStoreContract, RealBackend<EtcdServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(Etcd, SharedStoreContract, RealBackend<EtcdServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(Etcd, ServerFaults, EtcdServer);
INSTANTIATE_TYPED_TEST_SUITE_P(Etcd, ServerFailover, EtcdEnsemble);

TEST(EtcdStore, AnotherServerIsTriedWhenOneDoesNotAnswer) {
  const std::string nobody = "127.0.0.1:" + std::to_string(free_loopback_port());
  auto opened = open_etcd({nobody, "127.0.0.1:" + std::to_string(EtcdServer::shared().port()), nobody}, "/other");
  ASSERT_TRUE(opened) << opened.error().to_string();
  EXPECT_TRUE(run_for_real((*opened)->commit({.puts = {text_put("a", "1")}})));
  EXPECT_TRUE(run_for_real((*opened)->close()).ok());
}

TEST(EtcdStore, ServersThatDoNotAnswerAreNamed) {
  const std::string nobody = "127.0.0.1:" + std::to_string(free_loopback_port());
  const auto opened =
      run_for_real(EtcdStore::open(shared_platform().seams(), {.servers = {nobody}, .connect_timeout = 300ms}));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::unavailable);
  EXPECT_NE(opened.error().message().find(nobody), std::string::npos) << opened.error().message();
}

TEST(EtcdStore, AFolderOfManyKeysIsListedInPages) {
  auto store = EtcdServer::open(EtcdServer::shared().port(), "/many", kEtcdTimeout).value();
  for (int i = 0; i < 9; ++i) {
    Transaction transaction;
    for (int j = 0; j < 70; ++j) transaction.puts.push_back(text_put(fmt::format("topics/{:03}", i * 70 + j), "x"));
    ASSERT_TRUE(run_for_real(store->commit(transaction)));
  }
  const auto listed = run_for_real(store->list("topics/"));
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->size(), 630u);
  EXPECT_EQ(listed->front().key, "topics/000");
  EXPECT_EQ(listed->back().key, "topics/629");
  EXPECT_TRUE(run_for_real(store->close()).ok());
}

}  // namespace
}  // namespace naru
