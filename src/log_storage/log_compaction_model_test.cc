// Random lives of compacted logs, compared with a model of what every compaction leaves. A failure prints its seed.
#include <gtest/gtest.h>

#include <algorithm>

#include "log_storage/compaction_testing.h"

namespace naru {
namespace {

// A list of records, and compaction by the words of its definition.
class CompactionModel {
 public:
  struct Batch {
    Offset base;
    Offset end;
    std::vector<KeyedRecord> records;
    std::optional<WallTimeMs> delete_horizon;
  };

  void append(Offset base, std::vector<KeyedRecord> records) {
    const auto count = static_cast<int64_t>(records.size());
    for (int64_t i = 0; i < count; ++i) records[static_cast<size_t>(i)].offset = base + i;
    history_.insert(history_.end(), records.begin(), records.end());
    batches_.push_back({base, base + count, std::move(records), std::nullopt});
  }

  void compact(Offset limit, Offset end, WallTimeMs now, int64_t delete_retention_ms) {
    std::map<std::string, Offset> newest;
    for (const Batch& batch : batches_) {
      for (const KeyedRecord& record : batch.records) {
        if (record.key && record.offset < limit) newest[*record.key] = record.offset;
      }
    }
    for (Batch& batch : batches_) {
      bool delete_markers = false;
      std::erase_if(batch.records, [&](const KeyedRecord& record) {
        if (record.offset >= limit) return false;
        const bool last = record.offset == end - 1;
        if (!record.key) return !last;
        if (newest.at(*record.key) > record.offset) return true;
        if (record.value) return false;
        if (batch.delete_horizon && *batch.delete_horizon <= now) return !last;
        delete_markers = true;
        return false;
      });
      if (delete_markers && batch.end <= limit && !batch.delete_horizon)
        batch.delete_horizon = now + delete_retention_ms;
    }
  }

  std::vector<KeyedRecord> records(Offset start) const {
    std::vector<KeyedRecord> all;
    for (const Batch& batch : batches_) {
      std::ranges::copy_if(batch.records, std::back_inserter(all),
                           [&](const KeyedRecord& record) { return record.offset >= start; });
    }
    return all;
  }
  // Everything that was ever appended.
  std::vector<KeyedRecord> history(Offset start) const {
    std::vector<KeyedRecord> all;
    std::ranges::copy_if(history_, std::back_inserter(all),
                         [&](const KeyedRecord& record) { return record.offset >= start; });
    return all;
  }

 private:
  std::vector<Batch> batches_;
  std::vector<KeyedRecord> history_;
};

class Life {
 public:
  explicit Life(uint64_t seed) : disk_(seed, config()), random_(disk_.random()), log_(disk_.must_open()) {}

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      now_ += static_cast<WallTimeMs>(random_.below(100));
      switch (random_.below(12)) {
        case 0:
        case 1:
          ASSERT_TRUE(log_->roll_active(now_).ok());
          break;
        case 2:
        case 3:
          compact();
          break;
        case 4:
          if (random_.one_in(3)) move_start();
          break;
        case 5:
          if (random_.one_in(2)) reopen();
          break;
        default:
          append_batch();
          break;
      }
      check();
    }
  }
  int compactions() const { return compactions_; }

 private:
  static LogConfig config() {
    LogConfig config = LogOnDisk::small_segments();
    config.segment_bytes = 700;
    return config;
  }

  void append_batch() {
    KeyedBatch batch{.epoch = LeaderEpoch(epoch_ += random_.one_in(10) ? 1 : 0),
                     .compression = static_cast<Compression>(random_.below(5))};
    for (uint64_t i = 0; i <= random_.below(5); ++i) {
      KeyedRecord record{.timestamp = static_cast<WallTimeMs>(random_.below(5000)),
                         .key = fmt::format("k{}", random_.below(7)),
                         .value = fmt::format("v{}", next_value_++)};
      if (random_.one_in(4)) record.value = std::nullopt;
      if (random_.one_in(25)) record.key = std::nullopt;
      batch.records.push_back(std::move(record));
    }
    const auto appended = append(*log_, batch, now_);
    ASSERT_TRUE(appended.has_value()) << appended.error().to_string();
    model_.append(appended->base_offset, std::move(batch.records));
  }

  void compact() {
    ++compactions_;
    const uint64_t keys = 1 + random_.below(10);
    const Offset end = log_->segment_facts().back().base_offset;
    const auto statistics = compact_now(*log_, compaction_at(now_, kDeleteRetention, keys * OffsetMap::kBytesPerKey));
    ASSERT_TRUE(statistics.has_value()) << statistics.error().to_string();
    model_.compact(log_->compaction_progress().first_dirty, end, now_, kDeleteRetention);
  }

  void move_start() {
    const Offset start(static_cast<int64_t>(random_.below(static_cast<uint64_t>(log_->end_offset().value()) + 1)));
    if (start <= log_->start_offset()) return;
    ASSERT_TRUE(naru::move_start(*log_, start).ok());
    ASSERT_TRUE(log_->take_segments_below_start().remove_files().ok());
  }

  void reopen() {
    const CompactionProgress progress = log_->compaction_progress();
    if (random_.one_in(2)) {
      ASSERT_TRUE(log_->close().ok());
      log_ = nullptr;
      log_ = disk_.must_open(true);
    } else {
      ASSERT_TRUE(sync(*log_).ok());
      log_ = nullptr;
      disk_.crash(Unsynced::lost);
      log_ = disk_.must_open();
    }
    ASSERT_NE(log_, nullptr);
    ASSERT_EQ(log_->compaction_progress(), progress);
  }

  void check() {
    if (testing::Test::HasFatalFailure()) return;
    const auto found = read_records(*log_);
    ASSERT_TRUE(found.has_value()) << found.error().to_string();
    ASSERT_EQ(found->size(), model_.records(log_->start_offset()).size());
    ASSERT_TRUE(*found == model_.records(log_->start_offset()));
    ASSERT_TRUE(replay(*found) == replay(model_.history(log_->start_offset())));
    std::optional<KeyedRecord> latest;
    for (const KeyedRecord& record : *found) {
      if (!latest || record.timestamp > latest->timestamp) latest = record;
    }
    const auto by_time = log_->find_max_timestamp(log_->end_offset());
    ASSERT_TRUE(by_time.has_value());
    ASSERT_EQ(by_time->has_value(), latest.has_value());
    if (latest) ASSERT_EQ((*by_time)->offset, latest->offset);
  }

  static constexpr int64_t kDeleteRetention = 1000;

  LogOnDisk disk_;
  Random& random_;
  std::unique_ptr<PartitionLog> log_;
  CompactionModel model_;
  WallTimeMs now_ = 0;
  int32_t epoch_ = 0;
  int next_value_ = 0;
  int compactions_ = 0;
};

TEST(LogCompactionModel, EveryCompactionLeavesWhatItsDefinitionSays) {
  int compactions = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Life life(seed);
    life.run(120);
    if (HasFatalFailure()) return;
    compactions += life.compactions();
  }
  EXPECT_GT(compactions, 1'000);
}

}  // namespace
}  // namespace naru
