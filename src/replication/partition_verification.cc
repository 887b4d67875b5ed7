#include "replication/partition_verification.h"

#include <utility>

namespace naru {
namespace {

using PartitionPtr = std::shared_ptr<Partition>;

Task<Result<std::optional<WrittenSegment>>> next_segment(const PartitionPtr& partition, Scheduler& scheduler,
                                                         Offset from) {
  co_await to_worker(scheduler);  // it opens a file
  co_return co_await partition->with_log([from](const LogAccess& access) { return access.log.written_segment(from); });
}

// What is wrong with it, if anything.
Task<Result<std::optional<LogDamage>>> read_segment(const PartitionPtr& partition, const WrittenSegment& segment,
                                                    const VerificationServices& services) {
  SegmentVerification verification(segment);
  co_await to_worker(services.scheduler);
  for (;;) {
    if (partition->closing().cancelled() || services.stopped.cancelled()) {
      co_return failure(Status(ErrorCode::cancelled));
    }
    const auto read = verification.next();
    if (!read) {
      if (verification.damage()) co_return verification.damage();
      co_return failure(read.error());
    }
    if (*read == 0) co_return std::nullopt;
    services.verified_bytes.add(*read);
    if (services.throttle.spend(*read)) NARU_CO_TRY(co_await services.throttle.wait(services.stopped));
  }
}

// A truncation or a compaction may have come in between: then it says nothing. Otherwise it is noted.
Task<Result<bool>> note_if_still_there(const PartitionPtr& partition, const WrittenSegment& segment, LogDamage damage) {
  co_return co_await partition->with_log([&segment, &damage](const LogAccess& access) -> Result<bool> {
    if (!access.log.holds(segment)) return false;
    access.log.note_damage(std::move(damage));
    return true;
  });
}

// What was noted before may have been the memory, not the disk.
Task<Result<std::optional<LogDamage>>> note_whole(const PartitionPtr& partition) {
  co_return co_await partition->with_log([](const LogAccess& access) -> Result<std::optional<LogDamage>> {
    access.log.note_damage(std::nullopt);
    return std::nullopt;
  });
}

}  // namespace

Task<Result<std::optional<LogDamage>>> verify_partition(std::shared_ptr<Partition> partition,
                                                        VerificationServices services) {
  Offset from{0};
  for (;;) {
    NARU_CO_TRY_ASSIGN(const auto segment, co_await next_segment(partition, services.scheduler, from));
    if (!segment) co_return co_await note_whole(partition);
    from = segment->end_offset;
    NARU_CO_TRY_ASSIGN(auto found, co_await read_segment(partition, *segment, services));
    if (!found) continue;
    // Once more, from a file that was looked for again: what is there now counts.
    NARU_CO_TRY_ASSIGN(const auto again, co_await next_segment(partition, services.scheduler, segment->base_offset));
    if (!again || again->base_offset != segment->base_offset) continue;
    NARU_CO_TRY_ASSIGN(found, co_await read_segment(partition, *again, services));
    if (!found) continue;
    NARU_CO_TRY_ASSIGN(const bool noted, co_await note_if_still_there(partition, *again, *found));
    if (noted) co_return found;
  }
}

}  // namespace naru
