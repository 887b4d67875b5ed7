#include "platform/simulated/simulated_event_queue.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "foundation/assert.h"

namespace naru {

SimulatedEventQueue::EventId SimulatedEventQueue::add(MonotonicTime at, Owner owner, UniqueFunction<void()> work) {
  const EventId id = next_id_++;
  at = std::max(at, now_);
  events_.emplace(Key{at, id}, Event{owner, std::move(work)});
  times_.emplace(id, at);
  return id;
}

bool SimulatedEventQueue::cancel(EventId id) {
  const auto time = times_.find(id);
  if (time == times_.end()) return false;
  // Taken out first: destroying the closure may call back into this queue.
  const auto event = events_.extract(Key{time->second, id});
  times_.erase(time);
  return true;
}

void SimulatedEventQueue::forget(Owner owner) {
  std::vector<std::map<Key, Event>::node_type> forgotten;
  for (auto event = events_.begin(); event != events_.end();) {
    const auto current = event++;
    if (current->second.owner != owner) continue;
    times_.erase(current->first.second);
    forgotten.push_back(events_.extract(current));
  }
}

void SimulatedEventQueue::forget_everything() {
  while (!events_.empty()) {  // destroying closures may add new events
    times_.clear();
    const auto forgotten = std::exchange(events_, {});
  }
}

void SimulatedEventQueue::hold_back_paused() {
  while (!paused_until_.empty() && !events_.empty()) {
    const auto first = events_.begin();
    const auto paused = paused_until_.find(first->second.owner);
    if (paused == paused_until_.end()) return;
    const auto [at, id] = first->first;
    if (at >= paused->second) {
      paused_until_.erase(paused);
      return;
    }
    auto event = events_.extract(first);
    event.key().first = paused->second;
    times_[id] = paused->second;
    events_.insert(std::move(event));
  }
}

bool SimulatedEventQueue::step() {
  hold_back_paused();
  if (events_.empty()) return false;
  auto event = events_.extract(events_.begin());
  const auto [at, id] = event.key();
  times_.erase(id);
  now_ = at;
  ++events_run_;
  trace_.mix(static_cast<uint64_t>(at.time_since_epoch().count()));
  trace_.mix(event.mapped().owner);
  event.mapped().work();
  return true;
}

std::optional<MonotonicTime> SimulatedEventQueue::next_event() {
  hold_back_paused();
  if (events_.empty()) return std::nullopt;
  return events_.begin()->first.first;
}

void SimulatedEventQueue::advance_to(MonotonicTime moment) {
  NARU_ASSERT(events_.empty() || events_.begin()->first.first >= moment, "time would jump over an event");
  now_ = std::max(now_, moment);
}

}  // namespace naru
