// Joining a classic group: new members, members that join again, static members that come back under a new id.
#pragma once

#include "consumer_groups/classic/classic_group.h"
#include "consumer_groups/group_messages.h"
#include "consumer_groups/group_step.h"
#include "foundation/error_code.h"

namespace naru {

// What is wrong with the request whatever the group looks like; NONE if nothing is.
ErrorCode check_join(const JoinGroup& request, const GroupSettings& settings);

// The request has been checked.
void join_classic_group(ClassicGroup& group, JoinGroup request, Reply<JoinAnswer> reply, GroupStep& step);

}  // namespace naru
