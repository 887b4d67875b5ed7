#include "broker/marker_writer.h"

#include <utility>

#include "cluster_control/internal_topics.h"

namespace naru {
namespace {

// Less than a coordinator waits for the answer.
constexpr Duration kMarkerPatience = 20s;

}  // namespace

Task<std::vector<Status>> MarkerWriter::write(std::vector<MarkerToWrite> markers) {
  const auto group = std::make_shared<AppendGroup>(markers.size());
  for (size_t i = 0; i < markers.size(); ++i) {
    MarkerToWrite& marker = markers[i];
    if (marker.topic == kOffsetsTopic) {
      // Offsets that were committed in the transaction are applied, so the groups write it themselves.
      tasks_.spawn(write_to_group(std::move(marker), group, i));
      continue;
    }
    const HostedPartition hosted = hosted_.find(marker.topic, marker.partition);
    if (hosted) {
      hosted.partition->append_marker(marker.request, group, i);
    } else {
      group->finish(i, {.status = hosted.why_missing(ErrorCode::unknown_topic_or_partition)});
    }
  }
  const auto timer = seams_.scheduler.start_timer(seams_.clock.now() + kMarkerPatience, [group] { group->give_up(); });
  co_await group->settled();
  seams_.scheduler.cancel_timer(timer);
  std::vector<Status> written;
  for (size_t i = 0; i < markers.size(); ++i) written.push_back(group->result(i).status);
  co_return written;
}

Task<void> MarkerWriter::write_to_group(MarkerToWrite marker, std::shared_ptr<AppendGroup> group, size_t slot) {
  const auto answer = co_await groups_.ask_partition<ErrorCode>(
      marker.partition,
      [request = WriteMarker{.producer = marker.request.producer,
                             .marker = marker.request.marker,
                             .transaction_version = marker.request.transaction_version,
                             .transaction_number = marker.request.number}](
          GroupCoordinator& groups, Reply<ErrorCode> reply, const CoordinatorTime& time, CoordinatorOutcome& outcome) {
        groups.write_marker(request, std::move(reply), time, outcome);
      },
      marker.request.leader_epoch);
  group->finish(slot, {.status = answer ? Status(*answer) : answer.error()});
}

}  // namespace naru
