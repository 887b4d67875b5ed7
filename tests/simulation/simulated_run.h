// One run of the simulation, wholly decided by its seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simulation/fault_plan.h"

namespace naru::simulation {

struct RunResult {
  std::string plan;
  uint64_t trace_hash = 0;
  uint64_t events = 0;
  size_t acknowledged = 0;
  size_t seen = 0;
  int faults = 0;
  size_t refused_logs = 0;
  size_t repeated_batches = 0;
  size_t group_assignments = 0;
  size_t group_commits = 0;
  size_t group_conversions = 0;
  size_t transactions_committed = 0;
  uint64_t coordinators_compared = 0;
  std::optional<std::string> problem;  // what is wrong; none: the run is clean
};

enum class RunLog : uint8_t { silent, shown };
RunResult run_seed(uint64_t seed, Shape shape, RunLog log = RunLog::silent);

}  // namespace naru::simulation
