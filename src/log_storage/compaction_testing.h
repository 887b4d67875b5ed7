// Vocabulary of the tests of compaction: logs of keyed records, all steps of a compaction in a row, and replaying.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/task_testing.h"
#include "log_storage/log_storage_testing.h"

namespace naru {

struct KeyedRecord {
  Offset offset;
  WallTimeMs timestamp = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;  // none: a delete marker
  bool operator==(const KeyedRecord&) const = default;
};

struct KeyedBatch {
  std::vector<KeyedRecord> records;  // offsets are given by the log
  LeaderEpoch epoch{0};
  Compression compression = Compression::none;
  ProducerId producer_id = kNoProducerId;
  int32_t base_sequence = -1;
};

inline Result<AppendOutcome> append(PartitionLog& log, const KeyedBatch& batch, WallTimeMs now = 0) {
  BatchBuilder builder({.compression = batch.compression,
                        .producer_id = batch.producer_id,
                        .producer_epoch = ProducerEpoch(batch.producer_id == kNoProducerId ? -1 : 0),
                        .base_sequence = batch.base_sequence});
  for (const KeyedRecord& record : batch.records) builder.add(record.timestamp, record.key, record.value);
  const Bytes bytes = builder.build().value();
  ValidatedBatch validated{.header = parse_batch_header(bytes).value()};
  validated.timestamp = {TimestampType::create_time, validated.header.max_timestamp};
  return log.append(bytes, validated, batch.epoch, now);
}

// Every record in the log, in order. Fails where the batches do not follow each other without a gap.
inline Result<std::vector<KeyedRecord>> read_records(PartitionLog& log) {
  std::vector<KeyedRecord> all;
  for (Offset at = log.start_offset(); at < log.end_offset();) {
    NARU_TRY_ASSIGN(const LogSlice slice, log.read(at, log.end_offset(), 1 << 20, true));
    Bytes bytes(slice.bytes);
    NARU_TRY_ASSIGN(std::ignore, slice.file->read_at(slice.position, bytes));
    Offset expected = slice.base_offset;
    for (BytesView rest = bytes; !rest.empty();) {
      NARU_TRY_ASSIGN(const BatchHeader header, parse_batch_header(rest));
      const BytesView batch = rest.first(header.total_size);
      if (header.base_offset != expected || !batch_crc_matches(batch)) {
        return failure(ErrorCode::corrupt_message, "a bad batch at {}", expected);
      }
      Decompressor decompressor;
      NARU_TRY_ASSIGN(auto reader, open_records(header, batch, decompressor, 1 << 20));
      const auto text = [](BytesView view) { return std::string(as_text(view)); };
      for (RecordView record; reader.next(record);) {
        if (record.offset < log.start_offset()) continue;
        all.push_back({record.offset, record.timestamp, record.key.transform(text), record.value.transform(text)});
      }
      NARU_TRY(reader.status());
      expected = header.next_offset();
      rest = rest.subspan(header.total_size);
    }
    at = slice.next_offset;
  }
  return all;
}

// What somebody knows who has read all records in their order.
inline std::map<std::string, std::string> replay(const std::vector<KeyedRecord>& records) {
  std::map<std::string, std::string> values;
  for (const KeyedRecord& record : records) {
    if (!record.key) continue;
    if (record.value) {
      values[*record.key] = *record.value;
    } else {
      values.erase(*record.key);
    }
  }
  return values;
}

// All steps of one compaction of everything that is sealed, without anybody in between.
inline Result<CompactionStatistics> compact_now(PartitionLog& log, const CompactionSettings& settings) {
  NARU_TRY_ASSIGN(const auto owned, log.begin_compaction(log.segment_count() - 1, settings));
  LogCompaction& compaction = *owned;
  NARU_TRY(run_now(compaction.read_keys()));
  for (;;) {
    NARU_TRY_ASSIGN(const bool more, run_now(compaction.clean_next()));
    if (!more) break;
    EXPECT_TRUE(log.begin_swap(compaction));
    NARU_TRY(compaction.store_horizon());
    NARU_TRY(log.adopt_swap(compaction, compaction.commit_swap()));
    NARU_TRY(log.end_swap(compaction, compaction.finish_swap()));
  }
  NARU_TRY(compaction.write_progress());
  log.end_compaction(compaction);
  return compaction.statistics();
}

inline CompactionSettings compaction_at(WallTimeMs now, int64_t delete_retention_ms = 1000,
                                        uint64_t map_bytes = 1 << 20) {
  return {.now = now, .delete_retention_ms = delete_retention_ms, .map_bytes = map_bytes, .hash_key = {1, 2}};
}

}  // namespace naru
