// Virtual time: everything that will happen in a simulated world, ordered by (moment, order of registration).
//
// Each event has an owner, the process it belongs to; when a process is forgotten, its events are destroyed without
// running. Single-threaded. Events run outside any strand.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "foundation/function.h"
#include "foundation/time.h"
#include "platform/simulated/trace_hash.h"

namespace naru {

class SimulatedEventQueue {
 public:
  using EventId = uint64_t;
  using Owner = uint64_t;
  static constexpr Owner kWorld = 0;  // belongs to no process: the network, the harness

  MonotonicTime now() const { return now_; }

  EventId add(MonotonicTime at, Owner owner, UniqueFunction<void()> work);
  // False if it has run, is running, or is gone.
  bool cancel(EventId id);
  void forget(Owner owner);
  void forget_everything();

  // Nothing of this owner runs before `until`: a process that is stopped, a virtual machine that is moved.
  void pause(Owner owner, MonotonicTime until) { paused_until_[owner] = until; }

  // Moves time to the earliest event and runs it; false if there is none.
  bool step();
  std::optional<MonotonicTime> next_event();
  // Lets time pass up to `moment`; no event may be due before it.
  void advance_to(MonotonicTime moment);

  TraceHash& trace() { return trace_; }
  uint64_t events_run() const { return events_run_; }
  // How many of the events were pieces of blocking work, as opposed to turns of an event loop.
  uint64_t blocking_jobs_run() const { return blocking_jobs_run_; }
  void count_blocking_job() { ++blocking_jobs_run_; }

 private:
  using Key = std::pair<MonotonicTime, EventId>;
  struct Event {
    Owner owner;
    UniqueFunction<void()> work;
  };

  // Moves the earliest events behind the pauses that hold them back.
  void hold_back_paused();

  MonotonicTime now_{1000s};
  EventId next_id_ = 1;
  uint64_t events_run_ = 0;
  uint64_t blocking_jobs_run_ = 0;
  std::map<Key, Event> events_;
  std::map<EventId, MonotonicTime> times_;
  std::map<Owner, MonotonicTime> paused_until_;
  TraceHash trace_;
};

}  // namespace naru
