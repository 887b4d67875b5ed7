// The contract of Transport and Stream, on the real one (over the loopback interface) and on the simulated one.
#include "platform/transport.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "async/one_shot.h"
#include "platform/real/busy_listener_testing.h"
#include "platform/real/real_platform.h"
#include "platform/seams.h"
#include "platform/simulated/simulated_world.h"

namespace naru {
namespace {

// One event loop, so that both ends of a connection are on the same thread.
class TransportPlace {
 public:
  virtual ~TransportPlace() = default;
  virtual Seams seams() = 0;
  virtual void run(Task<void> task) = 0;
  virtual std::string folder() = 0;
  // From which no answer comes to those who want to connect.
  virtual Endpoint silent_address() = 0;
};

class RealTransportPlace final : public TransportPlace {
 public:
  RealTransportPlace() {
    std::string pattern = testing::TempDir() + "/naru_transport_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  ~RealTransportPlace() override { EXPECT_TRUE(remove_recursively(platform_.seams().files, folder_).ok()); }
  Seams seams() override { return platform_.seams(); }
  void run(Task<void> task) override { platform_.run(std::move(task)); }
  std::string folder() override { return folder_; }
  Endpoint silent_address() override { return busy_.address(); }

 private:
  const BusyListener busy_;
  RealPlatform platform_{{.loops = 1, .workers = 2}};
  std::string folder_;
};

class PretendedTransportPlace final : public TransportPlace {
 public:
  Seams seams() override { return process_->seams(); }
  void run(Task<void> task) override { world_.run_task(std::move(task)); }
  std::string folder() override { return ""; }
  Endpoint silent_address() override {
    world_.network().block("host", "elsewhere");
    return {"elsewhere", 9092};
  }

 private:
  SimulatedWorld world_{42};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("host").start();
};

// One end of a connection. It sends what it is given and keeps what it gets; a task can wait for that.
class End final : public StreamObserver {
 public:
  explicit End(std::unique_ptr<Stream> own) : stream(std::move(own)) { stream->start(this); }

  void send(std::string_view text) {
    outgoing_.append(text);
    flush();
  }
  // Until so many bytes have come, or the stream has ended.
  Task<void> receive(size_t bytes) {
    if (received.size() >= bytes || ended) co_return;
    expected_ = bytes;
    OneShot<> arrived;
    arrived_ = &arrived;
    co_await arrived;
  }
  Task<void> receive_all() { return receive(std::string::npos); }
  bool all_sent() const { return sent_ == outgoing_.size(); }

  void on_readable() override {
    ++readable_events;
    std::array<std::byte, 16'384> buffer;
    const IoResult result = stream->read_some(buffer);
    if (result.kind == IoResult::Kind::progress) {
      received.append(as_text(BytesView(buffer).first(result.bytes)));
    } else if (result.kind != IoResult::Kind::would_block) {
      ended = result.kind;
      stream->want_readable(false);
    }
    if (arrived_ != nullptr && (received.size() >= expected_ || ended)) std::exchange(arrived_, nullptr)->set();
  }
  void on_writable() override {
    ++writable_events;
    flush();
  }

  std::unique_ptr<Stream> stream;
  std::string received;
  std::optional<IoResult::Kind> ended;
  bool write_failed = false;
  int readable_events = 0;
  int writable_events = 0;

 private:
  void flush() {
    while (!all_sent()) {
      const BytesView bytes = as_bytes(outgoing_).subspan(sent_);
      const IoResult result = stream->write_some(std::span(&bytes, 1));
      if (result.kind == IoResult::Kind::would_block) return stream->want_writable();
      if (result.kind == IoResult::Kind::failed) {
        write_failed = true;
        sent_ = outgoing_.size();
        return;
      }
      sent_ += result.bytes;
    }
  }

