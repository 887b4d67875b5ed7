// Whether this broker still hears of what the cluster decides.
#pragma once

#include <atomic>

#include "foundation/time.h"

namespace naru {

// Contact is an answer of the controller to a broker, and a broker's question to the controller, while the controller's
// session is connected: one that was left behind with others would go on to talk to them. Thread-safe.
class ClusterContact {
 public:
  // `patience`: longer than it takes to get another controller.
  ClusterContact(Duration patience, MonotonicTime now) : patience_(patience) { heard(now); }

  void heard(MonotonicTime now) { last_.store(now.time_since_epoch(), std::memory_order_relaxed); }
  bool lost(MonotonicTime now) const {
    return now.time_since_epoch() - last_.load(std::memory_order_relaxed) > patience_;
  }
  Duration patience() const { return patience_; }

 private:
  const Duration patience_;
  std::atomic<MonotonicTime::duration> last_{};
};

}  // namespace naru
