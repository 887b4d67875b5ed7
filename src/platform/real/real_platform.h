// The real world: clock, random numbers, files, sockets and threads of this process. One object, made in main().
#pragma once

#include <cstddef>
#include <memory>

#include "async/task.h"
#include "foundation/function.h"
#include "platform/real/loop_watchdog.h"
#include "platform/seams.h"

namespace naru {

struct RealPlatformOptions {
  size_t loops = 1;    // event-loop threads, usually one per core; at most 255
  size_t workers = 4;  // at most so many threads for blocking work
  Duration connect_timeout = 10s;
  WatchdogOptions watchdog;
};

class RealPlatform {
 public:
  // Starts the loops, makes the process ignore SIGPIPE, and takes as many descriptors as it may have.
  explicit RealPlatform(RealPlatformOptions options);
  // Not from a loop or a worker. Runs the blocking work that is queued, then ends all threads. Everything built on the
  // seams must be gone or at rest: streams and listeners closed, tasks joined. Timers and posts left over never run.
  ~RealPlatform();
  RealPlatform(const RealPlatform&) = delete;
  RealPlatform& operator=(const RealPlatform&) = delete;

  Seams seams();

  // Runs the task, beginning on an event loop, and blocks the calling thread (not one of ours) until it has ended.
  void run(Task<void> task);

  // Calls `received` on an event loop for each SIGTERM, SIGINT and SIGHUP from now on, but not for a SIGHUP that the
  // process was started to ignore. `at_once` is called before, on a thread of its own, even while no event loop comes
  // back. Once.
  void on_termination_signal(UniqueFunction<void(int signal)> received, UniqueFunction<void()> at_once = {});

  // For metrics. Any thread.
  uint64_t loop_stalls() const;
  Duration longest_loop_stall() const;
  size_t queued_blocking_work() const;

 private:
  struct Parts;

  std::unique_ptr<Parts> parts_;
};

}  // namespace naru
