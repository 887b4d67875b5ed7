#include "observability/admin_server.h"

#include <gtest/gtest.h>

#include "platform/simulated/simulated_world.h"

namespace naru {
namespace {

class HttpClient final : public StreamObserver {
 public:
  void on_readable() override {
    Bytes space(1000);
    const IoResult got = stream->read_some(space);
    answer += as_text(BytesView(space).first(got.bytes));
    if (got.kind == IoResult::Kind::end_of_stream || got.kind == IoResult::Kind::failed) {
      closed = true;
      stream->want_readable(false);
    }
  }
  void on_writable() override {}
  std::unique_ptr<Stream> stream;
  std::string answer;
  bool closed = false;
};

class AdminServerTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.listen({"broker", 9192})); }
  void TearDown() override {
    for (const auto& client : clients_) client->stream->close();
    server_.stop();
  }

  static Task<void> connect(SimulatedProcess& from, HttpClient& client, std::string_view request) {
    auto connected = co_await from.seams().transport.connect({"broker", 9192});
    client.stream = std::move(*connected);
    client.stream->start(&client);
    BytesView rest = as_bytes(request);
    while (!rest.empty()) rest = rest.subspan(client.stream->write_some({&rest, 1}).bytes);
  }
  HttpClient& ask(std::string_view request, Duration time = 1s) {
    HttpClient& client = *clients_.emplace_back(std::make_unique<HttpClient>());
    world_.run_task(connect(*client_process_, client, request));
    world_.run_for(time);
    return client;
  }
  std::string status_of(std::string_view request) {
    const HttpClient& client = ask(request);
    EXPECT_TRUE(client.closed);
    return client.answer.substr(0, client.answer.find("\r\n"));
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("broker").start();
  std::unique_ptr<SimulatedProcess> client_process_ = world_.add_node("client").start();
  std::optional<std::string> problem_;
  AdminServer server_{process_->seams(),
                      {[] { return std::string(100'000, 'm') + "\n"; }, [this] { return problem_; }}};
  std::vector<std::unique_ptr<HttpClient>> clients_;
};

TEST_F(AdminServerTest, ServesMetricsAndHealthAndNothingElse) {
  const HttpClient& metrics = ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(
      metrics.answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                                 "Content-Length: 100001\r\n"));
  EXPECT_TRUE(metrics.answer.ends_with("mmm\n"));
  EXPECT_TRUE(ask("GET /healthz HTTP/1.0\n\n").answer.ends_with("\r\n\r\nok\n"));
  EXPECT_TRUE(ask("HEAD /healthz HTTP/1.1\r\n\r\n").answer.ends_with("\r\n\r\n"));
  EXPECT_EQ(status_of("GET /healthz?verbose HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 OK");
  problem_ = "log directory ./data is offline";
  const HttpClient& sick = ask("GET /healthz HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(sick.answer.starts_with("HTTP/1.1 503 "));
  EXPECT_TRUE(sick.answer.ends_with("\r\n\r\nlog directory ./data is offline\n"));
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found");
  EXPECT_EQ(status_of("POST /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 405 Method Not Allowed");
  EXPECT_EQ(status_of("\r\n\r\n"), "HTTP/1.1 405 Method Not Allowed");
}

TEST_F(AdminServerTest, AThousandIdleConnectionsKeepNobodyFromAsking) {
  for (int i = 0; i < 1'000; ++i) ask("", 1ms);
  EXPECT_LE(server_.open_connections(), AdminServer::kConnectionsMax);
  EXPECT_EQ(status_of("GET /healthz HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 OK");
}

TEST_F(AdminServerTest, ClosesSlowAndEndlessRequests) {
  const HttpClient& endless = ask(std::string(20'000, 'x'));
  EXPECT_TRUE(endless.closed);
  const HttpClient& slow = ask("GET /heal", 10s);
  EXPECT_TRUE(slow.closed);
  EXPECT_EQ(server_.open_connections(), 0u);
}

TEST_F(AdminServerTest, AnAddressInUseIsAnErrorThatNamesTheKey) {
  AdminServer second(process_->seams(), {});
  const auto bound = second.listen({"broker", 9192});
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code(), ErrorCode::io_error);
  EXPECT_NE(bound.error().message().find("naru.admin.listener"), std::string::npos);
}

}  // namespace
}  // namespace naru
