// What a step of the coordinator works with, and the timers that make it step by itself.
#pragma once

#include <cstdint>
#include <string>

#include "consumer_groups/group_settings.h"
#include "consumer_groups/group_store.h"
#include "coordinator_runtime/coordinator_outcome.h"
#include "timing_wheel/timing_wheel.h"

namespace naru {

struct GroupTimer {
  enum class Kind : uint8_t {
    session,          // of a member
    awaited_member,   // that was sent away to come back with its id
    rebalance,        // the time to join
    synchronization,  // the time to ask for the assignment
  };
  Kind kind;
  std::string group_id;
  std::string member_id;  // of a member's timer
};

using GroupTimers = TimingWheel<GroupTimer>;

// Lives as long as one step.
struct GroupStep {
  const GroupSettings& settings;
  GroupStore& store;
  GroupTimers& timers;
  const CoordinatorTime& time;
  CoordinatorOutcome& outcome;
};

}  // namespace naru
