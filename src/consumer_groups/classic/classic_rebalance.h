// How a classic group comes from one generation to the next.
//
//     Empty ──► PreparingRebalance ──► CompletingRebalance ──► Stable
//                 everybody joins        the leader decides      │
//                      ▲                        │                │
//                      └── somebody comes, goes or changes ──────┘
//
// PreparingRebalance ends when all known members have joined, at the latest after the longest rebalance timeout; then
// whoever is missing is dropped. CompletingRebalance ends when the leader syncs. A group without members is Empty.
#pragma once

#include <string_view>

#include "consumer_groups/classic/classic_group.h"
#include "consumer_groups/group_step.h"
#include "foundation/error_code.h"

namespace naru {

// The member is gone; if it is parked, it is told why. What that means for the others is decided by
// rebalance_or_complete(), once for several members.
void drop_member(ClassicGroup& group, std::string_view member_id, ErrorCode reason, GroupStep& step);

// The members have changed: starts a rebalance, or ends the one that runs if nobody is missing any more.
void rebalance_or_complete(ClassicGroup& group, GroupStep& step);
void complete_if_all_joined(ClassicGroup& group, GroupStep& step);

// The answer to a join in the current generation.
JoinAnswer join_answer(const ClassicGroup& group, const ClassicMember& member);

void on_rebalance_timer(ClassicGroup& group, GroupStep& step);
void on_sync_timer(ClassicGroup& group, GroupStep& step);

}  // namespace naru
