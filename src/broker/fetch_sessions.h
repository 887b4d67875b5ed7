// All fetch sessions of the broker: gives out ids and slots, and takes slots away from those who need them least.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "broker/live_fetch_session.h"
#include "fetch_sessions/fetch_session_slots.h"
#include "observability/metrics_registry.h"
#include "platform/clock.h"
#include "platform/random.h"

namespace naru {

// Thread-safe; the lock is held for look-ups only. Outlives its sessions.
class FetchSessions {
 public:
  FetchSessions(Clock& clock, Random& random, size_t slots, MetricsRegistry& metrics);

  // Null when all slots are taken by others that may keep them.
  std::shared_ptr<LiveFetchSession> create(bool by_topic_id, size_t partitions, uint64_t watcher_id);
  void used(const LiveFetchSession& session, size_t partitions);
  void looked_at(size_t partitions) { looks_.add(partitions); }
  // Takes the slot away; requests that name the session find nothing.
  void drop(LiveFetchSession& session);
  // Of a session that ends; no session of this id is found any more.
  void forget(int32_t id);

  size_t size() const;

 private:
  int32_t unused_id();

  Clock& clock_;
  Random& random_;
  Counter& evictions_;
  Counter& looks_;
  mutable std::mutex mutex_;
  FetchSessionSlots slots_;
  std::map<int32_t, std::weak_ptr<LiveFetchSession>> sessions_;
  GaugeCallback gauge_;
};

}  // namespace naru
