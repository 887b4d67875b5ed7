#include "log_storage/log_verification.h"

#include <algorithm>
#include <utility>

namespace naru {
namespace {

// -1: the epochs of what lies so early are forgotten.
LeaderEpoch epoch_at(const EpochHistory& epochs, Offset offset) {
  const auto behind = std::ranges::upper_bound(epochs.starts(), offset, {}, &EpochStart::start_offset);
  return behind == epochs.starts().begin() ? kNoLeaderEpoch : std::prev(behind)->epoch;
}

}  // namespace

std::string LogDamage::to_string() const {
  return fmt::format("{}: damaged batch at position {}, offset {}: {}", path, position, offset, what);
}

SegmentVerification::SegmentVerification(const WrittenSegment& segment)
    : segment_(segment), stream_(segment.file, segment.base_offset, segment.bytes) {}

Result<uint64_t> SegmentVerification::next() {
  const uint64_t position = stream_.position();
  const Offset offset = stream_.expected();
  auto batch = stream_.next();
  if (!batch) {
    if (batch.error() != ErrorCode::corrupt_message) return failure(std::move(batch).error());
    return failure(damaged(position, offset, stream_.problem(), true));
  }
  if (!*batch) {
    if (offset == segment_.end_offset) return 0;
    return failure(damaged(position, offset, fmt::format("offset {} should follow", segment_.end_offset), true));
  }
  const BatchHeader& header = (*batch)->header;
  const LeaderEpoch expected = epoch_at(segment_.epochs, header.base_offset);
  if (expected != kNoLeaderEpoch && header.leader_epoch != expected) {
    return failure(damaged(position, offset,
                           fmt::format("it has leader epoch {} instead of {}", header.leader_epoch, expected), false));
  }
  return header.total_size;
}

Status SegmentVerification::damaged(uint64_t position, Offset offset, std::string what, bool unreadable) {
  damage_ = LogDamage{.path = segment_.file->path(),
                      .segment = segment_.base_offset,
                      .position = position,
                      .offset = offset,
                      .what = std::move(what),
                      .unreadable = unreadable};
  return Status(ErrorCode::corrupt_message, damage_->to_string());
}

}  // namespace naru
