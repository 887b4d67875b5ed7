// What a group of the type "consumer" waits for on the way to a new assignment. Pure functions, as group_reasons.h.
#pragma once

#include "client/group_admin.h"
#include "command_line/group_reasons.h"

namespace naru::command_line {

// Whether it is on the way: Assigning or Reconciling.
bool is_reconciling(const client::GroupDescription& group);

// Names the members that are not in the epoch of the assignment yet, and those that wait for what these give up.
Reason explain_reconciliation(const GroupFacts& facts);

}  // namespace naru::command_line
