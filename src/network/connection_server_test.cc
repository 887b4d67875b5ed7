#include "network/connection_server.h"

#include <gtest/gtest.h>

#include <deque>

#include "foundation/byte_writer.h"
#include "foundation/endian.h"
#include "platform/simulated/simulated_world.h"

namespace naru {
namespace {

constexpr size_t kLargeResponse = 4 << 20;        // more than a connection takes while nobody reads
constexpr size_t kBlockingResponse = 300 * 1024;  // the same, but not so much that the next request has to wait
constexpr size_t kNumberBytes = 4;

// Answers with so many bytes as it is told, or keeps the requests until it is told to answer.
class Answering final : public Door {
 public:
  ConnectionSettings settings() const override { return connection_settings; }
  std::unique_ptr<Framing> make_framing() const override { return std::make_unique<SizePrefixedFraming>(); }
  void process(Request request) override {
    ++seen;
    log.push_back(request.connection->peer().port);
    if (holds_first && seen == 1) request.connection->hold_requests();
    if (keeps) {
      kept.push_back(std::move(request));
    } else {
      answer(request);
    }
  }
  void answer(const Request& request) const {
    Response response{Bytes(bytes)};
    if (file) {
      auto pins = std::make_shared<const FilePinLease>(file_pins->take_beyond(request.connection->pinned_files(), 1));
      response.chunks.emplace_back(FileRange{.file = file, .length = kNumberBytes, .pins = std::move(pins)});
    }
    request.connection->respond(request.slot, std::move(response));
  }
  void answer_all() {
    keeps = false;
    while (!kept.empty()) {
      const Request request = std::move(kept.front());
      kept.pop_front();
      answer(request);
    }
  }

  ConnectionSettings connection_settings;
  size_t bytes = kLargeResponse;
  std::shared_ptr<const File> file;  // every answer ends with its beginning
  FilePins* file_pins = nullptr;
  bool keeps = false;
  bool holds_first = false;
  size_t seen = 0;
  std::vector<uint16_t> log;  // the client's port, per request
  std::deque<Request> kept;
};

// Reads nothing until it is told to.
class Client final : public StreamObserver {
 public:
  void on_readable() override {
    if (!listens) return stream->want_readable(false);
    Bytes space(100'000);
    const IoResult got = stream->read_some(space);
    received += got.bytes;
    if (got.kind == IoResult::Kind::end_of_stream || got.kind == IoResult::Kind::failed) stream->want_readable(false);
  }
  void on_writable() override { send(); }
  void send() {
    while (!unsent.empty()) {
      const BytesView rest(unsent);
      const IoResult sent = stream->write_some({&rest, 1});
      if (sent.kind == IoResult::Kind::would_block) return stream->want_writable();
      if (sent.kind != IoResult::Kind::progress) return unsent.clear();
      unsent.erase(unsent.begin(), unsent.begin() + static_cast<ptrdiff_t>(sent.bytes));
    }
  }
  void listen() {
    listens = true;
    stream->want_readable(true);
  }

  std::unique_ptr<Stream> stream;
  Bytes unsent;
  bool listens = false;
  size_t received = 0;
};

Bytes frame_of(int32_t size, size_t content = 8) {
  Bytes bytes;
  ByteWriter(bytes).write_int(size);
  bytes.resize(bytes.size() + content);
  return bytes;
}

Bytes frames(size_t count, size_t content) {
  Bytes bytes;
  for (size_t i = 0; i < count; ++i) append_bytes(bytes, frame_of(static_cast<int32_t>(content), content));
  return bytes;
}

class ConnectionServerTest : public testing::Test {
 protected:
  void start_server(ConnectionSettings settings, ServerLimits limits, uint64_t memory, uint64_t small_requests = 0) {
    metrics_ = std::make_unique<MetricsRegistry>();
    memory_ = std::make_unique<MemoryBudget>(memory);
    small_requests_ = std::make_unique<MemoryBudget>(small_requests);
    processor_.connection_settings = settings;
    server_ =
        std::make_unique<ConnectionServer>(process_->seams(), *memory_, *small_requests_, *metrics_, std::move(limits));
    ASSERT_TRUE(server_->listen({.name = "PLAINTEXT", .address = {"broker", 9092}}, processor_));
  }
  void SetUp() override { start_server({.idle_timeout = 60s}, {}, 64 << 20); }

