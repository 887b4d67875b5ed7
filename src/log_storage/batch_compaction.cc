#include "log_storage/batch_compaction.h"

#include <utility>

#include "foundation/assert.h"
#include "record_format/batch_rewriter.h"
#include "record_format/record_reader.h"

namespace naru {
namespace {

enum class Fate : uint8_t { stays, stays_as_delete_marker, goes, goes_as_delete_marker };

// Markers that a follower has yet to fetch are looked at again after this time.
constexpr int64_t kHoldMs = 60'000;

bool survives(Fate fate) {
  return fate == Fate::stays || fate == Fate::stays_as_delete_marker;
}

bool is_expired(const BatchHeader& header, Offset marker, const CompactionRules& rules) {
  return header.has_delete_horizon() && header.base_timestamp <= rules.now && marker < rules.drop_limit;
}

// Of markers that stay in a batch with a delete horizon.
WallTimeMs next_look(const BatchHeader& header, const CompactionRules& rules) {
  return header.base_timestamp <= rules.now ? rules.now + kHoldMs : header.base_timestamp;
}

Fate fate_of(const RecordView& record, const BatchHeader& header, const OffsetMap& newest, const CompactionRules& rules,
             bool aborted) {
  if (record.offset >= rules.limit) return Fate::stays;
  const Fate superfluous = record.offset == rules.last_offset ? Fate::stays : Fate::goes;
  if (!record.key || aborted) return superfluous;
  if (const auto latest = newest.find(*record.key); latest && *latest > record.offset) return Fate::goes;
  if (record.value) return Fate::stays;
  if (!is_expired(header, record.offset, rules)) return Fate::stays_as_delete_marker;
  return superfluous == Fate::goes ? Fate::goes_as_delete_marker : superfluous;
}

// Only when the whole batch lies below the limit: older records of the keys that it deletes are gone then.
std::optional<WallTimeMs> horizon_for(const BatchHeader& header, const CompactionRules& rules) {
  if (header.has_delete_horizon() || header.last_offset() >= rules.limit) return std::nullopt;
  WallTimeMs horizon = 0;
  if (__builtin_add_overflow(rules.now, rules.delete_retention_ms, &horizon)) return std::nullopt;  // never
  return horizon;
}

struct Survivors {
  int32_t records = 0;
  bool delete_markers = false;
};

template <class Visit>
Status for_each_record(RecordReader reader, const BatchHeader& header, const OffsetMap& newest,
                       const CompactionRules& rules, bool aborted, Visit visit) {
  for (RecordView record; reader.next(record);) visit(record, fate_of(record, header, newest, rules, aborted));
  return reader.status();
}

}  // namespace

Result<CompactedBatch> compact_batch(const BatchHeader& header, BytesView whole_batch, const OffsetMap& newest,
                                     const CompactionRules& rules, const BatchStanding& standing,
                                     Decompressor& decompressor) {
  NARU_ASSERT(!header.is_control(), "the control batch at {} is compacted like records", header.base_offset);
  CompactedBatch result;
  if (header.base_offset >= rules.limit) return result;

  NARU_TRY_ASSIGN(const RecordReader reader,
                  open_records(header, whole_batch, decompressor, rules.max_decompressed_bytes));
  Survivors survivors;
  NARU_TRY(for_each_record(reader, header, newest, rules, standing.aborted,
                           [&survivors, &result](const RecordView& record, Fate fate) {
                             if (survives(fate)) ++survivors.records;
                             survivors.delete_markers |= fate == Fate::stays_as_delete_marker;
                             if (fate == Fate::goes_as_delete_marker) result.dropped_end = record.offset + 1;
                           }));
  result.removed_records = static_cast<uint32_t>(header.records_count - survivors.records);
  if (survivors.records == 0) {
    if (!standing.known_of_producer) {
      result.kind = CompactedBatch::Kind::removed;
    } else if (header.records_count > 0) {
      result.kind = CompactedBatch::Kind::emptied;
      result.bytes = make_emptied_batch(header);
    }
    return result;
  }

  const std::optional<WallTimeMs> horizon = survivors.delete_markers ? horizon_for(header, rules) : std::nullopt;
  if (survivors.delete_markers)
    result.delete_horizon = header.has_delete_horizon() ? next_look(header, rules) : horizon;
  if (survivors.records == header.records_count && !horizon) return result;

  BatchRewriter rewriter(header, horizon);
  NARU_TRY(for_each_record(reader, header, newest, rules, standing.aborted,
                           [&rewriter](const RecordView& record, Fate fate) {
                             if (survives(fate)) rewriter.keep(record);
                           }));
  auto rewritten = rewriter.build();
  if (!rewritten && rewritten.error() == ErrorCode::invalid_argument) return CompactedBatch{};  // see BatchRewriter
  if (!rewritten) return failure(std::move(rewritten).error());
  result.kind = CompactedBatch::Kind::rewritten;
  result.bytes = std::move(*rewritten);
  return result;
}

Result<CompactedBatch> compact_marker(const BatchHeader& header, BytesView whole_batch, const CompactionRules& rules,
                                      bool needed) {
  CompactedBatch result;
  const bool decided = header.last_offset() < rules.limit && header.last_offset() != rules.last_offset;
  if (needed || !decided) return result;
  if (header.has_delete_horizon()) {
    if (!is_expired(header, header.last_offset(), rules)) {
      result.delete_horizon = next_look(header, rules);
    } else {
      result.kind = CompactedBatch::Kind::removed;
      result.removed_records = static_cast<uint32_t>(header.records_count);
      if (header.records_count > 0) result.dropped_end = header.next_offset();
    }
    return result;
  }
  const std::optional<WallTimeMs> horizon = horizon_for(header, rules);
  if (!horizon || header.records_count == 0) return result;
  BatchRewriter rewriter(header, horizon);
  RecordReader reader(header, batch_records(whole_batch));
  for (RecordView record; reader.next(record);) rewriter.keep(record);
  NARU_TRY(reader.status());
  NARU_TRY_ASSIGN(result.bytes, rewriter.build());
  result.kind = CompactedBatch::Kind::rewritten;
  result.delete_horizon = horizon;
  return result;
}

}  // namespace naru
