#include "log_storage/aborted_rebuild.h"

#include <algorithm>
#include <utility>

#include "log_storage/control_batches.h"

namespace naru {
namespace {

Status note_again(Segment& segment, Offset from, ProducerState& state) {
  NARU_TRY_ASSIGN(BatchWalk walk, segment.walk_from(from));
  NARU_TRY_ASSIGN(const std::shared_ptr<const File> file, segment.file());
  while (!walk.at_end()) {
    const uint64_t position = walk.position();
    NARU_TRY_ASSIGN(const BatchHeader header, walk.next());
    NARU_TRY_ASSIGN(const auto marker, read_marker(*file, position, header));
    const auto ended = state.apply(header, 0, marker);
    if (!segment.aborted_in_doubt() || !ended || ended->result != TransactionResult::abort) continue;
    segment.note_aborted(as_aborted(*ended, state));
  }
  return Status();
}

}  // namespace

AbortedTransaction as_aborted(const TransactionEnd& ended, const ProducerState& state) {
  const Offset oldest_open = state.oldest_open();
  return {.producer_id = ended.producer_id,
          .first_offset = ended.first_offset,
          .last_offset = ended.marker_offset,
          .stable_end = oldest_open == kNoOffset ? ended.marker_offset + 1 : oldest_open};
}

Status rebuild_aborted(std::span<Segment* const> segments, LogProducers& producers) {
  const auto first = std::ranges::find_if(segments, &Segment::aborted_in_doubt);
  if (first == segments.end()) return Status();
  NARU_TRY_ASSIGN(auto known, producers.state_before(segments.front()->base_offset(), (*first)->base_offset()));
  for (Segment* segment : segments) {
    if (!segment->empty() && segment->end_offset() > known.offset) {
      Status status = note_again(*segment, std::max(known.offset, segment->base_offset()), known.state);
      if (status == ErrorCode::corrupt_message) {
        return error(ErrorCode::corrupt_data, "cannot tell which transactions were aborted: {}", status.message());
      }
      NARU_TRY(std::move(status));
    }
    segment->settle_aborted();
  }
  return Status();
}

}  // namespace naru
