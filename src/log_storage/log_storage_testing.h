// Vocabulary of this folder's tests: tiny batches, a log on a simulated disk, and reading everything back.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foundation/log.h"
#include "foundation/sanitized_testing.h"
#include "log_storage/partition_folder.h"
#include "log_storage/partition_log.h"
#include "platform/clock.h"
#include "platform/simulated/simulated_file_system.h"
#include "platform/simulated/simulated_random.h"
#include "record_format/batch_builder.h"
#include "record_format/record_reader.h"

namespace naru {

struct TestRecord {
  WallTimeMs timestamp = 0;
  std::string value;
  bool operator==(const TestRecord&) const = default;
};

struct TestBatch {
  std::vector<TestRecord> records;
  LeaderEpoch epoch{0};
  Compression compression = Compression::none;
  ProducerId producer = kNoProducerId;
  int32_t sequence = -1;

  bool same_content(const TestBatch& other) const { return records == other.records && epoch == other.epoch; }
};

struct BuiltBatch {
  Bytes bytes;
  ValidatedBatch validated;
};

inline BuiltBatch build(const TestBatch& batch) {
  const bool idempotent = batch.producer != kNoProducerId;
  BatchBuilder builder({.compression = batch.compression,
                        .producer_id = batch.producer,
                        .producer_epoch = ProducerEpoch(static_cast<int16_t>(idempotent ? 0 : -1)),
                        .base_sequence = batch.sequence});
  for (const TestRecord& record : batch.records) builder.add(record.timestamp, std::nullopt, record.value);
  BuiltBatch built{.bytes = builder.build().value()};
  built.validated.header = parse_batch_header(built.bytes).value();
  built.validated.timestamp = {TimestampType::create_time, built.validated.header.max_timestamp};
  return built;
}

// A batch that differs from every other number's.
inline TestBatch numbered_batch(int number, int records = 2, LeaderEpoch epoch = LeaderEpoch(0)) {
  TestBatch batch{.epoch = epoch};
  for (int i = 0; i < records; ++i) {
    batch.records.push_back({1000 * number + i, fmt::format("{}.{}", number, i)});
  }
  return batch;
}

inline Result<AppendOutcome> append(PartitionLog& log, const TestBatch& batch, WallTimeMs now = 0) {
  const BuiltBatch built = build(batch);
  return log.append(built.bytes, built.validated, batch.epoch, now);
}

// As the partition's maintenance does it.
inline Status move_start(PartitionLog& log, Offset start) {
  for (int note = 0; note < PartitionLog::kStartNotes; ++note) {
    NARU_TRY_ASSIGN(const auto noted, log.note_start(start));
    NARU_TRY(log.start_synced(noted, noted.checkpoint->sync_data()));
  }
  return log.adopt_start(start);
}

inline Status sync(PartitionLog& log) {
  SyncWork work = log.begin_sync();
  const Status performed = work.perform();
  return log.finish_sync(std::move(work), performed);
}

// The batches of a slice. Fails the test, or returns corrupt_message, where the bytes are not what they should be.
inline Result<std::vector<TestBatch>> decode_slice(const LogSlice& slice) {
  std::vector<TestBatch> batches;
  if (slice.empty()) return batches;
  Bytes bytes(slice.bytes);
  NARU_TRY_ASSIGN(const size_t got, slice.file->read_at(slice.position, bytes));
  EXPECT_EQ(got, bytes.size());
  Offset expected = slice.base_offset;
  for (BytesView rest = bytes; !rest.empty();) {
    const auto header = parse_batch_header(rest);
    if (!header || header->total_size > rest.size() || header->base_offset != expected ||
        !batch_crc_matches(rest.first(header->total_size))) {
      return failure(ErrorCode::corrupt_message, "a reader notices the damage at offset {}", expected);
    }
    Decompressor decompressor;
    NARU_TRY_ASSIGN(auto reader, open_records(*header, rest.first(header->total_size), decompressor, 1 << 20));
    TestBatch batch{.epoch = header->leader_epoch, .compression = *header->compression()};
    for (RecordView record; reader.next(record);) {
      batch.records.push_back({record.timestamp, std::string(as_text(*record.value))});
    }
    NARU_TRY(reader.status());
    batches.push_back(std::move(batch));
    expected = header->next_offset();
    rest = rest.subspan(header->total_size);
  }
  EXPECT_EQ(expected, slice.next_offset);
  return batches;
}

inline Result<std::vector<TestBatch>> read_all(PartitionLog& log, uint32_t max_bytes = 1 << 20) {
  std::vector<TestBatch> all;
  for (Offset at = log.start_offset(); at < log.end_offset();) {
    NARU_TRY_ASSIGN(const LogSlice slice, log.read(at, log.end_offset(), max_bytes, true));
    if (slice.empty()) return failure(ErrorCode::unknown_server_error, "nothing at {} before the end", at);
    NARU_TRY_ASSIGN(auto batches, decode_slice(slice));
    for (TestBatch& batch : batches) all.push_back(std::move(batch));
    at = slice.next_offset;
  }
  return all;
}

inline int64_t offsets_in(const std::vector<TestBatch>& batches) {
  int64_t offsets = 0;
  for (const TestBatch& batch : batches) offsets += static_cast<int64_t>(batch.records.size());
  return offsets;
}

inline bool is_prefix(const std::vector<TestBatch>& shorter, const std::vector<TestBatch>& longer) {
  if (shorter.size() > longer.size()) return false;
  for (size_t i = 0; i < shorter.size(); ++i) {
    if (!shorter[i].same_content(longer[i])) return false;
  }
  return true;
}

// Keeps the broker's log off the terminal, in tests whose logs go offline by the thousand.
class QuietLog {
 public:
  QuietLog() { testing::internal::CaptureStderr(); }
  ~QuietLog() { testing::internal::GetCapturedStderr(); }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
};

// Stands still until it is told otherwise. The wall clock is a separate one.
class HandClock final : public Clock {
 public:
  MonotonicTime now() const override { return MonotonicTime(running); }
  WallTimeMs wall_now_ms() const override { return wall; }