  static Task<void> connect(SimulatedProcess& from, Client& client, Bytes request) {
    auto connected = co_await from.seams().transport.connect({"broker", 9092});
    client.stream = std::move(*connected);
    client.stream->start(&client);
    client.unsent = std::move(request);
    client.send();
  }
  void connect_and_ask(Bytes request) { world_.run_task(connect(*client_process_, client_, std::move(request))); }
  Client& add_client(Bytes request) {
    Client& client = *clients_.emplace_back(std::make_unique<Client>());
    world_.run_task(connect(*client_process_, client, std::move(request)));
    return client;
  }

  void stop() {
    if (client_.stream) client_.stream->close();
    for (const auto& client : clients_) client->stream->close();
    if (server_) world_.run_task(server_->stop(world_.now() + 1s));
    processor_.kept.clear();
    server_.reset();
    memory_.reset();
    small_requests_.reset();
  }
  void restart(ConnectionSettings settings, ServerLimits limits = {}, uint64_t memory = 64 << 20,
               uint64_t small_requests = 0) {
    stop();
    start_server(settings, std::move(limits), memory, small_requests);
  }
  void TearDown() override { stop(); }
  bool metrics_say(const std::string& line) const {
    return metrics_->render_prometheus().find(line + "\n") != std::string::npos;
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("broker").start();
  std::unique_ptr<SimulatedProcess> client_process_ = world_.add_node("client").start();
  std::unique_ptr<MetricsRegistry> metrics_;
  Answering processor_;
  std::unique_ptr<MemoryBudget> memory_;
  std::unique_ptr<MemoryBudget> small_requests_;
  std::unique_ptr<ConnectionServer> server_;
  Client client_;
  std::vector<std::unique_ptr<Client>> clients_;
};

TEST_F(ConnectionServerTest, SurvivesAPeerThatIsCutOffWhileAResponseIsBlocked) {
  connect_and_ask(frame_of(8));
  world_.run_for(1s);
  ASSERT_EQ(server_->open_connections(), 1u);
  world_.network().cut_all();
  world_.run_for(10s);
  EXPECT_EQ(server_->open_connections(), 0u);
}

// The last reference to the connection is then dropped by the event that sends the last byte.
TEST_F(ConnectionServerTest, AnswersAClientThatHasClosedItsSendingHalfAndThenLetsGoOfIt) {
  connect_and_ask(frame_of(8));
  world_.run_for(1s);
  SimulatedNetwork::half_close(*client_.stream);
  world_.run_for(1s);
  ASSERT_EQ(server_->open_connections(), 1u);
  client_.listen();
  world_.run_for(10s);
  EXPECT_EQ(client_.received, kLargeResponse);
  EXPECT_EQ(server_->open_connections(), 0u);
}

TEST_F(ConnectionServerTest, ClientsThatComeBeforeItServesAreLetInAndWait) {
  processor_.bytes = 10;
  server_->hold_back();
  Client& early = add_client(frame_of(8));
  early.listen();
  world_.run_for(5s);
  EXPECT_EQ(server_->open_connections(), 1u);
  EXPECT_EQ(processor_.seen, 0u);
  server_->serve();
  Client& late = add_client(frame_of(8));
  late.listen();
  world_.run_for(1s);
  EXPECT_EQ(processor_.seen, 2u);
  EXPECT_EQ(early.received, 10u);
  EXPECT_EQ(late.received, 10u);
}

TEST_F(ConnectionServerTest, ClientsThatWaitAreCutWhenItStopsBeforeItServes) {
  server_->hold_back();
  add_client(frame_of(8));
  world_.run_task(server_->stop(world_.now() + 1s));
  EXPECT_EQ(server_->open_connections(), 0u);
  server_->serve();
  world_.run_for(1s);
  EXPECT_EQ(processor_.seen, 0u);
  server_.reset();
}

TEST_F(ConnectionServerTest, ClosesAClientThatTakesNoBytesAsIdle) {
  connect_and_ask(frame_of(8));
  world_.run_for(30s);
  EXPECT_EQ(server_->open_connections(), 1u);
  world_.run_for(180s);
  EXPECT_EQ(server_->open_connections(), 0u);
}

TEST_F(ConnectionServerTest, ClosesAFrameWhoseSizeIsNegativeEvenWhileAResponseIsBlocked) {
  processor_.bytes = kBlockingResponse;
  Bytes requests = frame_of(8);
  append_bytes(requests, frame_of(-100));
  connect_and_ask(requests);
  world_.run_for(10s);
  EXPECT_EQ(server_->open_connections(), 0u);
  EXPECT_TRUE(metrics_say("naru_connections_closed_total{reason=\"malformed\"} 1"));
}

TEST_F(ConnectionServerTest, AClientThatDoesNotReadMakesItsOwnRequestsWait) {
  connect_and_ask(frames(50, 8));
  world_.run_for(10s);
  EXPECT_EQ(processor_.seen, 1u) << "one answer of 4 MiB waits: the other requests wait, too";
  EXPECT_EQ(memory_->used(MemoryAccount::responses), kLargeResponse);
  client_.listen();
  world_.run_for(100s);
  EXPECT_EQ(client_.received, 50 * kLargeResponse);
  EXPECT_EQ(memory_->used(), 0u);
}

TEST_F(ConnectionServerTest, AClientWhoseUnreadAnswersKeepFilesOpenMakesItsOwnRequestsWait) {
  restart({.idle_timeout = 60s, .max_unsent_files = 3});
  FilePins pins(100, 100);
  auto file = process_->seams().files.open("file", OpenMode::create);
  ASSERT_TRUE(file);
  const Bytes content(kNumberBytes);
  const BytesView part(content);
  ASSERT_TRUE((*file)->write_at(0, {&part, 1}).ok());
  processor_.file = std::move(*file);
  processor_.file_pins = &pins;
  processor_.bytes = kLargeResponse / 16;
  connect_and_ask(frames(50, 8));
  world_.run_for(10s);
  EXPECT_LT(processor_.seen, 10u) << "a few answers fit the socket";
  EXPECT_LE(pins.used(), 3u);
  client_.listen();
  world_.run_for(100s);
  EXPECT_EQ(client_.received, 50 * (kLargeResponse / 16 + kNumberBytes));
  EXPECT_EQ(pins.used(), 0u);
  processor_.file = nullptr;
}

TEST_F(ConnectionServerTest, ClientsThatDoNotReadAreClosedBeforeTheyUseUpTheMemory) {
  for (int i = 0; i < 10; ++i) add_client(frames(3, 8));
  world_.run_for(10s);
  EXPECT_LE(memory_->used(MemoryAccount::responses), memory_->total() / 4);
  EXPECT_EQ(server_->open_connections(), 4u) << "16 MiB of 64 hold four answers of 4 MiB";
  EXPECT_TRUE(metrics_say("naru_connections_closed_total{reason=\"unread_answers\"} 6"));
  processor_.bytes = kNumberBytes;
  Client& polite = add_client(frame_of(8));
  polite.listen();
  world_.run_for(1s);
  EXPECT_EQ(polite.received, kNumberBytes) << "everybody else is served";
}

TEST_F(ConnectionServerTest, SmallRequestsThatWaitForTheirAnswersArePaidForToo) {
  restart({.max_in_flight = 10'000, .idle_timeout = 60s}, {}, 1 << 20);
  processor_.keeps = true;
  processor_.bytes = kNumberBytes;
  connect_and_ask(frames(3'000, 1'000));
  client_.listen();
  world_.run_for(10s);
  EXPECT_GT(processor_.seen, 100u);
  EXPECT_LT(processor_.seen, 1'100u) << "one MiB does not hold more";
  EXPECT_EQ(memory_->waiting(), 1u);
  for (int i = 0; i < 20; ++i) {
    processor_.answer_all();
    world_.run_for(1s);
  }
  EXPECT_EQ(client_.received, 3'000 * kNumberBytes);
  EXPECT_EQ(memory_->used(), 0u);
}

TEST_F(ConnectionServerTest, ABusyConnectionTakesTurnsWithTheOthers) {
  processor_.bytes = kNumberBytes;
  processor_.keeps = true;  // until all have connected
  restart({.max_in_flight = 1, .idle_timeout = 60s});
  Client& busy = add_client(frames(5'000, 10));
  busy.listen();
  std::vector<Client*> others;
  for (int i = 0; i < 5; ++i) others.push_back(&add_client(frames(10, 10)));
  for (Client* other : others) other->listen();
  world_.run_for(1s);
  ASSERT_EQ(processor_.seen, 6u);
  processor_.answer_all();
  world_.run_for(10s);
  EXPECT_EQ(busy.received, 5'000 * kNumberBytes);
  for (const Client* other : others) EXPECT_EQ(other->received, 10 * kNumberBytes);
  // The last request of every other client came long before the busy one was through.
  const uint16_t busy_port = busy.stream->local().port;
  size_t of_busy = 0;
  size_t of_busy_when_others_done = 0;
  size_t of_others = 0;
  for (const uint16_t port : processor_.log) {
    if (port == busy_port) {
      ++of_busy;
    } else if (++of_others == 50) {
      of_busy_when_others_done = of_busy;
    }
  }
  EXPECT_LT(of_busy_when_others_done, 2'000u);
}

TEST_F(ConnectionServerTest, WhileAHandlerHoldsTheRequestsNoneIsHandedOut) {
  processor_.bytes = kNumberBytes;
  processor_.keeps = true;
  processor_.holds_first = true;
  connect_and_ask(frames(5, 100));
  client_.listen();
  world_.run_for(5s);
  ASSERT_EQ(processor_.seen, 1u);
  processor_.kept.front().connection->release_requests();
  world_.run_for(1s);
  EXPECT_EQ(processor_.seen, 5u);
  processor_.answer_all();
  world_.run_for(1s);
  EXPECT_EQ(client_.received, 5 * kNumberBytes);
}

TEST_F(ConnectionServerTest, LimitsConnectionsPerAddress) {
  restart({.idle_timeout = 600s}, {.max_connections_per_address = 2});
  for (int i = 0; i < 4; ++i) add_client({});
  world_.run_for(1s);
  EXPECT_EQ(server_->open_connections(), 2u);
  EXPECT_TRUE(metrics_say("naru_connections_refused_total{reason=\"max_connections_per_ip\"} 2"));
}

TEST_F(ConnectionServerTest, AnAddressMayHaveALimitOfItsOwn) {
  restart({.idle_timeout = 600s},
          {.max_connections = 3, .max_connections_per_address = 0, .per_address_overrides = {{"client", 5}}});
  for (int i = 0; i < 4; ++i) add_client({});
  world_.run_for(1s);
  EXPECT_EQ(server_->open_connections(), 3u);
  EXPECT_TRUE(metrics_say("naru_connections_refused_total{reason=\"max_connections\"} 1"));
}

TEST_F(ConnectionServerTest, AnnouncedRequestsThatDoNotComeGiveWayToWhoeverWaitsForTheirMemory) {
  processor_.bytes = kNumberBytes;
  for (int i = 0; i < 3; ++i) add_client(frame_of(25 << 20));  // two of them have all memory, the third waits
  world_.run_for(500ms);
  ASSERT_EQ(memory_->waiting(), 1u);
  Client& waiting = add_client(frames(1, 20 << 20));
  waiting.listen();
  world_.run_for(5s);
  EXPECT_EQ(waiting.received, kNumberBytes);
  EXPECT_TRUE(metrics_say("naru_connections_closed_total{reason=\"slow_request\"} 2"));
}

TEST_F(ConnectionServerTest, AnnouncedRequestsMayTakeTheirTimeWhileNobodyWaits) {
  add_client(frame_of(60 << 20));
  world_.run_for(20s);
  EXPECT_EQ(server_->open_connections(), 1u);
}

TEST_F(ConnectionServerTest, SmallRequestsDoNotStandInLineBehindLargeOnes) {
  restart({.idle_timeout = 60s}, {}, 64 << 20, 1 << 20);
  processor_.bytes = kNumberBytes;
  for (int i = 0; i < 3; ++i) add_client(frame_of(60 << 20));
  world_.run_for(100ms);
  ASSERT_EQ(memory_->waiting(), 2u);
  Client& small = add_client(frame_of(8));
  small.listen();
  world_.run_for(100ms);
  EXPECT_EQ(small.received, kNumberBytes);
  EXPECT_EQ(memory_->waiting(), 2u) << "the large ones still wait";
  EXPECT_EQ(small_requests_->used(), 0u);
}

TEST_F(ConnectionServerTest, ARequestThatComesByteByByteIsClosedAfterItsTime) {
  restart({.idle_timeout = 600s, .frame_timeout = 30s});
  connect_and_ask({});
  world_.run_for(1s);
  ASSERT_EQ(server_->open_connections(), 1u);
  const Bytes request = frame_of(100, 100);
  for (size_t i = 0; i < request.size() && server_->open_connections() == 1; ++i) {
    client_.unsent = {request[i]};
    client_.send();
    world_.run_for(1s);
  }
  EXPECT_EQ(server_->open_connections(), 0u);
  EXPECT_EQ(processor_.seen, 0u);
  EXPECT_TRUE(metrics_say("naru_connections_closed_total{reason=\"slow_request\"} 1"));
}

}  // namespace
}  // namespace naru
