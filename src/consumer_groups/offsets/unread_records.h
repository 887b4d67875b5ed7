// What the logs say about the offsets of groups.
#pragma once

#include <string_view>

#include "consumer_groups/group_messages.h"

namespace naru {

// Asked while offsets expire. Whoever does not know (metadata not loaded, partition led elsewhere and not heard of)
// has to answer true: a wrong "no" loses a group's place.
class UnreadRecords {
 public:
  virtual ~UnreadRecords() = default;
  // Are there records in the partition that a group which continues at `committed` has not read?
  virtual bool has_unread(const GroupPartition& partition, const CommittedOffset& committed) const = 0;
  // The topic that the offset was committed for is still there, and not another one of its name.
  virtual bool topic_exists(std::string_view name, const CommittedOffset& committed) const = 0;
};

}  // namespace naru
