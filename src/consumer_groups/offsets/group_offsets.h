// Committed offsets: storing, reading, removing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "consumer_groups/classic/classic_group.h"
#include "consumer_groups/consumer_protocol/consumer_group.h"
#include "consumer_groups/group_messages.h"
#include "consumer_groups/group_step.h"

namespace naru {

// Whether the group may commit at all has been decided.
CommitAnswer store_offsets(const CommitOffsets& request, GroupStep& step);
// The same in a transaction: they are not to be seen before its marker. All wait if there is no room for them.
CommitAnswer stage_offsets(const TransactionalCommit& request, GroupStep& step);
// Before the marker that commits the transaction: what the marker alone does not make visible is written again.
void rewrite_overtaken(ProducerId producer, GroupStep& step);
FetchOffsetsAnswer read_offsets(const FetchOffsets& request, const GroupStore& store);
// `group` is null where there are only offsets. Also what is pending.
DeleteOffsetsAnswer remove_offsets(const DeleteOffsets& request, const ClassicGroup* group,
                                   const ConsumerGroup* consumer, GroupStep& step);
// Also what is pending.
void remove_offset(std::string_view group_id, const GroupPartition& partition, GroupStep& step);
void remove_all_offsets(std::string_view group_id, GroupStep& step);

}  // namespace naru
