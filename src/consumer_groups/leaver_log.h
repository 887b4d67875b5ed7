// Says in the log who leaves a group: a request may name tens of thousands of members.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "consumer_groups/group_messages.h"
#include "foundation/log.h"

namespace naru {

// For one request.
class LeaverLog {
 public:
  explicit LeaverLog(std::string_view group_id) : group_id_(group_id) {}
  ~LeaverLog() {
    if (count_ > kNamedMax) log_info("groups", "{} more members leave group {}", count_ - kNamedMax, group_id_);
  }
  LeaverLog(const LeaverLog&) = delete;
  LeaverLog& operator=(const LeaverLog&) = delete;

  void note(std::string_view member_id, const LeaveGroup::Member& leaver) {
    if (++count_ > kNamedMax) return;
    log_info("groups", "member {} leaves group {}: {}", member_id, group_id_, reason_of(leaver));
  }

 private:
  static constexpr size_t kNamedMax = 100;

  const std::string group_id_;  // the group itself may be gone in the end
  size_t count_ = 0;
};

}  // namespace naru
