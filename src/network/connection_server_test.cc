#include "network/connection_server.h"

#include <gtest/gtest.h>

#include "foundation/byte_writer.h"
#include "platform/simulated/simulated_world.h"

namespace naru {
namespace {

constexpr size_t kLargeResponse = 4 << 20;  // more than a connection takes while nobody reads

class AnswersEverythingAtLength final : public RequestProcessor {
 public:
  void process(Request request) override { request.connection->respond(request.slot, Response(Bytes(kLargeResponse))); }
};

// Reads nothing until it is told to.
class DeafClient final : public StreamObserver {
 public:
  void on_readable() override {
    if (!listens) return stream->want_readable(false);
    Bytes space(100'000);
    const IoResult got = stream->read_some(space);
    received += got.bytes;
    if (got.kind == IoResult::Kind::end_of_stream) stream->want_readable(false);
  }
  void on_writable() override {}
  std::unique_ptr<Stream> stream;
  bool listens = false;
  size_t received = 0;
};

class ConnectionServerTest : public testing::Test {
 protected:
  Task<void> connect_and_ask(Bytes request) {
    auto connected = co_await client_process_->seams().transport.connect({"broker", 9092});
    client_.stream = std::move(*connected);
    client_.stream->start(&client_);
    for (BytesView rest = request; !rest.empty();) rest = rest.subspan(client_.stream->write_some({&rest, 1}).bytes);
  }
  static Bytes frame_of(int32_t size) {
    Bytes bytes;
    ByteWriter(bytes).write_int(size);
    bytes.resize(bytes.size() + 8);
    return bytes;
  }
  void TearDown() override {
    if (client_.stream) client_.stream->close();
    world_.run_task(server_.stop(world_.now() + 1s));
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("broker").start();
  std::unique_ptr<SimulatedProcess> client_process_ = world_.add_node("client").start();
  MemoryBudget memory_{64 << 20};
  AnswersEverythingAtLength processor_;
  ConnectionServer server_{process_->seams(), memory_, processor_, {.idle_timeout = 60s}, {}};
  Result<Endpoint> bound_ = server_.listen("PLAINTEXT", {"broker", 9092});
  DeafClient client_;
};

TEST_F(ConnectionServerTest, SurvivesAPeerThatIsCutOffWhileAResponseIsBlocked) {
  world_.run_task(connect_and_ask(frame_of(8)));
  world_.run_for(1s);
  ASSERT_EQ(server_.open_connections(), 1u);
  world_.network().cut_all();
  world_.run_for(10s);
  EXPECT_EQ(server_.open_connections(), 0u);
}

// The last reference to the connection is then dropped by the event that sends the last byte.
TEST_F(ConnectionServerTest, AnswersAClientThatHasClosedItsSendingHalfAndThenLetsGoOfIt) {
  world_.run_task(connect_and_ask(frame_of(8)));
  world_.run_for(1s);
  SimulatedNetwork::half_close(*client_.stream);
  world_.run_for(1s);
  ASSERT_EQ(server_.open_connections(), 1u);
  client_.listens = true;
  client_.stream->want_readable(true);
  world_.run_for(10s);
  EXPECT_EQ(client_.received, kLargeResponse);
  EXPECT_EQ(server_.open_connections(), 0u);
}

TEST_F(ConnectionServerTest, ClosesAClientThatTakesNoBytesAsIdle) {
  world_.run_task(connect_and_ask(frame_of(8)));
  world_.run_for(30s);
  EXPECT_EQ(server_.open_connections(), 1u);
  world_.run_for(180s);
  EXPECT_EQ(server_.open_connections(), 0u);
}

TEST_F(ConnectionServerTest, ClosesAFrameWhoseSizeIsNegativeEvenWhileAResponseIsBlocked) {
  Bytes requests = frame_of(8);
  append_bytes(requests, frame_of(-100));
  world_.run_task(connect_and_ask(requests));
  world_.run_for(10s);
  EXPECT_EQ(server_.open_connections(), 0u);
}

}  // namespace
}  // namespace naru
