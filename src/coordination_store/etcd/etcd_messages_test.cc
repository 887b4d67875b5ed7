#include "coordination_store/etcd/etcd_messages.h"

#include <gtest/gtest.h>

#include "coordination_store/coordination_store_contract.h"
#include "coordination_store/etcd/etcd_base64.h"

namespace naru {
namespace {

TEST(EtcdBase64, EncodesAndDecodesEveryLength) {
  EXPECT_EQ(encode_base64(as_bytes("")), "");
  EXPECT_EQ(encode_base64(as_bytes("f")), "Zg==");
  EXPECT_EQ(encode_base64(as_bytes("fo")), "Zm8=");
  EXPECT_EQ(encode_base64(as_bytes("foo")), "Zm9v");
  Bytes bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
    bytes.push_back(static_cast<std::byte>(i * 7));
  }
}

TEST(EtcdBase64, RefusesWhatIsNotBase64) {
  for (const char* text : {"Z", "Zg", "Zg=", "====", "Zm9v====", "Zm9 ", "Zg==Zg==", "Z===", "Zm=v", "Zm9-"}) {
    EXPECT_FALSE(decode_base64(text)) << text;
  }
}

TEST(EtcdMessages, AKeyIsFoundBehindItsRoot) {
  const EtcdKeys keys("/naru");
  EXPECT_EQ(keys.stored("topics/a"), "/naru/keys/topics/a");
  EXPECT_EQ(keys.key("/naru/keys/topics/a"), "topics/a");
  EXPECT_EQ(keys.key("/naru/sessions/7"), std::nullopt);
  EXPECT_EQ(keys.session(7), "/naru/sessions/7");
}

TEST(EtcdMessages, AListingIsRead) {
  const auto listing = parse_etcd_listing(
      R"({"header":{"revision":"9"},"kvs":[{"key":"YQ==","mod_revision":"3","value":"Yg=="},{"key":"Yw==","mod_revision":"4"}],"more":true,"count":"5"})");
  ASSERT_TRUE(listing);
  ASSERT_EQ(listing->values.size(), 2u);
  EXPECT_TRUE(listing->more);
  EXPECT_EQ(listing->values[0].key, "a");
  EXPECT_EQ(as_text(listing->values[0].value.view()), "b");
  EXPECT_EQ(listing->values[0].version, 3);
  EXPECT_TRUE(listing->values[1].value.empty());
}

TEST(EtcdMessages, AFailedTransactionTellsWhetherItsSessionExists) {
  const auto conflict = parse_etcd_outcome(
      R"({"header":{"revision":"9"},"responses":[{"response_range":{"header":{"revision":"9"},"count":"1"}}]})");
  ASSERT_TRUE(conflict);
  EXPECT_FALSE(conflict->succeeded);
  EXPECT_TRUE(conflict->session_exists);
  const auto expired =
      parse_etcd_outcome(R"({"header":{"revision":"9"},"responses":[{"response_range":{"header":{"revision":"9"}}}]})");
  EXPECT_FALSE(expired->session_exists);
  const auto compares_only = parse_etcd_outcome(R"({"header":{"revision":"9"}})");
  EXPECT_TRUE(compares_only->session_exists);
}

TEST(EtcdMessages, ATransactionThatChangesSomethingComparesItsSessionToo) {
  const EtcdKeys keys("/naru");
  const std::string session = encode_base64(as_bytes(keys.session(5)));
  EXPECT_NE(etcd_transaction_request({.puts = {text_put("a", "1")}}, keys, 5).find(session), std::string::npos);
  EXPECT_EQ(etcd_transaction_request({.compares = {{"a", 1}}}, keys, 5).find(session), std::string::npos);
}

TEST(EtcdMessages, NonsenseIsUnavailableAndNeverAnAnswer) {
  for (const char* body : {"", "{", "[]", "null", "7", "{}", R"({"header":7})", R"({"header":{"revision":"x"}})",
                           R"({"header":{"revision":"1"},"kvs":7})", R"({"header":{"revision":"1"},"kvs":[7]})",
                           R"({"header":{"revision":"1"},"kvs":[{"key":"YQ==","mod_revision":"-1"}]})"}) {
    EXPECT_FALSE(parse_etcd_listing(body)) << body;
    EXPECT_FALSE(parse_etcd_grant(body)) << body;
    EXPECT_FALSE(parse_etcd_keepalive(body)) << body;
    EXPECT_FALSE(etcd_watch_is_over(body)) << body;
    EXPECT_EQ(parse_etcd_refusal(500, body).status.code(), ErrorCode::unavailable);
  }
  EXPECT_FALSE(parse_etcd_outcome(R"({"succeeded":true})"));
}

TEST(EtcdMessages, RefusalsAreTold) {
  const auto lease = parse_etcd_refusal(404, R"({"error":"etcdserver: requested lease not found","code":5})");
  EXPECT_TRUE(lease.lease_is_gone);
  EXPECT_EQ(lease.status.code(), ErrorCode::unavailable);
  EXPECT_EQ(parse_etcd_refusal(400, R"({"error":"etcdserver: request is too large","code":3})").status.code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(parse_etcd_refusal(429, R"({"error":"etcdserver: mvcc: database space exceeded","code":8})").status.code(),
            ErrorCode::disk_full);
  EXPECT_TRUE(etcd_watch_is_over(R"({"result":{"canceled":true,"compact_revision":"3"}})"));
  EXPECT_TRUE(etcd_watch_is_over(R"({"error":{"grpc_code":14,"message":"etcdserver: no leader"}})"));
  EXPECT_FALSE(etcd_watch_is_over(R"({"result":{"created":true}})"));
}

}  // namespace
}  // namespace naru
