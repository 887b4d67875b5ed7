#include "broker/fetch_sessions.h"

#include <limits>

namespace naru {
namespace {

// As in Kafka: a session that is younger, or was used more recently, keeps its slot.
constexpr Duration kMinEvictionAge = 120s;

}  // namespace

FetchSessions::FetchSessions(Clock& clock, Random& random, size_t slots, MetricsRegistry& metrics)
    : clock_(clock),
      random_(random),
      evictions_(metrics.counter("naru_fetch_session_evictions_total", "Fetch sessions that lost their slot")),
      looks_(metrics.counter("naru_fetch_session_looks_total", "Partitions that fetches in sessions looked at")),
      slots_(slots, kMinEvictionAge),
      gauge_(metrics.computed_gauge("naru_fetch_sessions", "Fetch sessions", {},
                                    [this] { return static_cast<double>(size()); })) {}

int32_t FetchSessions::unused_id() {
  for (;;) {
    const auto id = static_cast<int32_t>(1 + random_.below(std::numeric_limits<int32_t>::max() - 1));
    if (!sessions_.contains(id)) return id;
  }
}

std::shared_ptr<LiveFetchSession> FetchSessions::create(bool by_topic_id, size_t partitions, uint64_t watcher_id) {
  std::shared_ptr<LiveFetchSession> created;
  std::shared_ptr<LiveFetchSession> evicted;
  {
    const std::scoped_lock lock(mutex_);
    const int32_t id = unused_id();
    const auto admission = slots_.admit(id, partitions, clock_.now());
    if (!admission.granted) return nullptr;
    if (admission.evicted) {
      const auto node = sessions_.extract(*admission.evicted);
      if (!node.empty()) evicted = node.mapped().lock();
    }
    created = std::make_shared<LiveFetchSession>(id, by_topic_id, watcher_id, *this);
    sessions_.emplace(id, created);
  }
  if (evicted) {
    evictions_.add();
    evicted->evict();
  }
  return created;
}

void FetchSessions::used(const LiveFetchSession& session, size_t partitions) {
  const std::scoped_lock lock(mutex_);
  slots_.used(session.id(), partitions, clock_.now());
}

void FetchSessions::drop(LiveFetchSession& session) {
  {
    const std::scoped_lock lock(mutex_);
    sessions_.erase(session.id());
    slots_.remove(session.id());
  }
  session.evict();
}

// An evicted session's id may belong to a new one by now: only the entry of a session that is gone goes.
void FetchSessions::forget(int32_t id) {
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || !found->second.expired()) return;
  sessions_.erase(found);
  slots_.remove(id);
}

size_t FetchSessions::size() const {
  const std::scoped_lock lock(mutex_);
  return slots_.size();
}

}  // namespace naru
