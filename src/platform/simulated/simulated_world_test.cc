// What only a simulated world can do: virtual time, faults, death, and repeating itself. What its transport shares with
// a real one is tested by platform/transport_test.cc.
#include "platform/simulated/simulated_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/task_group.h"

namespace naru {
namespace {

// Reads what comes, sends what it was told to; closes with its stream.
class Talker final : public StreamObserver {
 public:
  explicit Talker(std::unique_ptr<Stream> own, bool echo = false) : stream(std::move(own)), echo_(echo) {
    stream->start(this);
  }

  void send(std::string_view text) {
    unsent_.append(text);
    flush();
  }
  void on_readable() override {
    std::array<std::byte, 1000> buffer;
    const IoResult result = stream->read_some(buffer);
    if (result.kind == IoResult::Kind::would_block) return;
    if (result.kind != IoResult::Kind::progress) {
      ended = result.kind;
      stream->want_readable(false);
      return;
    }
    const std::string_view text = as_text(BytesView(buffer).first(result.bytes));
    received.append(text);
    if (echo_) send(text);
  }
  void on_writable() override { flush(); }

  std::unique_ptr<Stream> stream;
  std::string received;
  IoResult::Kind ended = IoResult::Kind::would_block;
  bool write_failed = false;

 private:
  void flush() {
    while (!unsent_.empty() && !write_failed) {
      const BytesView bytes = as_bytes(unsent_);
      const IoResult result = stream->write_some(std::span(&bytes, 1));
      if (result.kind == IoResult::Kind::would_block) return stream->want_writable();
      write_failed = result.kind == IoResult::Kind::failed;
      unsent_.erase(0, result.bytes);
    }
  }

  const bool echo_;
  std::string unsent_;
};

// Two machines, a connection between them, an echo at the server's end.
struct EchoWorld {
  explicit EchoWorld(uint64_t seed) : world(seed) {
    auto listening = server_process->seams().transport.listen({"server", 9092}, [this](std::unique_ptr<Stream> stream) {
      accepted.push_back(std::make_unique<Talker>(std::move(stream), true));
    });
    listener = std::move(*listening);
  }

  void connect() {
    world.run_task([](EchoWorld& self) -> Task<void> {
      auto stream = co_await self.client_process->seams().transport.connect({"server", 9092});
      EXPECT_TRUE(stream.has_value());
      self.client = std::make_unique<Talker>(std::move(*stream));
    }(*this));
  }

