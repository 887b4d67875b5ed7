#include "platform/real/real_platform.h"

#include <signal.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "async/task_group.h"
#include "foundation/assert.h"
#include "platform/real/loop_group.h"
#include "platform/real/open_file_limit.h"
#include "platform/real/posix_file_system.h"
#include "platform/real/real_clock.h"
#include "platform/real/real_random.h"
#include "platform/real/signal_watcher.h"
#include "platform/real/uv_scheduler.h"
#include "platform/real/uv_transport.h"
#include "platform/real/worker_pool.h"

namespace naru {
namespace {

constexpr size_t kLoopsMax = 255;  // a timer's name has 8 bits for the loop

std::vector<const EventLoop*> all_of(LoopGroup& loops) {
  std::vector<const EventLoop*> all;
  for (size_t i = 0; i < loops.size(); ++i) all.push_back(&loops[i]);
  return all;
}

// Shared by both sides: the one that waits may go on before the other has returned from set().
class Completion {
 public:
  void set() {
    const std::scoped_lock lock(mutex_);
    completed_ = true;
    changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return completed_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool completed_ = false;
};

Task<void> run_then_tell(Task<void> task, std::shared_ptr<Completion> ended) {
  {
    Task<void> owned = std::move(task);
    co_await std::move(owned);
  }  // nothing of the task is left when its end is told
  ended->set();
}

}  // namespace

struct RealPlatform::Parts {
  explicit Parts(RealPlatformOptions options)
      : watchdog(clock, std::move(options.watchdog)),
        loops(options.loops, clock, watchdog),
        workers(std::make_unique<WorkerPool>(options.workers)),
        scheduler(loops, *workers),
        transport(loops, scheduler, clock, options.connect_timeout) {}

  RealClock clock;
  RealRandom random;
  PosixFileSystem files;
  LoopWatchdog watchdog;
  LoopGroup loops;
  std::unique_ptr<WorkerPool> workers;
  UvScheduler scheduler;
  UvTransport transport;
  std::unique_ptr<SignalWatcher> signals;
  TaskGroup tasks;
};

RealPlatform::RealPlatform(RealPlatformOptions options) {
  NARU_ASSERT(options.loops > 0 && options.loops <= kLoopsMax, "{} event loops", options.loops);
  ::signal(SIGPIPE, SIG_IGN);  // sendfile to a connection that is gone would raise it
  raise_open_file_limit();
  parts_ = std::make_unique<Parts>(std::move(options));
  parts_->watchdog.watch(all_of(parts_->loops));
}

RealPlatform::~RealPlatform() {
  NARU_ASSERT(EventLoop::current() == nullptr, "the platform cannot be ended by one of its own threads");
  parts_->signals.reset();
  parts_->workers.reset();
  parts_->watchdog.stop();
  parts_->loops.stop();
}

Seams RealPlatform::seams() {
  return {parts_->clock, parts_->random, parts_->files, parts_->transport, parts_->scheduler};
}

void RealPlatform::run(Task<void> task) {
  NARU_ASSERT(EventLoop::current() == nullptr, "an event loop would wait for itself");
  const auto ended = std::make_shared<Completion>();
  parts_->loops[0].post(
      [this, ended, task = std::move(task)]() mutable { parts_->tasks.spawn(run_then_tell(std::move(task), ended)); });
  ended->wait();
}

void RealPlatform::on_termination_signal(UniqueFunction<void(int signal)> received, UniqueFunction<void()> at_once) {
  NARU_ASSERT(!parts_->signals, "termination signals are already watched");
  // Shared with what may still wait for the loop.
  const auto kept = std::make_shared<UniqueFunction<void(int signal)>>(std::move(received));
  parts_->signals = std::make_unique<SignalWatcher>(
      [&loop = parts_->loops[0], kept, at_once = std::move(at_once)](int signal) mutable {
        if (at_once) at_once();
        loop.post([kept, signal] { (*kept)(signal); });
      });
}

uint64_t RealPlatform::loop_stalls() const {
  return parts_->watchdog.stalls();
}
Duration RealPlatform::longest_loop_stall() const {
  return parts_->watchdog.longest_stall();
}
size_t RealPlatform::queued_blocking_work() const {
  return parts_->workers->queued();
}

}  // namespace naru
