// How long a member may be silent.
#pragma once

#include "consumer_groups/classic/classic_group.h"
#include "consumer_groups/group_step.h"

namespace naru {

// The member has been heard of: its session begins anew. No timer is touched unless the session became shorter.
void renew_session(ClassicGroup& group, ClassicMember& member, GroupStep& step);
// A member that has never been told its id cannot send heartbeats; it gets a time of its own to be heard of again.
void start_first_session(ClassicGroup& group, ClassicMember& member, GroupStep& step);
void end_session(ClassicMember& member, GroupStep& step);
// The timer went off. True if the session is over; otherwise it has been set again.
bool session_is_over(ClassicGroup& group, ClassicMember& member, GroupStep& step);

}  // namespace naru
