// What members of a classic group ask for between joins: their assignment, staying, leaving.
#pragma once

#include <string>
#include <vector>

#include "consumer_groups/classic/classic_group.h"
#include "consumer_groups/group_messages.h"
#include "consumer_groups/group_step.h"
#include "foundation/error_code.h"
#include "foundation/status.h"

namespace naru {

void sync_classic_group(ClassicGroup& group, SyncGroup request, Reply<SyncAnswer> reply, GroupStep& step);
ErrorCode heartbeat_classic_group(ClassicGroup& group, const MemberClaim& claim, GroupStep& step);
LeaveAnswer leave_classic_group(ClassicGroup& group, const std::vector<LeaveGroup::Member>& members, GroupStep& step);
// May offsets be committed with this claim? Renews the member's session if so.
ErrorCode admit_commit(ClassicGroup& group, const MemberClaim& claim, GroupStep& step);
// The same in a transaction: it renews no session, and old clients do not say who they are.
ErrorCode check_transactional_commit(const ClassicGroup& group, const MemberClaim& claim);

void on_session_timer(ClassicGroup& group, const std::string& member_id, GroupStep& step);
void on_awaited_member_timer(ClassicGroup& group, const std::string& member_id, GroupStep& step);

// Whoever is parked gets the reason; for a group that is not served any more.
void abandon_parked(ClassicGroup& group, const Status& reason);

}  // namespace naru