  Milliseconds running{1'000'000};
  WallTimeMs wall = 1'750'000'000'000;
};

inline constexpr Uuid kTestTopic{7, 8};
inline const std::string kTestFolder = "/t-0";

// A simulated disk with one partition's folder on it.
class LogOnDisk {
 public:
  explicit LogOnDisk(uint64_t seed, LogConfig log_config = small_segments())
      : config(log_config), random_(seed), files_(std::make_unique<SimulatedFileSystem>(random_)) {
    set_log_level(LogLevel::error);
    EXPECT_TRUE(files_->create_directories(kTestFolder).ok());
    EXPECT_TRUE(fill_new_partition_folder(*files_, kTestFolder, kTestTopic).ok());
    EXPECT_TRUE(files_->sync_directory("/").ok());
    open_files_ = std::make_unique<OpenFiles>(*files_, 4);
  }

  // The same disk at this moment, as somebody sees it who was not there: nothing is open.
  LogOnDisk copy(uint64_t seed) const { return LogOnDisk(*this, seed); }

  static LogConfig small_segments() {
    return {
        .segment_bytes = 500, .segment_ms = 1'000'000'000, .index_interval_bytes = 150, .segment_index_bytes = 4096};
  }

  Result<OpenedLog> open(bool clean_shutdown = false) {
    ++recoveries;
    return PartitionLog::open(
        *files_, *open_files_, kTestFolder, config,
        {.topic_id = kTestTopic, .clean_shutdown = clean_shutdown, .now = 0, .producers = producers});
  }
  std::unique_ptr<PartitionLog> must_open(bool clean_shutdown = false) {
    auto opened = open(clean_shutdown);
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    return opened ? std::move(opened->log) : nullptr;
  }
  void kill() { files_->kill(), forget_open_files(); }
  void crash(Unsynced unsynced = Unsynced::mixed) { files_->crash(unsynced), forget_open_files(); }

  SimulatedFileSystem& files() { return *files_; }
  OpenFiles& open_files() { return *open_files_; }
  Random& random() { return random_; }
  static std::string path(std::string_view name) { return kTestFolder + "/" + std::string(name); }
  static std::string segment(int64_t base, std::string_view suffix = ".log") {
    return path(segment_file_name(Offset(base), suffix));
  }

  LogConfig config;
  ProducerRules producers;
  static inline uint64_t recoveries = 0;

 private:
  LogOnDisk(const LogOnDisk& other, uint64_t seed)
      : config(other.config), producers(other.producers), random_(seed), files_(other.files_->clone(random_)) {
    forget_open_files();
  }
  void forget_open_files() { open_files_ = std::make_unique<OpenFiles>(*files_, 4); }

  SimulatedRandom random_;
  std::unique_ptr<SimulatedFileSystem> files_;
  std::unique_ptr<OpenFiles> open_files_;
};

}  // namespace naru
