#include "replication/partition_following.h"

#include <utility>
#include <vector>

#include "foundation/log.h"
#include "replication/partition_maintenance.h"

namespace naru {
namespace {

// It costs two syncs, and the records below are not served meanwhile or later: so nobody waits for it but its fetcher.
Task<void> follow_start(const std::shared_ptr<Partition>& partition, Scheduler& scheduler, FollowerStep& step) {
  const auto moved = co_await move_start(partition, scheduler, step.move_start_to);
  if (moved) co_return;
  log_warn("partition", "{}: the start of the log cannot follow the leader's to {}: {}",
           partition->identity().to_string(), step.move_start_to, moved.error().to_string());
  step.action = FollowerDecision::Action::wait;  // the leader waits for it, so it is tried again
  step.problem = moved.error();
}

}  // namespace

Task<FollowerStep> follow_leader(std::shared_ptr<Partition> partition, Scheduler& scheduler, LeaderAnswer answer,
                                 SharedBytes records) {
  auto batches = check_replicated_batches(records, answer.fetch_offset, answer.leader_epoch);
  if (!batches) {
    co_return FollowerStep{.action = FollowerDecision::Action::wait, .problem = std::move(batches).error()};
  }
  FollowerStep step = co_await partition->apply_answer(answer, *batches, false);
  if (step.needs_worker) {
    co_await to_worker(scheduler);
    step = co_await partition->apply_answer(answer, *batches, true);
  }
  if (step.move_start_to >= Offset(0)) co_await follow_start(partition, scheduler, step);
  co_return step;
}

}  // namespace naru
