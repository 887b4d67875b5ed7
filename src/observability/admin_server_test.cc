#include "observability/admin_server.h"

#include <gtest/gtest.h>
#include <httplib.h>

namespace naru {
namespace {

Endpoint any_port() {
  return {"127.0.0.1", 0};
}

AdminServer::Pages pages(const std::atomic<bool>& healthy) {
  return {[] { return std::string("naru_x 1\n"); },
          [&healthy]() -> std::optional<std::string> {
            if (healthy) return std::nullopt;
            return "log directory ./data is offline";
          }};
}

TEST(AdminServer, ServesMetricsAndHealthAndNothingElse) {
  std::atomic<bool> healthy{true};
  auto server = AdminServer::start(any_port(), pages(healthy));
  ASSERT_TRUE(server) << server.error().to_string();
  httplib::Client client("127.0.0.1", (*server)->address().port);

  const auto metrics = client.Get("/metrics");
  ASSERT_TRUE(metrics);
  EXPECT_EQ(metrics->status, 200);
  EXPECT_EQ(metrics->body, "naru_x 1\n");
  EXPECT_EQ(metrics->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");

  EXPECT_EQ(client.Get("/healthz")->status, 200);
  EXPECT_EQ(client.Get("/healthz")->body, "ok\n");
  healthy = false;
  EXPECT_EQ(client.Get("/healthz")->status, 503);
  EXPECT_EQ(client.Get("/healthz")->body, "log directory ./data is offline\n");

  EXPECT_EQ(client.Get("/")->status, 404);
  EXPECT_EQ(client.Post("/metrics", "x", "text/plain")->status, 404);
}

TEST(AdminServer, AnAddressInUseIsAnErrorThatNamesTheKey) {
  std::atomic<bool> healthy{true};
  auto first = AdminServer::start(any_port(), pages(healthy));
  ASSERT_TRUE(first);
  const auto second = AdminServer::start((*first)->address(), pages(healthy));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::io_error);
  EXPECT_NE(second.error().message().find("naru.admin.listener"), std::string::npos);
}

TEST(AdminServer, StopsAtOnceEvenIfNobodyEverConnected) {
  std::atomic<bool> healthy{true};
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(AdminServer::start(any_port(), pages(healthy)));
}

}  // namespace
}  // namespace naru
