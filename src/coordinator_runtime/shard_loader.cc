#include "coordinator_runtime/shard_loader.h"

#include <utility>

#include "foundation/canary.h"
#include "record_format/decompressor.h"
#include "record_format/record_batch.h"
#include "record_format/record_reader.h"
#include "record_format/transaction_marker.h"

namespace naru {
namespace {

// Small: what a worker thread has allocated once, its arena keeps.
constexpr uint32_t kBytesPerRead = 64 << 10;
constexpr size_t kMaxDecompressedBytes = 128uz << 20;  // nothing that a coordinator writes is compressed

}  // namespace

Status apply_batch(BytesView batch, StateShard& shard) {
  if (!batch_crc_matches(batch)) return error(ErrorCode::corrupt_message, "a batch's CRC does not match its bytes");
  NARU_TRY_ASSIGN(const BatchHeader header, parse_batch_header(batch));
  const ProducerIdentity producer{header.producer_id, header.producer_epoch};
  if (header.is_control()) {
    if (header.records_count == 0) return Status();  // compaction has left the batch alone, for its producer
    NARU_TRY_ASSIGN(const TransactionMarker marker, parse_marker_batch(batch));
    return shard.apply_marker(producer, marker);
  }
  NARU_TRY_ASSIGN(RecordReader records,
                  open_records(header, batch, Decompressor::of_this_thread(), kMaxDecompressedBytes));
  RecordView record;
  while (records.next(record)) {
    if (!record.key) return error(ErrorCode::corrupt_data, "the record at offset {} has no key", record.offset);
    NARU_TRY(header.is_transactional() ? shard.apply_pending(producer, *record.key, record.value)
                                       : shard.apply(*record.key, record.value));
  }
  return records.status();
}

namespace {

// Whatever is wrong with bytes that could be read is wrong with them tomorrow.
Status as_damage(const Status& wrong) {
  if (wrong.ok() || wrong == ErrorCode::unsupported_format) return wrong;
  return Status(ErrorCode::corrupt_data, wrong.message());
}

Status apply_slice(const LogSlice& slice, StateShard& shard, Bytes& buffer) {
  buffer.resize(slice.bytes);
  NARU_TRY_ASSIGN(const size_t got, slice.file->read_at(slice.position, buffer));
  if (got != buffer.size()) return error(ErrorCode::corrupt_data, "{} is too short", slice.file->path());
  for (BytesView rest = buffer; !rest.empty();) {
    const auto size = parse_batch_size(rest);
    if (!size.has_value()) return as_damage(size.error());
    if (*size > rest.size()) return error(ErrorCode::corrupt_data, "a batch is longer than what was read of it");
    NARU_TRY(as_damage(apply_batch(rest.first(*size), shard)));
    rest = rest.subspan(*size);
  }
  return Status();
}

// How the partition stands when everything is committed that is in its log now. After an election that is what earlier
// leaders may have promised. Later it is what this one has written and nobody was promised, because a sync failed: it
// may be committed at any time, and nobody would apply it then.
Task<PartitionView> look_when_committed(const std::shared_ptr<Partition>& partition, LeaderEpoch leader_epoch,
                                        const CancelToken& stopped) {
  PartitionView view = co_await partition->look(leader_epoch);
  const Offset end = view.log_end_offset;
  if (!view.status.ok() || view.high_watermark >= end) co_return view;
  if (is_planted(view.high_watermark_known ? Canary::reload_before_committed : Canary::load_before_known)) {
    co_return view;
  }
  if (stopped.cancelled()) co_return PartitionView{.status = Status(ErrorCode::cancelled)};
  const auto committed = std::make_shared<Wakeup>();
  const CancelCallback on_stop(stopped, [committed] { committed->wake(); });
  partition->wake_when_committed(end, committed);
  co_await committed->event();
  if (stopped.cancelled()) co_return PartitionView{.status = Status(ErrorCode::cancelled)};
  view = co_await partition->look(leader_epoch);
  if (view.status.ok() && view.high_watermark < end) {
    view.status =
        error(ErrorCode::unavailable, "the log ends at {}, and is committed up to {}", end, view.high_watermark);
  }
  co_return view;
}

}  // namespace

Task<Status> load_shard(std::shared_ptr<Partition> partition, LeaderEpoch leader_epoch, StateShard& shard,
                        Scheduler& scheduler, CancelToken stopped) {
  const PartitionView first = co_await look_when_committed(partition, leader_epoch, stopped);
  NARU_CO_TRY(Status(first.status));
  Bytes buffer;
  for (Offset from = first.log_start_offset; from < first.high_watermark;) {
    if (stopped.cancelled()) co_return Status(ErrorCode::cancelled);
    const PartitionView view = co_await partition->read(
        {.from = from, .current_leader_epoch = leader_epoch, .max_bytes = kBytesPerRead, .at_least_one_batch = true});
    NARU_CO_TRY(Status(view.status));
    if (view.slice.empty()) break;  // nothing but batches that compaction has emptied
    NARU_CO_TRY(co_await on_worker(scheduler, [&] { return apply_slice(view.slice, shard, buffer); }));
    from = view.slice.next_offset;
  }
  co_return Status();
}

}  // namespace naru
