// What replicas tell each other of producers when a log begins anew: the batches that could tell are gone.
#include <utility>

#include "foundation/log.h"
#include "replication/partition.h"

namespace naru {

Result<ProducersAtStart> Partition::producers_at_start_inside(LeaderEpoch current_leader_epoch) const {
  const PartitionView view = view_inside(current_leader_epoch);
  if (!view.status.ok()) return failure(view.status);
  return ProducersAtStart{.start = log_->start_offset(), .snapshot = log_->producers_at_start()};
}

// What was told by another leader than that of now, or for a log that has something by now, is dropped.
Status Partition::begin_with_producers_inside(const FollowerPosition& asked, const ProducersAtStart& told) {
  NARU_TRY(availability_);
  const bool is_current =
      role_ == Role::follower && assignment_.leader == asked.leader && assignment_.leader_epoch == asked.leader_epoch;
  if (!is_current || !log_->producers_missing()) return Status();
  if (told.start < Offset(0)) return Status(ErrorCode::corrupt_message, "the leader does not say where its log begins");
  const Status status = log_->restart_with(told.start, told.snapshot, services_.clock.wall_now_ms());
  tell_unsynced_files();
  if (!status.ok()) return after_failed_step(status).problem;
  began_anew_at(told.start);
  log_info("partition", "{}: begins at offset {} with {} producers that leader {} knows", identity_.to_string(),
           told.start, log_->producers().size(), assignment_.leader);
  return Status();
}

void Partition::began_anew_at(Offset start) {
  readable_.truncate(log_->end_offset());
  follower_.restarted(start);
}

}  // namespace naru
