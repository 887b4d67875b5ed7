// Why a group moves or does not, from facts. Pure functions: finding the facts is the business of group_why.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/group_admin.h"
#include "command_line/blocking_transactions.h"
#include "command_line/group_progress.h"

namespace naru::command_line {

// What happened between two looks at a group.
struct Movement {
  Duration watched{};
  int64_t records = 0;  // that it committed
};

struct GroupFacts {
  client::GroupDescription group;
  std::vector<PartitionProgress> partitions;
  std::vector<std::string> missing_topics;    // that members want and that do not exist
  bool has_pending_offsets = false;           // that are committed when a transaction is
  std::optional<Movement> movement;           // none: it was not watched
  std::vector<BlockingTransaction> blocking;  // where it waits for the end of a transaction
  WallTimeMs now = 0;
};

struct Reason {
  std::string word;      // for programs; docs/cli.md lists them
  std::string sentence;  // begins with the group, without a stop
  std::vector<std::string> evidence;
};

// " for 12 s (since 2026-11-15T10:00:00.000Z)"; empty if the broker does not tell.
std::string since_text(const GroupFacts& facts);

// Whether the answer depends on what the group does in the next seconds.
bool is_worth_watching(const GroupFacts& facts);

Reason explain(const GroupFacts& facts);

// The coordinator could not answer: coordinator_load_in_progress or another of its kind.
Reason explain_silence(const std::string& group_id, const Status& answer);

}  // namespace naru::command_line