  SimulatedWorld world;
  SimulatedNode& server_node = world.add_node("server");
  SimulatedNode& client_node = world.add_node("client");
  std::unique_ptr<SimulatedProcess> server_process = server_node.start();
  std::unique_ptr<SimulatedProcess> client_process = client_node.start();
  std::unique_ptr<Listener> listener;
  std::vector<std::unique_ptr<Talker>> accepted;
  std::unique_ptr<Talker> client;
};

std::string numbered_text(size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += std::to_string(i) + " ";
  return text;
}

TEST(SimulatedScheduler, RunsPostsInOrderAndTimersByDeadline) {
  SimulatedWorld world(1);
  const auto process = world.add_node("a").start();
  SimulatedScheduler& scheduler = process->scheduler();
  std::vector<int> order;
  scheduler.start_timer(world.now() + 20ms, [&] { order.push_back(4); });
  scheduler.start_timer(world.now() + 10ms, [&] { order.push_back(3); });
  scheduler.post([&] {
    order.push_back(1);
    scheduler.post([&] { order.push_back(2); });
  });
  const auto cancelled = scheduler.start_timer(world.now() + 15ms, [&] { order.push_back(99); });
  EXPECT_TRUE(scheduler.cancel_timer(cancelled));
  EXPECT_FALSE(scheduler.cancel_timer(cancelled));
  EXPECT_TRUE(order.empty());
  world.run_until_idle();
  EXPECT_EQ(order, (std::vector{1, 2, 3, 4}));
}

TEST(SimulatedScheduler, ReordersBlockingWorkAndCanStallIt) {
  SimulatedWorld world(1);
  const auto process = world.add_node("a").start();
  process->scheduler().set_disk_timing({.stall_one_in = 10, .stall_max = 5s});
  std::vector<int> order;
  MonotonicTime last;
  for (int i = 0; i < 100; ++i) {
    process->scheduler().run_blocking([&order, &last, &world, i] {
      order.push_back(i);
      last = world.now();
    });
  }
  const MonotonicTime start = world.now();
  world.run_until_idle();
  EXPECT_EQ(order.size(), 100U);
  EXPECT_FALSE(std::ranges::is_sorted(order));
  EXPECT_GT(last - start, 1s);
}

TEST(SimulatedScheduler, DropsTheEventsOfADestroyedProcessUnrun) {
  SimulatedWorld world(1);
  auto process = world.add_node("a").start();
  auto token = std::make_shared<int>(0);
  bool ran = false;
  process->scheduler().post([token, &ran] { ran = true; });
  process->scheduler().run_blocking([token, &ran] { ran = true; });
  process->scheduler().start_timer(world.now() + 1s, [token, &ran] { ran = true; });
  process.reset();
  EXPECT_EQ(token.use_count(), 1);
  world.run_until_idle();
  EXPECT_FALSE(ran);
}

TEST(SimulatedClock, StepsTheWallClockOnly) {
  SimulatedWorld world(1);
  SimulatedNode& node = world.add_node("a");
  const auto wall = node.clock().wall_now_ms();
  const auto monotonic = node.clock().now();
  world.run_for(1500ms);
  EXPECT_EQ(node.clock().wall_now_ms() - wall, 1500);
  node.clock().step_wall(-1h);
  EXPECT_EQ(node.clock().wall_now_ms() - wall, 1500 - 3'600'000);
  EXPECT_EQ(node.clock().now() - monotonic, 1500ms);
}

TEST(SimulatedNetwork, DeliversEveryByteInOrderInChunks) {
  EchoWorld echo(7);
  echo.world.network().options.buffer_bytes = 2000;
  echo.connect();
  const std::string text = numbered_text(100'000);
  echo.client->send(text);
  EXPECT_TRUE(echo.world.run_until([&] { return echo.client->received.size() == text.size(); }, 1h));
  EXPECT_EQ(echo.client->received, text);
}

TEST(SimulatedNetwork, RefusesWhereNobodyListens) {
  EchoWorld echo(7);
  echo.world.run_task([](Transport& transport) -> Task<void> {
    EXPECT_EQ((co_await transport.connect({"server", 1})).error(), ErrorCode::io_error);
    EXPECT_EQ((co_await transport.connect({"nowhere", 9092})).error(), ErrorCode::io_error);
  }(echo.client_process->seams().transport));
}

TEST(SimulatedNetwork, CutLosesASuffixAndBothSidesLearnIt) {
  std::set<IoResult::Kind> ends;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    EchoWorld echo(seed);
    echo.connect();
    const std::string text = numbered_text(20'000);
    echo.client->send(text);
    echo.world.run_for(5ms);
    echo.world.network().cut_all();
    echo.world.run_for(10s);
    ASSERT_EQ(echo.accepted.size(), 1U);
    EXPECT_TRUE(text.starts_with(echo.accepted[0]->received));
    EXPECT_TRUE(text.starts_with(echo.client->received));
    EXPECT_NE(echo.client->ended, IoResult::Kind::would_block);
    EXPECT_NE(echo.accepted[0]->ended, IoResult::Kind::would_block);
    ends.insert(echo.client->ended);
  }
  EXPECT_EQ(ends, (std::set{IoResult::Kind::end_of_stream, IoResult::Kind::failed}));
}

TEST(SimulatedNetwork, BlockedLinkHoldsBytesBackInOneDirection) {
  EchoWorld echo(3);
  echo.connect();
  echo.world.network().block("server", "client");
  echo.client->send("ping");
  echo.world.run_for(60s);
  ASSERT_EQ(echo.accepted.size(), 1U);
  EXPECT_EQ(echo.accepted[0]->received, "ping");
  EXPECT_EQ(echo.client->received, "");
  echo.world.network().unblock("server", "client");
  echo.world.run_for(1s);
  EXPECT_EQ(echo.client->received, "ping");
}

TEST(SimulatedNetwork, ASlowLinkIsSlowInOneDirection) {
  EchoWorld echo(3);
  echo.connect();
  echo.world.network().slow_down("server", "client", 60s);
  echo.client->send("ping");
  echo.world.run_for(100ms);
  ASSERT_EQ(echo.accepted.size(), 1U);
  EXPECT_EQ(echo.accepted[0]->received, "ping");
  EXPECT_EQ(echo.client->received, "");
  echo.world.run_for(240s);
  EXPECT_EQ(echo.client->received, "ping");
}

TEST(SimulatedNetwork, HalfCloseEndsOneDirectionOnly) {
  EchoWorld echo(3);
  echo.connect();
  echo.client->send("last words");
  SimulatedNetwork::half_close(*echo.client->stream);
  echo.world.run_for(1s);
  ASSERT_EQ(echo.accepted.size(), 1U);
  EXPECT_EQ(echo.accepted[0]->received, "last words");
  EXPECT_EQ(echo.accepted[0]->ended, IoResult::Kind::end_of_stream);
  EXPECT_EQ(echo.client->received, "last words");
  EXPECT_EQ(echo.client->ended, IoResult::Kind::would_block);
}

TEST(SimulatedNode, PeersOfAKilledProcessSeeTheEndAndItsRemainsCanDoNothing) {
  EchoWorld echo(5);
  echo.connect();
  echo.client->send("hello");
  echo.world.run_for(1s);
  echo.server_node.kill();
  echo.world.run_for(1s);
  EXPECT_NE(echo.client->ended, IoResult::Kind::would_block);
  EXPECT_EQ(echo.accepted[0]->ended, IoResult::Kind::failed);
  const Seams remains = echo.server_process->seams();
  EXPECT_EQ(remains.files.open("/x", OpenMode::create).error(), ErrorCode::io_error);
  EXPECT_EQ(remains.transport.listen({"", 1}, [](auto) {}).error(), ErrorCode::io_error);

  const auto next = echo.server_node.start();
  EXPECT_TRUE(next->seams().transport.listen({"", 9092}, [](auto) {}).has_value()) << "the port is free again";
}

TEST(SimulatedNode, PeersOfACrashedMachineLearnItOnlyBySending) {
  EchoWorld echo(5);
  echo.connect();
  echo.world.run_for(1s);
  echo.server_node.crash();
  echo.world.run_for(60s);
  EXPECT_EQ(echo.client->ended, IoResult::Kind::would_block);
  echo.client->send("anybody there?");
  echo.world.run_for(1s);
  EXPECT_EQ(echo.client->ended, IoResult::Kind::failed);
}

TEST(SimulatedNode, DiskSurvivesItsProcesses) {
  SimulatedWorld world(1);
  SimulatedNode& node = world.add_node("a");
  auto process = node.start();
  ASSERT_TRUE(replace_file(process->seams().files, "/", "f", as_bytes("kept")).ok());
  node.crash();
  process = node.start();
  EXPECT_EQ(as_text(*read_whole_file(process->seams().files, "/f")), "kept");
}

uint64_t hash_of_run(uint64_t seed) {
  EchoWorld echo(seed);
  echo.world.network().options.cut_one_in = 200;
  echo.server_process->scheduler().set_disk_timing({.stall_one_in = 5});
  echo.connect();
  echo.client->send(numbered_text(30'000));
  for (int i = 0; i < 20; ++i) {
    echo.server_process->scheduler().run_blocking([&echo, i] {
      const auto file = echo.server_node.disk().open("/log", OpenMode::create);
      EXPECT_TRUE((*file)->write_at(echo.world.random().below(1000), as_bytes(numbered_text(100))).ok());
      if (i % 3 == 0) EXPECT_TRUE((*file)->sync_data().ok());
    });
  }
  echo.world.run_for(10s);
  echo.server_node.crash();
  return echo.world.trace_hash();
}

TEST(SimulatedWorld, SameSeedSameHistoryOtherSeedOtherHistory) {
  std::set<uint64_t> hashes;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const uint64_t hash = hash_of_run(seed);
    EXPECT_EQ(hash, hash_of_run(seed));
    hashes.insert(hash);
  }
  EXPECT_EQ(hashes.size(), 20U);
}

}  // namespace
}  // namespace naru
