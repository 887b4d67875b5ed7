#include "configuration/coordination_address.h"

#include <gtest/gtest.h>

#include "configuration/broker_config.h"

namespace naru {
namespace {

std::string problem_with(std::string_view text) {
  const auto parsed = parse_coordination_address(text);
  return parsed ? "none" : parsed.error().message();
}

TEST(CoordinationAddress, ReadsEachKind) {
  EXPECT_EQ(parse_coordination_address("embedded"), CoordinationAddress{});
  const auto zookeeper = parse_coordination_address("zookeeper://zk1:2181,zk2:2182/production/naru");
  ASSERT_TRUE(zookeeper);
  EXPECT_EQ(zookeeper->service, CoordinationService::zookeeper);
  EXPECT_EQ(zookeeper->servers, (std::vector<Endpoint>{{"zk1", 2181}, {"zk2", 2182}}));
  EXPECT_EQ(zookeeper->root, "/production/naru");
  EXPECT_EQ(parse_coordination_address("etcd://[::1]:2379/a")->servers, (std::vector<Endpoint>{{"::1", 2379}}));
}

TEST(CoordinationAddress, PortsAndTheRootHaveDefaults) {
  const auto zookeeper = parse_coordination_address("zookeeper://zk1,zk2:9");
  ASSERT_TRUE(zookeeper);
  EXPECT_EQ(zookeeper->to_string(), "zookeeper://zk1:2181,zk2:9/naru");
  EXPECT_EQ(parse_coordination_address("etcd://[::1]")->to_string(), "etcd://[::1]:2379/naru");
}

TEST(CoordinationAddress, IsWrittenAsItIsRead) {
  for (const char* text : {"embedded", "zookeeper://a:1,b:2/root", "etcd://[::1]:2379/x/y"}) {
    EXPECT_EQ(parse_coordination_address(text)->to_string(), text);
  }
}

TEST(CoordinationAddress, SaysWhatIsWrong) {
  EXPECT_EQ(problem_with("zk1:2181"), "it is embedded, zookeeper://HOST:PORT,.../ROOT or etcd://HOST:PORT,.../ROOT");
  EXPECT_EQ(problem_with("zookeeper://"), "it names no server");
  EXPECT_EQ(problem_with("etcd:///naru"), "it names no server");
  EXPECT_EQ(problem_with("etcd://a:x"), "'a:x' is not HOST:PORT");
  EXPECT_EQ(problem_with("etcd://a:0"), "'a:0' is not HOST:PORT");
  EXPECT_EQ(problem_with("etcd://a:70000"), "'a:70000' is not HOST:PORT");
  EXPECT_EQ(problem_with("etcd://:2379"), "':2379' is not HOST:PORT");
  EXPECT_EQ(problem_with("etcd://a,,b"), "'' is not HOST:PORT");
  EXPECT_EQ(problem_with("etcd://a,a:2379"), "a:2379 is named twice");
  EXPECT_EQ(problem_with("etcd://a/"), "the root '/' has an empty name in it; it looks like /naru or /production/naru");
  EXPECT_EQ(problem_with("etcd://a/x//y"),
            "the root '/x//y' has an empty name in it; it looks like /naru or /production/naru");
  EXPECT_EQ(problem_with("zookeeper://a/zookeeper"),
            "the root '/zookeeper' has a name in it that ZooKeeper keeps to itself");
  EXPECT_EQ(problem_with("zookeeper://a/x y"), "the root '/x y' may hold letters, digits, '.', '_' and '-' only");
  EXPECT_EQ(problem_with("zookeeper://a/" + std::string(300, 'x')).substr(0, 9), "the root ");
}

TEST(CoordinationAddress, IsAKeyOfTheBroker) {
  const auto config = make_broker_config({{"naru.coordination", "etcd://e1,e2/x"}});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->coordination.to_string(), "etcd://e1:2379,e2:2379/x");
  EXPECT_EQ(config->coordination_session_timeout, 6000ms);
  EXPECT_EQ(make_broker_config({})->coordination, CoordinationAddress{});
  EXPECT_EQ(make_broker_config({{"naru.coordination", "zookeeper://"}}).error().message(),
            "given value: naru.coordination cannot be 'zookeeper://': it names no server");
}

}  // namespace
}  // namespace naru
