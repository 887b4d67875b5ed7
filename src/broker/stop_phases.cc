#include "broker/stop_phases.h"

#include <chrono>
#include <memory>
#include <utility>

#include "async/wakeup.h"
#include "foundation/log.h"

namespace naru {
namespace {

// Worth a line.
constexpr Duration kSlow = 1s;

Task<void> run_and_wake(Task<void> work, std::shared_ptr<Wakeup> ended) {
  {
    Task<void> owned = std::move(work);
    co_await std::move(owned);
  }
  ended->wake();
}

}  // namespace

Task<void> StopPhases::run(std::string_view name, Duration longest, Task<void> work) {
  const MonotonicTime begun = seams_.clock.now();
  const auto ended = std::make_shared<Wakeup>();
  running_.spawn(run_and_wake(std::move(work), ended));
  const auto timer = seams_.scheduler.start_timer(begun + longest, [ended] { ended->wake(); });
  co_await ended->event();
  seams_.scheduler.cancel_timer(timer);
  co_await to_loop(seams_.scheduler);
  const Duration took = seams_.clock.now() - begun;
  const auto ms = std::chrono::duration_cast<Milliseconds>(took).count();
  if (took >= longest) {
    log_warn("broker", "stop: gave up waiting for {} after {} ms; it ends with what it waits for", name, ms);
  } else if (took >= kSlow) {
    log_info("broker", "stop: {} took {} ms", name, ms);
  }
}

}  // namespace naru
