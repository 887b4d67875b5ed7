// A OneShot that several may set: the first one counts. For waits that end by an event, a timer or a cancellation.
#pragma once

#include <atomic>

#include "async/one_shot.h"

namespace naru {

class Wakeup {
 public:
  // Any thread, any number of times. Keep the Wakeup alive (shared_ptr) for those who come too late.
  void wake() {
    if (!woken_.test_and_set(std::memory_order_acq_rel)) event_.set();
  }
  OneShot<>& event() { return event_; }

 private:
  std::atomic_flag woken_;
  OneShot<> event_;
};

}  // namespace naru
