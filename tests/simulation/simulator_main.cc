// ./dev sim [--seed N] [--seeds N] [--cluster] [--canary NAME [--all]] [--verbose]: runs the simulation and says which
// seeds are not clean.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <fmt/core.h>

#include "foundation/canary_testing.h"
#include "foundation/log.h"
#include "simulation/simulated_run.h"

namespace {

std::optional<naru::Canary> find_canary(const std::string& name) {
  const auto found = std::ranges::find(naru::kCanaries, name, &naru::CanaryName::name);
  return found == naru::kCanaries.end() ? std::nullopt : std::optional(found->canary);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Runs a whole broker with faulty disks, networks and power, in virtual time. A seed repeats a run exactly."};
  uint64_t seed = 1;
  uint64_t seeds = 0;
  bool verbose = false;
  bool cluster = false;
  bool list_canaries = false;
  bool all_seeds = false;
  std::string canary_name = "none";
  app.add_option("--seed", seed, "The first seed");
  app.add_option("--seeds", seeds, "How many seeds to run; without it one, shown in detail");
  app.add_flag("--cluster", cluster, "Three to five brokers around a coordination service");
  app.add_flag("--verbose", verbose, "Show the broker's log");
  app.add_option("--canary", canary_name, "Plant this bug, and stop at the first seed that finds it");
  app.add_flag("--all", all_seeds, "Go on behind a seed that finds the bug, to see how many do");
  app.add_flag("--canaries", list_canaries, "List the bugs that can be planted");
  CLI11_PARSE(app, argc, argv);

  if (list_canaries) {
    for (const auto& canary : naru::kCanaries) fmt::print("{}\n", canary.name);
    return 0;
  }
  const auto canary = canary_name == "none" ? std::optional(naru::Canary::none) : find_canary(canary_name);
  if (!canary) {
    fmt::print(stderr, "there is no canary '{}'; --canaries lists them\n", canary_name);
    return 2;
  }
  const naru::PlantedCanary planted(*canary);

  const bool one = seeds == 0;
  uint64_t bad = 0, events = 0, acknowledged = 0, faults = 0;
  for (uint64_t current = seed; current < seed + (one ? 1 : seeds); ++current) {
    const auto result = naru::simulation::run_seed(
        current, cluster ? naru::simulation::Shape::cluster : naru::simulation::Shape::single,
        verbose ? naru::simulation::RunLog::shown : naru::simulation::RunLog::silent);
    events += result.events;
    acknowledged += result.acknowledged;
    faults += static_cast<uint64_t>(result.faults);
    if (one) {
      fmt::print(
          "seed {}: {}\n  {} events, trace {:016x}, {} records acknowledged, {} seen, {} faults, {} batches "
          "repeated, {} partitions assigned in groups, {} offsets committed, {} changes of a group's "
          "protocol, {} transactions committed, {} coordinators compared\n",
          current, result.plan, result.events, result.trace_hash, result.acknowledged, result.seen, result.faults,
          result.repeated_batches, result.group_assignments, result.group_commits, result.group_conversions,
          result.transactions_committed, result.coordinators_compared);
    }
    if (result.refused_logs > 0)
      fmt::print("seed {}: {} logs refused to open after disk errors\n", current, result.refused_logs);
    if (result.problem) {
      ++bad;
      fmt::print("seed {} FAILED: {}\n  {}\n", current, *result.problem, result.plan);
      if (*canary != naru::Canary::none && !all_seeds) break;  // found
    }
    std::fflush(stdout);  // the next seed may abort
    if (!one && (current - seed) % 100 == 99) fmt::print(stderr, "  {} seeds, {} not clean\n", current - seed + 1, bad);
  }
  fmt::print("{} seeds, {} events, {} faults, {} records acknowledged, {} seeds not clean\n", one ? 1 : seeds, events,
             faults, acknowledged, bad);
  return bad == 0 ? 0 : 1;
}
