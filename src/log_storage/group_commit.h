// Group commit without I/O: when to start a sync of one log. One sync runs at a time; whatever is asked for meanwhile
// is covered together by the next one.
//
//     want(10) -> start     want(11), want(12) -> nothing yet     sync_ended(10) -> start     sync_ended(12) -> done
//
// Thread: the log's strand.
#pragma once

#include <algorithm>

#include "foundation/ids.h"

namespace naru {

class GroupCommit {
 public:
  // Somebody waits until everything below `end` is durable, and it is not yet. True: start a sync now.
  bool want(Offset end) {
    wanted_ = std::max(wanted_, end);
    if (running_) return false;
    running_ = true;
    return true;
  }

  // The sync ended well. True: start the next one now. `log_end` bounds what can be wanted: a truncation may have taken
  // away what somebody waited for.
  bool sync_ended(Offset durable_end, Offset log_end) {
    wanted_ = std::min(wanted_, log_end);
    running_ = wanted_ > durable_end;
    return running_;
  }

  // The sync failed, and all who waited have been told.
  void sync_failed() {
    running_ = false;
    wanted_ = Offset(0);
  }

  bool running() const { return running_; }

 private:
  bool running_ = false;
  Offset wanted_{0};
};

}  // namespace naru
