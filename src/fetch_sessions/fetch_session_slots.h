// Who may have a fetch session: there are so many slots, and rules for giving one to a newcomer. An I/O-free core.
//
// A newcomer gets a free slot; else that of the session that was not used for the longest time, if that is longer than
// the minimum age; else that of the smallest session that is older than the minimum age and smaller than the newcomer,
// because a large session saves more; else none. Sessions go with their connections, so slots of clients that left are
// free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "foundation/time.h"

namespace naru {

// One thread at a time.
class FetchSessionSlots {
 public:
  FetchSessionSlots(size_t slots, Duration min_age) : slots_(slots), min_age_(min_age) {}

  struct Admission {
    bool granted = false;
    std::optional<int32_t> evicted;  // whose slot it was
  };
  // `id` has no slot yet.
  Admission admit(int32_t id, size_t partitions, MonotonicTime now);
  // Nothing happens to an id that has no slot any more.
  void used(int32_t id, size_t partitions, MonotonicTime now);
  void remove(int32_t id) { sessions_.erase(id); }

  bool contains(int32_t id) const { return sessions_.contains(id); }
  size_t size() const { return sessions_.size(); }

 private:
  struct Session {
    MonotonicTime created;
    MonotonicTime last_used;
    size_t partitions = 0;
  };

  std::optional<int32_t> find_victim(size_t partitions, MonotonicTime now) const;

  const size_t slots_;
  const Duration min_age_;
  std::map<int32_t, Session> sessions_;
};

}  // namespace naru
