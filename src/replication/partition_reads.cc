// What readers of a partition get to see.
#include <algorithm>
#include <utility>

#include "foundation/canary.h"
#include "foundation/log.h"
#include "foundation/request_canary.h"
#include "replication/partition.h"

namespace naru {

PartitionView Partition::view_inside(LeaderEpoch current_leader_epoch, bool leader_only) const {
  const LeaderEpoch leader_epoch = assignment_.leader_epoch;
  PartitionView view{.leader_epoch = leader_epoch, .readable_bytes = readable_.committed()};
  if (!availability_.ok()) {
    view.status = availability_;
    return view;
  }
  view.log_start_offset = log_->start_offset();
  view.log_end_offset = log_->end_offset();
  view.told_start_offset = common_start();
  view.high_watermark = view.readable_end = high_watermark();
  view.last_stable_offset = last_stable_offset();
  view.high_watermark_known = leader_ && leader_->high_watermark_known();
  if (current_leader_epoch != kNoLeaderEpoch && current_leader_epoch != leader_epoch &&
      !is_planted(Canary::unchecked_leader_epoch)) {
    view.status =
        Status(current_leader_epoch < leader_epoch ? ErrorCode::fenced_leader_epoch : ErrorCode::unknown_leader_epoch);
  } else if (leader_only || role_ == Role::none) {
    view.status = why_not_leading();
  }
  return view;
}

PartitionView Partition::read_inside(const ReadRequest& request) {
  PartitionView view = view_inside(request.current_leader_epoch, request.leader_only);
  if (!view.status.ok()) return view;
  view.status = why_not_readable(request.from);
  if (!view.status.ok()) return view;
  if (request.read_committed) {
    view.readable_end = view.last_stable_offset;
    view.readable_bytes = readable_.stable();
  }
  if (is_planted(Canary::read_uncommitted)) view.readable_end = log_->end_offset();
  read_slice(view, request.from, request.max_bytes, request.at_least_one_batch, EmptyBatches::skip);
  if (request.read_committed && !view.slice.empty()) add_aborted(view, request.from);
  return view;
}

Status Partition::why_not_readable(Offset from) const {
  if (from > log_->end_offset()) {
    // Who follows may be behind what the reader has seen elsewhere.
    return Status(leader_ ? ErrorCode::offset_out_of_range : ErrorCode::offset_not_available);
  }
  if (from >= log_->start_offset()) return Status();
  // Gone here, but another replica that still has it may be elected: until none has, it is not said to be gone. With
  // out_of_range from a follower, readers ask the leader.
  const bool undecided = leader_ && from >= leader_->common_start();
  return Status(undecided ? ErrorCode::offset_not_available : ErrorCode::offset_out_of_range);
}

void Partition::read_slice(PartitionView& view, Offset from, uint32_t max_bytes, bool at_least_one_batch,
                           EmptyBatches empty) {
  // Between the high watermark and the end of the log there is nothing to see yet for consumers.
  if (from >= view.readable_end) return;
  if (max_bytes == 0 && !at_least_one_batch) return;
  auto slice = log_->read(from, view.readable_end, max_bytes, at_least_one_batch, empty);
  if (slice) {
    view.slice = std::move(*slice);
  } else {
    log_error("partition", "{}: read at {} failed: {}", identity_.to_string(), from, slice.error().to_string());
    view.status = slice.error();
    suspect_damage(view.status);
  }
}

void Partition::suspect_damage(const Status& read) const {
  const bool damaged = read == ErrorCode::corrupt_message || read == ErrorCode::corrupt_data;
  if (damaged && services_.offline_logs != nullptr) services_.offline_logs->damage_suspected(id());
}

void Partition::add_aborted(PartitionView& view, Offset from) {
  auto aborted = log_->aborted_transactions(from, view.slice.next_offset);
  if (aborted) {
    view.aborted = std::move(*aborted);
    return;
  }
  // Without them the reader would take records of aborted transactions for good ones.
  log_error("partition", "{}: cannot tell which transactions behind offset {} were aborted: {}", identity_.to_string(),
            from, aborted.error().to_string());
  view.status = aborted.error();
  view.slice = {};
}

// After an election, epochs below the high watermark may not be committed yet, and a client that is told where they end
// would take what another leader cuts away for good.
Result<EpochEnd> Partition::end_of_epoch_inside(LeaderEpoch current_leader_epoch, LeaderEpoch epoch) const {
  const PartitionView view = view_inside(current_leader_epoch);
  if (!view.status.ok()) return failure(view.status);
  if (!view.high_watermark_known && !is_planted(Canary::epoch_end_before_known)) {
    return failure(Status(ErrorCode::offset_not_available));
  }
  const bool is_none =
      is_planted(RequestCanary::negative_epoch_looked_up) ? epoch == kNoLeaderEpoch : epoch < LeaderEpoch(0);
  if (is_none || epoch > assignment_.leader_epoch) return EpochEnd{};
  if (epoch == assignment_.leader_epoch) return EpochEnd{epoch, log_->end_offset()};
  const EpochEnd end = end_of_epoch_in({log_->epochs(), log_->end_offset()}, epoch);
  return end.epoch == kNoLeaderEpoch ? EpochEnd{} : end;
}

Result<std::optional<OffsetAndTimestamp>> Partition::find_timestamp_inside(WallTimeMs timestamp, bool read_committed) {
  if (Status status = why_not_leading(); !status.ok()) return failure(std::move(status));
  return log_->find_first_at_or_after(timestamp, end_for(read_committed));
}

Result<std::optional<OffsetAndTimestamp>> Partition::find_max_timestamp_inside(bool read_committed) {
  if (Status status = why_not_leading(); !status.ok()) return failure(std::move(status));
  return log_->find_max_timestamp(end_for(read_committed));
}

Result<std::vector<Producer>> Partition::producers_inside() {
  if (Status status = why_not_leading(); !status.ok()) return failure(std::move(status));
  const auto known = log_->producers().producers();
  std::vector<Producer> producers(known.begin(), known.end());
  std::ranges::sort(producers, {}, &Producer::id);
  return producers;
}

}  // namespace naru
