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

int64_t in_ms(Duration time) {
  return std::chrono::duration_cast<Milliseconds>(time).count();
}

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
  if (took < longest) co_return report(name, took);
  log_warn("broker", "stop: gave up waiting for {} after {} ms; it ends with what it waits for", name, in_ms(took));
}

Task<void> StopPhases::run_to_the_end(std::string_view name, Task<void> work) {
  const MonotonicTime begun = seams_.clock.now();
  TaskGroup mentions;
  mentions.spawn(mention(name, begun, mentions.token()));
  co_await std::move(work);
  mentions.cancel();
  co_await mentions.join();
  co_await to_loop(seams_.scheduler);
  report(name, seams_.clock.now() - begun);
}

Task<void> StopPhases::mention(std::string_view name, MonotonicTime begun, CancelToken ended) {
  while ((co_await sleep_until(seams_.scheduler, seams_.clock.now() + stop_limits::kMentioned, ended)).ok()) {
    log_warn("broker", "stop: still waiting for {} after {} ms", name, in_ms(seams_.clock.now() - begun));
  }
}

void StopPhases::report(std::string_view name, Duration took) const {
  log(took >= kSlow ? LogLevel::info : LogLevel::debug, "broker", "stop: {} took {} ms", name, in_ms(took));
}

}  // namespace naru
