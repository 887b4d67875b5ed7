// What only the real platform has: threads, descriptors, signals. The contracts it shares with the simulated one are
// tested in platform/.
#include "platform/real/real_platform.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <mutex>
#include <semaphore>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "async/one_shot.h"
#include "async/task_group.h"
#include "foundation/sanitized_testing.h"
#include "platform/real/busy_listener_testing.h"
#include "platform/real/event_loop.h"
#include "platform/real/real_clock.h"
#include "platform/real/stuck_loops_testing.h"
#include "platform/real/thread_timer.h"
#include "platform/real/unique_descriptor.h"
#include "platform/real/worker_pool.h"

namespace naru {
namespace {

constexpr int kStressRounds = kSanitized ? 2'000 : 20'000;
constexpr size_t kEchoBytes = kSanitized ? 200'000 : 2'000'000;

// --- Workers ---------------------------------------------------------------------------------------------------------

TEST(WorkerPool, StartsThreadsOnlyWhenNeededAndRunsEverythingBeforeItEnds) {
  std::atomic<int> ran{0};
  {
    WorkerPool pool(3);
    EXPECT_EQ(pool.threads(), 0U);
    pool.submit([&] { ++ran; });
    EXPECT_EQ(pool.threads(), 1U);
    for (int i = 0; i < 1000; ++i) {
      pool.submit([&] {
        ++ran;
        if (ran % 100 == 0) pool.submit([&] { ++ran; });
      });
    }
    EXPECT_LE(pool.threads(), 3U);
  }
  EXPECT_GE(ran, 1001);
}

TEST(WorkerPool, ServesFirstComeFirstServed) {
  std::vector<int> order;
  {
    WorkerPool pool(1);
    for (int i = 0; i < 100; ++i) pool.submit([&order, i] { order.push_back(i); });
  }
  EXPECT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(WorkerPool, JobsThatBlockDoNotHoldUpOthersWhileThereAreThreads) {
  WorkerPool pool(2);
  std::mutex gate;
  gate.lock();
  pool.submit([&gate] { const std::scoped_lock waits(gate); });
  std::atomic<bool> ran{false};
  pool.submit([&ran] { ran = true; });
  while (!ran) std::this_thread::yield();
  gate.unlock();
}

TEST(WorkerPool, ALowerLimitHoldsForJobsThatBeginAfterIt) {
  WorkerPool pool(4);
  std::mutex gate;
  gate.lock();
  std::atomic<int> begun{0}, now{0}, most{0};
  for (int i = 0; i < 4; ++i) {
    pool.submit([&] {
      ++begun;
      const std::scoped_lock waits(gate);
    });
  }
  while (begun < 4) std::this_thread::yield();
  pool.set_limit(2);
  for (int i = 0; i < 200; ++i) {
    pool.submit([&] {
      const int at_once = ++now;
      for (int seen = most; seen < at_once && !most.compare_exchange_weak(seen, at_once);) {
      }
      std::this_thread::yield();
      --now;
      ++begun;
    });
  }
  gate.unlock();
  while (begun < 204) std::this_thread::yield();
  EXPECT_LE(most, 2);
  EXPECT_EQ(pool.threads(), 4U) << "the others are parked";
}

TEST(WorkerPool, AHigherLimitLetsJobsGoOnThatWaitForAThread) {
  WorkerPool pool(1);
  std::mutex gate;
  gate.lock();
  pool.submit([&gate] { const std::scoped_lock waits(gate); });
  std::atomic<bool> ran{false};
  pool.submit([&ran] { ran = true; });
  pool.set_limit(2);
  while (!ran) std::this_thread::yield();
  gate.unlock();
}

// --- Loops and timers ------------------------------------------------------------------------------------------------

TEST(EventLoop, SleepsWhileNothingIsDue) {
  const RealClock clock;
  LoopWatchdog watchdog(clock, {});
  EventLoop loop(0, clock, watchdog);
  const auto timer = loop.start_timer(clock.now() + 1h, [] {});
  std::atomic<bool> settled{false};
  loop.post([&settled] { settled = true; });  // behind the arming of the timer
  while (!settled) std::this_thread::yield();
  const uint64_t turns = loop.turns();
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(loop.turns(), turns);
  EXPECT_TRUE(loop.cancel_timer(timer));
}

TEST(EventLoop, CancelFromAnotherThreadIsExact) {
  RealPlatform platform({.loops = 2});
  Scheduler& scheduler = platform.seams().scheduler;
  Clock& clock = platform.seams().clock;
  std::atomic<int> ran{0};
  int cancelled = 0;
  for (int i = 0; i < kStressRounds; ++i) {
    const auto timer = scheduler.start_timer(clock.now() + std::chrono::microseconds(i % 1500), [&ran] { ++ran; });
    if (i % 3 == 0) std::this_thread::yield();
    if (i % 2 == 0 && scheduler.cancel_timer(timer)) ++cancelled;
  }
  platform.run([](Seams seams) -> Task<void> {
    EXPECT_TRUE((co_await sleep_until(seams.scheduler, seams.clock.now() + 20ms)).ok());
  }(platform.seams()));
  EXPECT_EQ(ran + cancelled, kStressRounds);
}

TEST(EventLoop, RunsPostsOfOneThreadInOrder) {
  RealPlatform platform({.loops = 1});
  Scheduler& scheduler = platform.seams().scheduler;
  std::vector<std::vector<int>> order(3);  // touched by the loop only
  std::vector<std::thread> producers;
  for (int producer = 0; producer < 3; ++producer) {
    producers.emplace_back([&, producer] {
      for (int i = 0; i < kStressRounds; ++i) {
        scheduler.post([&order, producer, i] { order[producer].push_back(i); });
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  platform.run([]() -> Task<void> { co_return; }());
  for (const auto& numbers : order) {
    EXPECT_EQ(numbers.size(), static_cast<size_t>(kStressRounds));
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  }
}

TEST(EventLoop, BlockingWorkGoesOnOnItsWorker) {
  RealPlatform platform({.loops = 1});
  platform.run([](Seams seams) -> Task<void> {
    const auto loop_thread = std::this_thread::get_id();
    const auto worker = co_await on_worker(seams.scheduler, [] {
      std::this_thread::sleep_for(10ms);  // so that the task is waiting when this is done
      return std::this_thread::get_id();
    });
    EXPECT_NE(worker, loop_thread);
    EXPECT_EQ(std::this_thread::get_id(), worker);
  }(platform.seams()));
}

TEST(LoopWatchdog, ReportsAStalledLoopWhileItIsStuck) {
  std::atomic<int> reports{0};
  std::atomic<size_t> loop{99};
  WatchdogOptions watchdog{.interval = 10ms, .threshold = 100ms, .on_stall = [&](const LoopStall& stall) {
                             loop = stall.loop;
                             EXPECT_GE(stall.so_far, 100ms);
                             ++reports;
                           }};
  RealPlatform platform({.loops = 1, .watchdog = std::move(watchdog)});
  platform.run([](std::atomic<int>& so_far) -> Task<void> {
    std::this_thread::sleep_for(400ms);
    EXPECT_GE(so_far, 1) << "while the loop is still here";
    co_return;
  }(reports));
  platform.run([]() -> Task<void> { co_return; }());  // a turn later the stall is counted
  EXPECT_EQ(loop, 0U);
  EXPECT_GE(platform.loop_stalls(), 1U);
  EXPECT_GE(platform.longest_loop_stall(), 400ms);
}

TEST(RealPlatform, HearsTerminationSignals) {
  RealPlatform platform({.loops = 1});
  OneShot<int> received;
  platform.on_termination_signal([&received](int signal) { received.set(signal); });
  platform.run([](OneShot<int>& wait) -> Task<void> {
    ::raise(SIGTERM);
    EXPECT_EQ(co_await wait, SIGTERM);
  }(received));
}

TEST(RealPlatform, HearsTerminationSignalsAtOnceWhileAllLoopsAreStuck) {
  RealPlatform platform({.loops = 2});
  std::promise<void> at_once;
  OneShot<int> received;
  platform.on_termination_signal([&received](int signal) { received.set(signal); },
                                 [&at_once] { at_once.set_value(); });
  {
    const StuckLoops stuck(platform.seams().scheduler, 2);
    ::raise(SIGTERM);
    EXPECT_EQ(at_once.get_future().wait_for(60s), std::future_status::ready);
    EXPECT_FALSE(received.is_set());
  }
  platform.run([](OneShot<int>& wait) -> Task<void> { EXPECT_EQ(co_await wait, SIGTERM); }(received));
}

TEST(ThreadTimer, RunsWhileAllLoopsAreStuck) {
  RealPlatform platform({.loops = 2});
  std::promise<void> ran;
  ThreadTimer timer([&ran] { ran.set_value(); });
  const StuckLoops stuck(platform.seams().scheduler, 2);
  timer.start(1ms);
  timer.start(1ms);
  EXPECT_EQ(ran.get_future().wait_for(60s), std::future_status::ready);
}

TEST(ThreadTimer, NeverRunsOnceItIsDestroyedAndKeepsNobodyWaiting) {
  bool ran = false;
  {
    const ThreadTimer never_started([&ran] { ran = true; });
  }
  {
    ThreadTimer timer([&ran] { ran = true; });
    timer.start(24h);
  }
  EXPECT_FALSE(ran);
}

TEST(RealPlatform, HearsThatItsTerminalIsGone) {
  RealPlatform platform({.loops = 1});
  OneShot<int> received;
  platform.on_termination_signal([&received](int signal) { received.set(signal); });
  platform.run([](OneShot<int>& wait) -> Task<void> {
    ::raise(SIGHUP);
    EXPECT_EQ(co_await wait, SIGHUP);
  }(received));
}

TEST(RealPlatform, LeavesAHangUpIgnoredForThoseWhoStartedItLikeThat) {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  {
    RealPlatform platform({.loops = 1});
    OneShot<int> received;
    platform.on_termination_signal([&received](int signal) { received.set(signal); });
    platform.run([](OneShot<int>& wait) -> Task<void> {
      ::raise(SIGHUP);
      ::raise(SIGTERM);
      EXPECT_EQ(co_await wait, SIGTERM);
    }(received));
  }
  ::signal(SIGHUP, before);
}

// --- Connections over several loops ----------------------------------------------------------------------------------

// Sends everything back. Lives with its stream, on the stream's loop; deletes itself at the end.
class Echo final : public StreamObserver {
 public:
  Echo(std::unique_ptr<Stream> stream, std::atomic<int>& open) : stream_(std::move(stream)), open_(open) {
    ++open_;
    stream_->start(this);
  }
  ~Echo() override { --open_; }

  void on_readable() override {
    std::array<std::byte, 4096> buffer;
    const IoResult result = stream_->read_some(buffer);
    if (result.kind == IoResult::Kind::would_block) return;
    if (result.kind != IoResult::Kind::progress) {
      delete this;
      return;
    }
    append_bytes(unsent_, BytesView(buffer).first(result.bytes));
    on_writable();
  }
  void on_writable() override {
    const BytesView bytes = unsent_;
    const IoResult result = stream_->write_some(std::span(&bytes, 1));
    unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<ptrdiff_t>(result.bytes));
    stream_->want_readable(unsent_.empty());
    if (!unsent_.empty()) stream_->want_writable();
  }

 private:
  std::unique_ptr<Stream> stream_;
  std::atomic<int>& open_;
  Bytes unsent_;
};

// Sends `bytes` bytes from worker threads, as a broker answers, and reads them back on the loop.
class Client final : public StreamObserver {
 public:
  explicit Client(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

  Task<size_t> echo(Seams seams, size_t bytes) {
    expected_ = bytes;
    stream_->start(this);
    TaskGroup writing;
    writing.spawn(write(seams, bytes));
    co_await received_all_;
    co_await writing.join();
    OneShot<> closed;
    stream_->run_on_loop([this, &closed] {
      stream_->close();
      closed.set();
    });
    co_await closed;
    co_return received_;
  }

  void on_readable() override {
    std::array<std::byte, 8192> buffer;
    const IoResult result = stream_->read_some(buffer);
    for (size_t i = 0; i < result.bytes; ++i) {
      EXPECT_EQ(std::to_integer<size_t>(buffer[i]), (received_ + i) % 251);
    }
    received_ += result.bytes;
    if (result.kind == IoResult::Kind::would_block || received_ < expected_) return;
    stream_->want_readable(false);
    received_all_.set();
  }
  void on_writable() override {
    if (auto* waiting = std::exchange(writable_, nullptr)) waiting->set();
  }

 private:
  Task<void> write(Seams seams, size_t bytes) {
    for (size_t sent = 0; sent < bytes;) {
      Bytes chunk(std::min<size_t>(bytes - sent, 10'000));
      for (size_t i = 0; i < chunk.size(); ++i) chunk[i] = static_cast<std::byte>((sent + i) % 251);
      const BytesView view = chunk;
      const IoResult result =
          co_await on_worker(seams.scheduler, [this, view] { return stream_->write_some(std::span(&view, 1)); });
      EXPECT_NE(result.kind, IoResult::Kind::failed);
      sent += result.bytes;
      if (result.kind != IoResult::Kind::would_block) continue;
      OneShot<> writable;
      stream_->run_on_loop([this, &writable] {
        writable_ = &writable;
        stream_->want_writable();
      });
      co_await writable;
    }
  }

  std::unique_ptr<Stream> stream_;
  size_t expected_ = 0;
  size_t received_ = 0;  // touched by the loop only
  OneShot<> received_all_;
  OneShot<>* writable_ = nullptr;  // touched by the loop only
};

TEST(RealTransport, AConnectThatNobodyAnswersCanBeCancelled) {
  const BusyListener busy;
  RealPlatform platform({.loops = 2, .connect_timeout = 60s});
  platform.run([](Seams seams, Endpoint address) -> Task<void> {
    const MonotonicTime begun = seams.clock.now();
    CancelSource source;
    // On a worker: the connect belongs to a loop.
    seams.scheduler.start_timer(begun + 100ms, [&] { seams.scheduler.run_blocking([&source] { source.cancel(); }); });
    const auto stream = co_await seams.transport.connect(address, source.token());
    EXPECT_FALSE(stream.has_value());
    if (!stream) EXPECT_EQ(stream.error(), ErrorCode::cancelled);
    EXPECT_LT(seams.clock.now() - begun, 30s);
  }(platform.seams(), busy.address()));
}

Task<void> connect_and_echo(Seams seams, Endpoint address) {
  auto stream = co_await seams.transport.connect(std::move(address));
  EXPECT_TRUE(stream.has_value());
  Client client(std::move(*stream));
  EXPECT_EQ(co_await client.echo(seams, kEchoBytes), kEchoBytes);
}

TEST(TcpStress, ManyConnectionsOverAllLoopsWrittenByWorkers) {
  RealPlatform platform({.loops = 3, .workers = 3});
  std::atomic<int> open{0};
  std::mutex mutex;
  std::set<std::thread::id> accepting_threads;
  platform.run([](Seams seams, auto& open_echos, auto& guard, auto& threads) -> Task<void> {
    auto listener = seams.transport.listen({"::1", 0}, [&](std::unique_ptr<Stream> stream) {
      const std::scoped_lock lock(guard);
      threads.insert(std::this_thread::get_id());
      new Echo(std::move(stream), open_echos);
    });
    EXPECT_TRUE(listener.has_value()) << listener.error().to_string();
    TaskGroup clients;
    for (int i = 0; i < 12; ++i) clients.spawn(connect_and_echo(seams, (*listener)->address()));
    co_await clients.join();
    while (open_echos > 0) {
      EXPECT_TRUE((co_await sleep_until(seams.scheduler, seams.clock.now() + 1ms)).ok());
    }
  }(platform.seams(), open, mutex, accepting_threads));
  EXPECT_EQ(accepting_threads.size(), 3U);
}

// Accepts streams and notes them; can keep one of two loops busy.
struct TwoLoops {
  std::mutex mutex;
  std::vector<std::unique_ptr<Stream>> accepted;  // in the order in which their loops took them
  std::binary_semaphore go_on{0};

  size_t count() {
    const std::scoped_lock lock(mutex);
    return accepted.size();
  }
};

TEST(TcpListener, NumbersStreamsInTheOrderOfTheirConnectsThoughALoopIsBusy) {
  RealPlatform platform({.loops = 2, .workers = 1});
  TwoLoops loops;
  std::vector<uint64_t> in_order_of_connect;
  bool taken_in_another_order = false;
  platform.run([](Seams seams, TwoLoops& two, auto& numbers, bool& another_order) -> Task<void> {
    auto listener = seams.transport.listen({"127.0.0.1", 0}, [&two](std::unique_ptr<Stream> stream) {
      const std::scoped_lock lock(two.mutex);
      two.accepted.push_back(std::move(stream));
    });
    const auto wait_for = [&](size_t count) -> Task<void> {
      while (two.count() < count) EXPECT_TRUE((co_await sleep_until(seams.scheduler, seams.clock.now() + 1ms)).ok());
    };
    std::vector<std::unique_ptr<Stream>> clients;
    for (int i = 0; i < 2; ++i) clients.push_back(std::move(*co_await seams.transport.connect((*listener)->address())));
    co_await wait_for(2);
    std::atomic<int> elsewhere = -1;  // which of the two is on the loop that this is not
    for (int i = 0; i < 2; ++i) {
      two.accepted[i]->run_on_loop([&elsewhere, i, here = std::this_thread::get_id()] {
        if (std::this_thread::get_id() != here) elsewhere = i;
      });
    }
    while (elsewhere < 0) EXPECT_TRUE((co_await sleep_until(seams.scheduler, seams.clock.now() + 1ms)).ok());
    two.accepted[elsewhere]->run_on_loop([&two] { two.go_on.acquire(); });
    for (int i = 0; i < 3; ++i) clients.push_back(std::move(*co_await seams.transport.connect((*listener)->address())));
    co_await wait_for(3);
    two.go_on.release();
    co_await wait_for(5);
    const std::scoped_lock lock(two.mutex);
    uint64_t last = 0;
    for (const auto& stream : two.accepted) {
      another_order = another_order || stream->number() < last;
      last = stream->number();
    }
    for (const auto& client : clients) {
      EXPECT_EQ(client->number(), 0U) << "it was not accepted";
      for (const auto& stream : two.accepted) {
        if (stream->peer().port == client->local().port) numbers.push_back(stream->number());
      }
    }
    two.accepted.clear();
  }(platform.seams(), loops, in_order_of_connect, taken_in_another_order));
  EXPECT_TRUE(taken_in_another_order) << "no loop was busy";
  EXPECT_EQ(in_order_of_connect, (std::vector<uint64_t>{1, 2, 3, 4, 5}));
}

// --- Out of descriptors ----------------------------------------------------------------------------------------------

class LowDescriptorLimit {
 public:
  LowDescriptorLimit() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit lower = before_;
    lower.rlim_cur = 256;
    ::setrlimit(RLIMIT_NOFILE, &lower);
  }
  ~LowDescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(RealPlatform, TakesAsManyDescriptorsAsItMayHave) {
  const LowDescriptorLimit limit;
  RealPlatform platform({.loops = 1});
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, now.rlim_max);
  EXPECT_EQ(platform.seams().files.open_file_limit(), now.rlim_max);
}

int blocking_connect(int socket, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  return ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address);
}

// Whether the peer closes the connection within that time.
bool is_turned_away(int socket, Milliseconds within) {
  pollfd watched{.fd = socket, .events = POLLIN};
  return ::poll(&watched, 1, static_cast<int>(within.count())) > 0;
}

// How many of them are turned away, waiting until `expected` are, but not for ever.
int count_turned_away(const std::vector<UniqueDescriptor>& clients, int expected) {
  int count = 0;
  for (int round = 0; round < 1000 && count != expected; ++round) {
    std::this_thread::sleep_for(10ms);
    count = 0;
    for (const UniqueDescriptor& client : clients) count += is_turned_away(client.get(), 0ms) ? 1 : 0;
  }
  return count;
}

TEST(TcpListener, TurnsConnectionsAwayWhenDescriptorsRunOutAndRecovers) {
#if __has_feature(undefined_behavior_sanitizer)
  GTEST_SKIP() << "this sanitizer checks pointers with a pipe, and calls them bad when it gets no descriptor for it";
#endif
  RealPlatform platform({.loops = 1});
  std::unique_ptr<Listener> listener;
  std::vector<std::unique_ptr<Stream>> streams;
  platform.run([](Seams seams, auto& to, auto& accepted) -> Task<void> {
    to = std::move(*seams.transport.listen(
        {"127.0.0.1", 0}, [&accepted](std::unique_ptr<Stream> stream) { accepted.push_back(std::move(stream)); }));
    co_return;
  }(platform.seams(), listener, streams));
  const uint16_t port = listener->address().port;
  {
    const LowDescriptorLimit limit;
    std::vector<UniqueDescriptor> clients;
    for (int i = 0; i < 20; ++i) clients.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    std::vector<UniqueDescriptor> fillers;
    do {
      fillers.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    } while (fillers.back());
    fillers.resize(fillers.size() - 3);  // the failed one, and room for two connections

    for (const UniqueDescriptor& client : clients) EXPECT_EQ(blocking_connect(client.get(), port), 0);
    EXPECT_EQ(count_turned_away(clients, 18), 18);

    fillers.clear();
    const UniqueDescriptor late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(blocking_connect(late.get(), port), 0);
    EXPECT_FALSE(is_turned_away(late.get(), 200ms));
  }
  platform.run([](auto& to, auto& accepted) -> Task<void> {
    EXPECT_EQ(accepted.size(), 3U);
    accepted.clear();
    to.reset();
    co_return;
  }(listener, streams));
}

}  // namespace
}  // namespace naru
