#include "coordination_store/etcd/etcd_store.h"

#include <gtest/gtest.h>

#include "coordination_store/real_backend_testing.h"
#include "coordination_store/server_faults_testing.h"
#include "coordination_store/server_process_testing.h"
#include "coordination_store/shared_store_contract.h"

namespace naru {
namespace {

constexpr Duration kEtcdTimeout = 2s;

class EtcdServer {
 public:
  EtcdServer() : process_(command(), folder_.path() + "/log") { process_.start(); }
  static EtcdServer& shared() {
    static EtcdServer server;
    return server;
  }

  uint16_t port() const { return port_; }
  ServerProcess& process() { return process_; }
  static Result<std::unique_ptr<CoordinationStore>> open(uint16_t port, std::string root) {
    return open({"127.0.0.1:" + std::to_string(port)}, std::move(root));
  }
  static Result<std::unique_ptr<CoordinationStore>> open(std::vector<std::string> servers, std::string root) {
    auto opened = run_for_real(
        EtcdStore::open(shared_platform().seams(),
                        {.servers = std::move(servers), .root = std::move(root), .session_timeout = kEtcdTimeout}));
    if (!opened) return failure(std::move(opened).error());
    return std::unique_ptr<CoordinationStore>(std::move(*opened));
  }

 private:
  std::vector<std::string> command() const {
    const std::string client = "http://127.0.0.1:" + std::to_string(port_);
    const std::string peer = "http://127.0.0.1:" + std::to_string(peer_port_);
    return {"etcd",
            "--data-dir",
            folder_.path() + "/data",
            "--listen-client-urls",
            client,
            "--advertise-client-urls",
            client,
            "--listen-peer-urls",
            peer,
            "--initial-advertise-peer-urls",
            peer,
            "--initial-cluster",
            "default=" + peer,
            "--heartbeat-interval",
            "50",
            "--election-timeout",
            "500"};
  }

  TemporaryFolder folder_;
  const uint16_t port_ = free_loopback_port();
  const uint16_t peer_port_ = free_loopback_port();
  ServerProcess process_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Etcd, CoordinationStoreContract, RealBackend<EtcdServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(Etcd, SharedStoreContract, RealBackend<EtcdServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(Etcd, ServerFaults, EtcdServer);

TEST(EtcdStore, AnotherServerIsTriedWhenOneDoesNotAnswer) {
  const std::string nobody = "127.0.0.1:" + std::to_string(free_loopback_port());
  auto opened =
      EtcdServer::open({nobody, "127.0.0.1:" + std::to_string(EtcdServer::shared().port()), nobody}, "/other");
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
  auto store = EtcdServer::open(EtcdServer::shared().port(), "/many").value();
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
