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
  // Somebody waits until the log's files hold everything below `end`, and they do not yet. True: start a sync now.
  bool want(Offset end) {
    awaited_ = std::max(awaited_, end);
    return want_lazily(end);
  }
  // The same, but nobody waits: a failure that passes is not told to anybody.
  bool want_lazily(Offset end) {
    wanted_ = std::max(wanted_, end);
    if (running_) return false;
    running_ = true;
    return true;
  }

  // The sync ended well. True: start the next one now. `log_end` bounds what can be wanted: a truncation may have taken
  // away what somebody waited for.
  bool sync_ended(Offset synced_end, Offset log_end) {
    wanted_ = std::min(wanted_, log_end);
    if (awaited_ <= synced_end) awaited_ = Offset(0);
    running_ = wanted_ > synced_end;
    return running_;
  }

  // The sync failed. True: somebody has waited for it, and has to be told.
  bool sync_failed() {
    const bool tell = awaited_ > Offset(0);
    *this = GroupCommit();
    return tell;
  }

  bool running() const { return running_; }

 private:
  bool running_ = false;
  Offset wanted_{0};
  Offset awaited_{0};
};

}  // namespace naru
