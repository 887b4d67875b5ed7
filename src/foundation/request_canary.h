// Known bugs in the handling of requests that can be planted, so that it is shown again and again that the fuzzer of
// whole handlers (tests/fuzzing) would find them. What foundation/canary.h is for the simulator.
//
// Each is the absence of one rule that keeps a request from harming everybody else. All are off: nothing but
// foundation/request_canary_testing.h turns one on, which only tests may include (tools/check_layers.py).
#pragma once

#include <atomic>
#include <cstdint>

namespace naru {

enum class RequestCanary : uint8_t {
  none,
  negative_epoch_looked_up,  // the history of an empty log is asked for an epoch below -1
  null_name_in_old_version,  // Metadata answers with a null name in versions that have no null names
  session_forgets_by_walk,   // a fetch session looks through its queue for each partition that it forgets
  producer_ids_by_walk,      // ListTransactions looks through its filter for each transaction
  work_in_one_turn,          // a handler does all of its work in one turn of a loop
  unlimited_pinned_files,    // answers that nobody reads keep any number of files open
  unlimited_deletions,       // DeleteRecords does what it was told, however often it is told and whoever has left
  unpaid_arrays,             // the decoded form of a request takes memory that no budget has
  unlimited_state,           // so do the members of groups, their offsets and the transactional ids
  groups_in_one_step,        // ListGroups asks a coordinator for all of its groups at once
  unpaid_offsets,            // committed offsets are not counted at all
  long_steps_on_loops,       // a coordinator does a step on the thread that asks, however many elements it is about
  offsets_in_one_step,       // what groups have committed for a deleted topic is forgotten in one step
};

namespace request_canary_detail {
inline constinit std::atomic<RequestCanary> planted{RequestCanary::none};
}

inline bool is_planted(RequestCanary canary) {
  return request_canary_detail::planted.load(std::memory_order_relaxed) == canary;
}

}  // namespace naru
