#include "simulation/bounds_watch.h"

#include <array>
#include <chrono>
#include <ctime>
#include <utility>

#include <fmt/core.h>

#include "foundation/sanitized_testing.h"

namespace naru::simulation {
namespace {

// Until the connections of the last clients are closed at the other end, too.
constexpr Duration kTimeToNotice = 15s;

constexpr std::array kAccounts{MemoryAccount::request_bodies,   MemoryAccount::parked_fetches,
                               MemoryAccount::decompression,    MemoryAccount::producer_state,
                               MemoryAccount::sessions,         MemoryAccount::responses,
                               MemoryAccount::decoded_requests, MemoryAccount::coordinator_state};
static_assert(kAccounts.size() == kMemoryAccounts);

bool is_state(MemoryAccount account) {
  return account == MemoryAccount::producer_state || account == MemoryAccount::sessions ||
         account == MemoryAccount::coordinator_state;
}

Duration read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);  // NOLINT: what a step costs is no part of the simulation
  return std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec);
}

}  // namespace

std::optional<std::string> beyond_budget(const MemoryBudget& budget) {
  for (const MemoryAccount account : kAccounts) {
    if (account == MemoryAccount::coordinator_state || budget.used(account) <= budget.limit(account)) continue;
    return fmt::format("{} bytes in the account of {}, whose part is {}", budget.used(account), account_name(account),
                       budget.limit(account));
  }
  const uint64_t most =
      budget.total() + budget.limit(MemoryAccount::responses) + 2 * budget.limit(MemoryAccount::coordinator_state);
  if (budget.used() <= most) return std::nullopt;
  return fmt::format("{} bytes in all accounts, of a budget of {}", budget.used(), budget.total());
}

std::optional<std::string> held_for_nobody(const MemoryBudget& budget) {
  if (budget.waiting() > 0) return fmt::format("{} requests wait for memory", budget.waiting());
  for (const MemoryAccount account : kAccounts) {
    if (is_state(account) || budget.used(account) == 0) continue;
    return fmt::format("{} bytes in the account of {}", budget.used(account), account_name(account));
  }
  return std::nullopt;
}

EventMeter::Clocks EventMeter::real_clocks() {
  return {.wall = [] { return read_clock(CLOCK_MONOTONIC); },
          .processor = [] { return read_clock(CLOCK_THREAD_CPUTIME_ID); }};
}

std::optional<Duration> EventMeter::passed(bool counts) {
  const Duration wall = clocks_.wall();
  if (!wall_) processor_ = clocks_.processor();
  const bool is_long = wall_ && wall - *wall_ > kLongest;
  wall_ = wall;
  if (!is_long && ++events_ < kEventsPerReading) return std::nullopt;
  const Duration processor = clocks_.processor();
  const Duration took = processor - std::exchange(processor_, processor);
  events_ = 0;
  return is_long && counts && took > kLongest ? std::optional(took) : std::nullopt;
}

void BoundsWatch::violated(std::string sentence) {
  if (!violation_) violation_ = std::move(sentence);
}

void BoundsWatch::look() {
  for (const auto& broker : cluster_.brokers()) {
    if (!broker->running()) continue;
    if (const auto beyond = beyond_budget(broker->broker().memory())) {
      violated(fmt::format("broker {} uses more memory than it may: {}", broker->id(), *beyond));
    }
  }
}

Task<void> BoundsWatch::look_without_clients() {
  if (!cluster_.is_alone() || !cluster_.brokers().front()->running()) co_return;
  const MemoryBudget& budget = cluster_.brokers().front()->broker().memory();
  const MonotonicTime deadline = harness_.clock.now() + kTimeToNotice;
  while (held_for_nobody(budget) && harness_.clock.now() < deadline) {
    ignore(co_await sleep_until(harness_.scheduler, harness_.clock.now() + 100ms));
  }
  if (const auto held = held_for_nobody(budget)) violated("memory is held although no client is there: " + *held);
}

void BoundsWatch::look_at_stops() {
  for (const auto& broker : cluster_.brokers()) {
    if (broker->longest_stop() <= kLongestStop) continue;
    violated(fmt::format("a clean shutdown of broker {} took {} s", broker->id(), broker->longest_stop() / 1s));
  }
}

void BoundsWatch::took(std::optional<Duration> event) {
  if (!event || kSanitized) return;
  violated(fmt::format("a loop was kept for {} ms by one event", *event / 1ms));
}

}  // namespace naru::simulation