  std::string outgoing_;
  size_t sent_ = 0;  // of outgoing_
  size_t expected_ = 0;
  OneShot<>* arrived_ = nullptr;
};

struct Connection {
  std::unique_ptr<Listener> listener;
  std::unique_ptr<End> client;
  std::unique_ptr<End> server;
};

Task<Connection> make_connection(Seams seams) {
  Connection connection;
  const auto accepted = std::make_shared<OneShot<std::unique_ptr<Stream>>>();
  auto listener = seams.transport.listen({"127.0.0.1", 0}, [accepted](std::unique_ptr<Stream> stream) {
    if (!accepted->is_set()) accepted->set(std::move(stream));  // later ones are dropped, that is closed
  });
  EXPECT_TRUE(listener.has_value());
  connection.listener = std::move(*listener);
  auto stream = co_await seams.transport.connect(connection.listener->address());
  EXPECT_TRUE(stream.has_value());
  connection.client = std::make_unique<End>(std::move(*stream));
  connection.server = std::make_unique<End>(co_await *accepted);
  co_return connection;
}

Task<void> sleep_for(Seams seams, Duration duration) {
  EXPECT_TRUE((co_await sleep_until(seams.scheduler, seams.clock.now() + duration)).ok());
}

std::string numbered_text(size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += std::to_string(i) + " ";
  text.resize(bytes);
  return text;
}

class TransportContract : public testing::TestWithParam<const char*> {
 protected:
  TransportContract() {
    if (std::string(GetParam()) == "real") {
      place = std::make_unique<RealTransportPlace>();
    } else {
      place = std::make_unique<PretendedTransportPlace>();
    }
  }
  std::unique_ptr<TransportPlace> place;
};

INSTANTIATE_TEST_SUITE_P(, TransportContract, testing::Values("real", "simulated"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(TransportContract, CarriesBytesBothWaysInOrder) {
  place->run([](TransportPlace& where) -> Task<void> {
    const Connection connection = co_await make_connection(where.seams());
    const std::string there = numbered_text(5'000'000);
    const std::string back = numbered_text(3'000'000);
    connection.client->send(there);
    connection.server->send(back);
    co_await connection.server->receive(there.size());
    co_await connection.client->receive(back.size());
    EXPECT_TRUE(connection.server->received == there);
    EXPECT_TRUE(connection.client->received == back);
    EXPECT_EQ(connection.client->stream->peer(), connection.server->stream->local());
    EXPECT_EQ(connection.client->stream->local(), connection.server->stream->peer());
    EXPECT_EQ(connection.client->stream->peer(), connection.listener->address());
  }(*place));
}

TEST_P(TransportContract, FullStreamBlocksUntilTheReaderReads) {
  place->run([](TransportPlace& where) -> Task<void> {
    const Connection connection = co_await make_connection(where.seams());
    connection.server->stream->want_readable(false);
    const std::string text = numbered_text(20'000'000);
    connection.client->send(text);
    co_await sleep_for(where.seams(), 100ms);
    EXPECT_FALSE(connection.client->all_sent());
    EXPECT_EQ(connection.server->readable_events, 0);
    const int waits = connection.client->writable_events;
    co_await sleep_for(where.seams(), 100ms);
    EXPECT_EQ(connection.client->writable_events, waits) << "nothing happens while nobody reads";
    connection.server->stream->want_readable(true);
    co_await connection.server->receive(text.size());
    EXPECT_TRUE(connection.server->received == text);
  }(*place));
}

TEST_P(TransportContract, MutedStreamIsSilentAndUnmutedOneIsLevelTriggered) {
  place->run([](TransportPlace& where) -> Task<void> {
    const Connection connection = co_await make_connection(where.seams());
    connection.server->stream->want_readable(false);
    connection.client->send(std::string(100'000, 'x'));  // more than one read of End
    co_await sleep_for(where.seams(), 50ms);
    EXPECT_EQ(connection.server->readable_events, 0);
    connection.server->stream->want_readable(true);
    co_await connection.server->receive(100'000);
    EXPECT_GE(connection.server->readable_events, 6);
  }(*place));
}

// Bytes and end come in one readiness event; whoever acts on the end must have got the bytes.
TEST_P(TransportContract, DeliversLastBytesBeforeTheEnd) {
  place->run([](TransportPlace& where) -> Task<void> {
    for (const bool muted : {true, false}) {
      const Connection connection = co_await make_connection(where.seams());
      connection.server->stream->want_readable(!muted);
      connection.client->send("last words");
      connection.client->stream->close();
      if (muted) co_await sleep_for(where.seams(), 50ms);  // both are there before the first look
      connection.server->stream->want_readable(true);
      co_await connection.server->receive_all();
      EXPECT_EQ(connection.server->received, "last words");
      EXPECT_EQ(connection.server->ended, IoResult::Kind::end_of_stream);
    }
  }(*place));
}

TEST_P(TransportContract, WritingToAClosedPeerFailsInTheEnd) {
  place->run([](TransportPlace& where) -> Task<void> {
    const Connection connection = co_await make_connection(where.seams());
    connection.client->stream->close();
    for (int i = 0; i < 1000 && !connection.server->write_failed; ++i) {
      connection.server->send("anybody there?");
      co_await sleep_for(where.seams(), 1ms);
    }
    EXPECT_TRUE(connection.server->write_failed);
  }(*place));
}

TEST_P(TransportContract, ClosingWithUnreadBytesResetsThePeer) {
  place->run([](TransportPlace& where) -> Task<void> {
    const Connection connection = co_await make_connection(where.seams());
    connection.client->stream->want_readable(false);
    connection.server->send("never read");
    co_await sleep_for(where.seams(), 50ms);
    connection.client->stream->close();
    co_await connection.server->receive_all();
    EXPECT_EQ(connection.server->ended, IoResult::Kind::failed);
  }(*place));
}

TEST_P(TransportContract, WantWritableIsAnsweredOnce) {
  place->run([](TransportPlace& where) -> Task<void> {
    const Connection connection = co_await make_connection(where.seams());
    connection.client->stream->want_writable();
    while (connection.client->writable_events == 0) co_await sleep_for(where.seams(), 1ms);
    co_await sleep_for(where.seams(), 20ms);
    EXPECT_EQ(connection.client->writable_events, 1);
  }(*place));
}

TEST_P(TransportContract, SendsAFileFromWithin) {
  place->run([](TransportPlace& where) -> Task<void> {
    const Connection connection = co_await make_connection(where.seams());
    const std::string text = numbered_text(1'000'000);
    auto file = where.seams().files.open(where.folder() + "/file", OpenMode::create);
    EXPECT_TRUE((*file)->write_at(0, as_bytes(text)).ok());
    const size_t begin = 12'345;
    for (size_t position = begin; position < text.size();) {
      const IoResult result = connection.client->stream->send_file(**file, position, text.size() - position);
      EXPECT_NE(result.kind, IoResult::Kind::failed);
      if (result.kind == IoResult::Kind::would_block) co_await sleep_for(where.seams(), 1ms);
      position += result.bytes;
    }
    co_await connection.server->receive(text.size() - begin);
    EXPECT_TRUE(connection.server->received == text.substr(begin));
    EXPECT_EQ(connection.client->stream->send_file(**file, text.size(), 1).kind, IoResult::Kind::failed)
        << "the file is shorter than promised";
  }(*place));
}

TEST_P(TransportContract, WritesFromAWorkerThread) {
  place->run([](TransportPlace& where) -> Task<void> {
    Seams seams = where.seams();
    const Connection connection = co_await make_connection(seams);
    Stream& stream = *connection.client->stream;
    bool ran_on_loop = false;
    co_await on_worker(seams.scheduler, [&stream, &ran_on_loop] {
      const std::array parts = {as_bytes("sent from "), as_bytes(""), as_bytes("a worker")};
      for (size_t sent = 0; sent < 18;) {
        const BytesView rest = sent < 10 ? parts[0].subspan(sent) : parts[2].subspan(sent - 10);
        sent += stream.write_some(std::span(&rest, 1)).bytes;
      }
      stream.want_writable();
      stream.run_on_loop([&ran_on_loop] { ran_on_loop = true; });
    });
    co_await sleep_for(seams, 1ms);  // and back on the loop
    co_await connection.server->receive(18);
    EXPECT_EQ(connection.server->received, "sent from a worker");
    while (connection.client->writable_events == 0) co_await sleep_for(seams, 1ms);
    EXPECT_TRUE(ran_on_loop);
  }(*place));
}

TEST_P(TransportContract, NoObserverCallAfterClose) {
  place->run([](TransportPlace& where) -> Task<void> {
    const Connection connection = co_await make_connection(where.seams());
    connection.client->send("x");
    connection.server->stream->want_writable();
    connection.server->stream->close();
    co_await sleep_for(where.seams(), 20ms);
    EXPECT_EQ(connection.server->readable_events, 0);
    EXPECT_EQ(connection.server->writable_events, 0);
  }(*place));
}

TEST_P(TransportContract, RefusesWhereNobodyListensAnyMore) {
  place->run([](TransportPlace& where) -> Task<void> {
    Seams seams = where.seams();
    Connection connection = co_await make_connection(seams);
    const Endpoint address = connection.listener->address();
    EXPECT_NE(address.port, 0);
    EXPECT_EQ(seams.transport.listen(address, [](auto) {}).error(), ErrorCode::already_exists);
    connection.listener.reset();
    EXPECT_EQ((co_await seams.transport.connect(address)).error(), ErrorCode::io_error);
  }(*place));
}

TEST_P(TransportContract, DoesNotConnectOnceItIsCancelled) {
  place->run([](TransportPlace& where) -> Task<void> {
    Seams seams = where.seams();
    const Connection connection = co_await make_connection(seams);
    CancelSource source;
    source.cancel();
    for (const char* host : {"127.0.0.1", "localhost"}) {
      const Endpoint address{host, connection.listener->address().port};
      const auto stream = co_await seams.transport.connect(address, source.token());
      EXPECT_FALSE(stream.has_value());
      if (!stream) EXPECT_EQ(stream.error(), ErrorCode::cancelled);
    }
  }(*place));
}

// Ten seconds later it would have timed out, which is another error.
TEST_P(TransportContract, ConnectingEndsWhenItIsCancelledOnTheWay) {
  place->run([](TransportPlace& where) -> Task<void> {
    Seams seams = where.seams();
    CancelSource source;
    seams.scheduler.start_timer(seams.clock.now() + 100ms, [source]() mutable { source.cancel(); });
    const auto stream = co_await seams.transport.connect(where.silent_address(), source.token());
    EXPECT_FALSE(stream.has_value());
    if (!stream) EXPECT_EQ(stream.error(), ErrorCode::cancelled) << stream.error().to_string();
  }(*place));
}

TEST_P(TransportContract, ResolvesHostNames) {
  place->run([](TransportPlace& where) -> Task<void> {
    Seams seams = where.seams();
    const Connection connection = co_await make_connection(seams);
    const auto stream = co_await seams.transport.connect({"localhost", connection.listener->address().port});
    // Some machines know localhost as ::1 only; then nobody listens there.
    if (!stream) EXPECT_EQ(stream.error(), ErrorCode::io_error);
    EXPECT_EQ((co_await seams.transport.connect({"no-such-host.invalid", 1})).error(), ErrorCode::io_error);
  }(*place));
}

TEST(Endpoints, AreParsedAndPrinted) {
  EXPECT_EQ(*parse_endpoint("broker-1:9092"), (Endpoint{"broker-1", 9092}));
  EXPECT_EQ(*parse_endpoint("[::1]:9092"), (Endpoint{"::1", 9092}));
  EXPECT_EQ(*parse_endpoint(":9092"), (Endpoint{"0.0.0.0", 9092}));
  for (const char* bad : {"", "host", "host:", "host:x", "host:70000", "::1:9092", "host:-1", "host:90 92"}) {
    EXPECT_EQ(parse_endpoint(bad).error(), ErrorCode::invalid_argument) << bad;
  }
  EXPECT_EQ((Endpoint{"::1", 9092}).to_string(), "[::1]:9092");
  for (const char* near : {"localhost", "127.0.0.1", "127.1.2.3", "::1"})
    EXPECT_TRUE((Endpoint{near, 1}).is_loopback());
  for (const char* far : {"0.0.0.0", "::", "10.0.0.1", "broker-1"}) EXPECT_FALSE((Endpoint{far, 1}).is_loopback());
  EXPECT_EQ((Endpoint{"127.0.0.1", 9092}).to_string(), "127.0.0.1:9092");
}

}  // namespace
}  // namespace naru
