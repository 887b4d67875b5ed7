// Memory that was freed and that the allocator keeps for later.
//
// After a rush (ten thousand connections that left, say) that can be most of the process. Giving it back is slow while
// it lasts, so it is done only when much has been free for a while.
#pragma once

#include <memory>

#include "platform/clock.h"
#include "platform/scheduler.h"

namespace naru {

// Looks every ten seconds, on a worker, until it is destroyed. Any thread.
class HeapKeeper {
 public:
  HeapKeeper(Clock& clock, Scheduler& scheduler);
  ~HeapKeeper();
  HeapKeeper(const HeapKeeper&) = delete;
  HeapKeeper& operator=(const HeapKeeper&) = delete;

 private:
  class Core;
  const std::shared_ptr<Core> core_;
};

}  // namespace naru
