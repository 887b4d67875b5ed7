#include "configuration/listener_config.h"

#include <gtest/gtest.h>

namespace naru {
namespace {

std::string listener_refusal(std::string_view listeners, std::string_view advertised = "", std::string_view map = "") {
  const auto parsed = parse_listeners(listeners, advertised, map);
  return parsed ? "accepted" : parsed.error().message();
}

TEST(Listeners, ReadNamesAddressesAndAdvertisedAddresses) {
  const auto parsed = parse_listeners("external://:9092, INTERNAL://[::1]:19092", "EXTERNAL://broker.example:443",
                                      "EXTERNAL:PLAINTEXT,internal:plaintext");
  ASSERT_TRUE(parsed) << parsed.error().to_string();
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ((*parsed)[0], (ListenerConfig{"EXTERNAL", {"0.0.0.0", 9092}, Endpoint{"broker.example", 443}, {}}));
  EXPECT_EQ((*parsed)[1], (ListenerConfig{"INTERNAL", {"::1", 19092}, std::nullopt, {}}));
}

TEST(Listeners, APlainAddressIsTheListenerPlaintext) {
  const auto parsed = parse_listeners("127.0.0.1:0", "localhost:9092", "");
  ASSERT_TRUE(parsed) << parsed.error().to_string();
  EXPECT_EQ(parsed->front(), (ListenerConfig{"PLAINTEXT", {"127.0.0.1", 0}, Endpoint{"localhost", 9092}, {}}));
}

TEST(Listeners, RefuseWithASentenceThatSaysWhatToChange) {
  EXPECT_EQ(listener_refusal(""), "listeners is empty: no client could connect");
  EXPECT_EQ(listener_refusal("localhost"), "'localhost' is not HOST:PORT");
  EXPECT_EQ(listener_refusal("A B://x:1"), "'A B' is not a listener name");
  EXPECT_EQ(listener_refusal("PLAINTEXT://a:1,PLAINTEXT://b:2"), "listener PLAINTEXT is there twice");
  EXPECT_EQ(listener_refusal("PLAINTEXT://a:1,X://a:1", "", "X:PLAINTEXT"),
            "listeners PLAINTEXT and X share the address a:1");
  EXPECT_EQ(listener_refusal("X://a:1"),
            "listener X has no security protocol; add X:PLAINTEXT to listener.security.protocol.map");
  EXPECT_EQ(listener_refusal("SSL://a:1"),
            "listener SSL has the security protocol SSL, but only PLAINTEXT is supported so far");
  EXPECT_EQ(listener_refusal("a:1", "", "nonsense"),
            "'nonsense' in listener.security.protocol.map is not NAME:PROTOCOL");
  EXPECT_EQ(listener_refusal("a:1", "X://b:2"), "advertised.listeners names X, which is not in listeners");
  EXPECT_EQ(listener_refusal("a:1", "b:2,c:3"), "listener PLAINTEXT is in advertised.listeners twice");
  EXPECT_EQ(
      listener_refusal("a:1", ":9092"),
      "0.0.0.0:9092 in advertised.listeners is not an address that a client can connect to; name a host and a port");
  std::string many = "a:1";
  for (int i = 0; i < 40; ++i) many += ",a:1";
  EXPECT_EQ(listener_refusal(many), "there are 41 listeners, more than 32");
}

TEST(ListenerWarnings, NameListenersThatStrangersMayReach) {
  const auto warnings = [](std::string_view listeners, std::string_view advertised = "") {
    return listener_warnings(*parse_listeners(listeners, advertised, "INSIDE:PLAINTEXT"));
  };
  EXPECT_TRUE(warnings("127.0.0.1:9092").empty());
  EXPECT_TRUE(warnings("localhost:9092,INSIDE://[::1]:9093", "localhost:9092").empty());
  for (const char* open : {":9092", "0.0.0.0:9092", "[::]:9092", "10.0.0.1:9092", "broker-1:9092"}) {
    const auto found = warnings(std::string("INSIDE://127.0.0.1:9093,PLAINTEXT://") + open);
    ASSERT_EQ(found.size(), 1U) << open;
    EXPECT_TRUE(found[0].starts_with("listener PLAINTEXT accepts connections from other machines")) << found[0];
  }
}

TEST(ListenerWarnings, NameListenersThatClientsAreSentToInVain) {
  const auto found = listener_warnings(*parse_listeners("127.0.0.1:9092", "broker-1:9092", ""));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].starts_with("listener PLAINTEXT sends clients to broker-1:9092")) << found[0];
}

}  // namespace
}  // namespace naru
