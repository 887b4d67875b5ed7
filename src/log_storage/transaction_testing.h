// Vocabulary of the tests of transactions in logs: batches and markers, and what the batches alone say.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "log_storage/control_batches.h"
#include "log_storage/log_storage_testing.h"

namespace naru {

struct KeyAndValue {
  std::string key;
  std::optional<std::string> value;
};

struct TransactionBatch {
  int64_t producer = 1;
  int16_t epoch = 0;
  int32_t sequence = 0;
  bool transactional = true;
  std::vector<KeyAndValue> records;
};

inline Result<AppendOutcome> append_data(PartitionLog& log, const TransactionBatch& batch, WallTimeMs now = 0) {
  BatchBuilder builder({.transactional = batch.transactional,
                        .producer_id = ProducerId(batch.producer),
                        .producer_epoch = ProducerEpoch(batch.epoch),
                        .base_sequence = batch.sequence});
  for (const auto& [key, value] : batch.records) {
    builder.add(now, key, value ? std::optional<std::string_view>(*value) : std::nullopt);
  }
  const Bytes bytes = builder.build().value();
  ValidatedBatch validated{.header = parse_batch_header(bytes).value()};
  validated.timestamp = {TimestampType::create_time, validated.header.max_timestamp};
  return log.append(bytes, validated, LeaderEpoch(0), now);
}

inline Result<AppendOutcome> append_marker(PartitionLog& log, int64_t producer, TransactionResult result,
                                           WallTimeMs now = 0, int16_t epoch = 0) {
  const Bytes bytes = build_marker_batch({ProducerId(producer), ProducerEpoch(epoch)}, {.result = result}, now);
  ValidatedBatch validated{.header = parse_batch_header(bytes).value()};
  validated.timestamp = {TimestampType::create_time, validated.header.max_timestamp};
  return log.append(bytes, validated, LeaderEpoch(0), now);
}

struct BatchInLog {
  BatchHeader header;
  Bytes bytes;
  std::optional<TransactionMarker> marker;
};

// From the one that holds `from` on.
inline Result<std::vector<BatchInLog>> batches_from(PartitionLog& log, Offset from, Offset limit,
                                                    uint32_t max_bytes = 1 << 20) {
  std::vector<BatchInLog> batches;
  NARU_TRY_ASSIGN(const LogSlice slice, log.read(from, limit, max_bytes, true));
  Bytes bytes(slice.bytes);
  if (slice.empty()) return batches;
  NARU_TRY_ASSIGN(std::ignore, slice.file->read_at(slice.position, bytes));
  for (BytesView rest = bytes; !rest.empty();) {
    NARU_TRY_ASSIGN(const BatchHeader header, parse_batch_header(rest));
    const BytesView whole = rest.first(header.total_size);
    EXPECT_TRUE(batch_crc_matches(whole));
    NARU_TRY_ASSIGN(const auto marker, marker_of(header, whole));
    batches.push_back({header, Bytes(whole.begin(), whole.end()), marker});
    rest = rest.subspan(header.total_size);
  }
  return batches;
}

inline Result<std::vector<BatchInLog>> all_batches(PartitionLog& log) {
  std::vector<BatchInLog> all;
  for (Offset at = log.start_offset(); at < log.end_offset();) {
    NARU_TRY_ASSIGN(auto some, batches_from(log, at, log.end_offset()));
    at = some.back().header.next_offset();
    std::ranges::move(some, std::back_inserter(all));
  }
  return all;
}

// What the batches alone say: the simplest way to tell.
struct TransactionsByList {
  std::map<ProducerId, Offset> open;
  std::vector<AbortedTransaction> aborted;

  explicit TransactionsByList(const std::vector<BatchInLog>& batches) {
    for (const auto& [header, bytes, marker] : batches) {
      if (marker) {
        const auto found = open.find(header.producer_id);
        if (found == open.end()) continue;
        if (marker->result == TransactionResult::abort) {
          aborted.push_back(
              {.producer_id = header.producer_id, .first_offset = found->second, .last_offset = header.base_offset});
        }
        open.erase(found);
      } else if (header.is_transactional() && header.records_count > 0) {
        open.try_emplace(header.producer_id, header.base_offset);
      }
    }
    std::ranges::sort(aborted, {}, &AbortedTransaction::first_offset);
  }
  Offset stable(Offset end) const {
    for (const auto& [id, first] : open) end = std::min(end, first);
    return end;
  }
  std::vector<AbortedTransaction> overlapping(Offset from, Offset end) const {
    std::vector<AbortedTransaction> found;
    for (const AbortedTransaction& each : aborted) {
      if (each.last_offset >= from && each.first_offset < end) found.push_back(each);
    }
    return found;
  }
};

inline std::string described(const std::vector<AbortedTransaction>& aborted) {
  std::string text;
  for (const AbortedTransaction& each : aborted) {
    text += fmt::format("{}: {}-{} ", each.producer_id, each.first_offset, each.last_offset);
  }
  return text;
}

// The log says of its transactions what its batches say, for every range that a reader may ask for.
inline void check_transactions(PartitionLog& log) {
  const auto batches = all_batches(log);
  ASSERT_TRUE(batches.has_value()) << batches.error().to_string();
  const TransactionsByList list(*batches);
  const Offset stable = log.last_stable_offset(log.end_offset());
  ASSERT_EQ(stable, std::max(list.stable(log.end_offset()), log.start_offset()));
  for (const BatchInLog& first : *batches) {
    for (const BatchInLog& last : *batches) {
      const Offset from = std::max(first.header.base_offset, log.start_offset());
      const Offset end = last.header.next_offset();
      if (end <= from || end > stable) continue;
      const auto found = log.aborted_transactions(from, end);
      ASSERT_TRUE(found.has_value()) << found.error().to_string();
      ASSERT_EQ(described(*found), described(list.overlapping(from, end))) << fmt::format("[{}, {})", from, end);
    }
  }
}

inline std::string without_times(const Producer& producer) {
  std::string text = fmt::format("{}/{} from {}, marker {} of {}:", producer.id, producer.epoch,
                                 producer.transaction_start, producer.last_marker, producer.coordinator_epoch);
  for (size_t i = 0; i < producer.batch_count; ++i) {
    text += fmt::format(" {}@{}", producer.batches[i].first_sequence, producer.batches[i].base_offset);
  }
  return text;
}

// By id: how idle they were is not in the log.
inline std::vector<std::string> producers_without_times(const PartitionLog& log) {
  std::vector<std::string> all;
  for (const Producer& producer : log.producers().producers()) all.push_back(without_times(producer));
  std::ranges::sort(all);
  return all;
}

inline void remove_files_of(LogOnDisk& disk, std::string_view suffix) {
  for (const DirectoryEntry& entry : disk.files().list(kTestFolder).value()) {
    if (std::string_view(entry.name).ends_with(suffix)) {
      EXPECT_TRUE(disk.files().remove_file(LogOnDisk::path(entry.name)).ok());
    }
  }
}

}  // namespace naru
