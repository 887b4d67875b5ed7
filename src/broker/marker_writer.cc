#include "broker/marker_writer.h"

#include <utility>

#include "cluster_control/internal_topics.h"

namespace naru {
namespace {

// A partition that cannot commit now keeps the answer for all others of the request back for so long.
constexpr Duration kMarkerPatience = 1s;

}  // namespace

Task<std::vector<Status>> MarkerWriter::write(std::vector<MarkerToWrite> markers, CancelToken cancelled, Turns* turns) {
  const auto group = std::make_shared<AppendGroup>(markers.size());
  for (size_t i = 0; i < markers.size(); ++i) {
    if (turns != nullptr) co_await turns->step();
    MarkerToWrite& marker = markers[i];
    if (marker.topic == kOffsetsTopic) {
      // Offsets that were committed in the transaction are applied, so the groups write it themselves.
      tasks_.spawn(write_to_group(std::move(marker), group, i));
      continue;
    }
    if (unsynced_logs_.full()) {
      if (turns != nullptr) turns->hold();
      co_await unsynced_logs_.some_room();
    }
    const HostedPartition hosted = hosted_.find(marker.topic, marker.partition);
    if (hosted) {
      hosted.partition->append_marker(marker.request, group, i);
    } else {
      group->finish(i, {.status = hosted.why_missing(ErrorCode::unknown_topic_or_partition)});
    }
  }
  if (turns != nullptr) turns->settled();
  if (!group->finished()) {
    const auto timer =
        seams_.scheduler.start_timer(seams_.clock.now() + kMarkerPatience, [group] { group->give_up(); });
    const CancelCallback on_cancel(cancelled, [group] { group->give_up(); });
    co_await group->settled();
    seams_.scheduler.cancel_timer(timer);
  }
  std::vector<Status> written;
  for (size_t i = 0; i < markers.size(); ++i) written.push_back(group->result(i).status);
  co_return written;
}

// Whoever asks again while the first answer is not there yet does not make the queue longer.
Task<void> MarkerWriter::write_to_group(MarkerToWrite marker, std::shared_ptr<AppendGroup> group, size_t slot) {
  const Asked asked{marker.partition, marker.request.producer.id, marker.request.producer.epoch, marker.request.number};
  {
    const std::scoped_lock lock(mutex_);
    if (!asked_.insert(asked).second) {
      group->finish(slot, {.status = Status(ErrorCode::request_timed_out, "it is being written")});
      co_return;
    }
  }
  // What the partition will not take is not applied either: that would cost the coordinator a reload.
  Status written = co_await ask_partition(marker);
  if (written.ok()) written = co_await ask_group(marker);
  {
    const std::scoped_lock lock(mutex_);
    asked_.erase(asked);
  }
  group->finish(slot, {.status = std::move(written)});
}

Task<Status> MarkerWriter::ask_partition(const MarkerToWrite& marker) {
  const HostedPartition hosted = hosted_.find(marker.topic, marker.partition);
  if (!hosted) co_return hosted.why_missing(ErrorCode::unknown_topic_or_partition);
  const auto judged = std::make_shared<AppendGroup>(1);
  hosted.partition->check_marker(marker.request, judged, 0);
  const CancelCallback on_stop(tasks_.token(), [judged] { judged->give_up(); });
  co_await judged->settled();
  co_return judged->result(0).status;
}

Task<Status> MarkerWriter::ask_group(const MarkerToWrite& marker) {
  const auto answer = co_await groups_.ask_partition<ErrorCode>(
      marker.partition,
      [request = WriteMarker{.producer = marker.request.producer,
                             .marker = marker.request.marker,
                             .transaction_version = marker.request.transaction_version,
                             .transaction_number = marker.request.number}](
          GroupCoordinator& groups, Reply<ErrorCode> reply, const CoordinatorTime& time, CoordinatorOutcome& outcome) {
        groups.write_marker(request, std::move(reply), time, outcome);
      },
      marker.request.leader_epoch,
      {.elements = 1, .of_state = [producer = marker.request.producer.id](const StateShard& state) {
         return static_cast<const GroupCoordinator&>(state).pending_of(producer);
       }});
  co_return answer ? Status(*answer) : answer.error();
}

}  // namespace naru
