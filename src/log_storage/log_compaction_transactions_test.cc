// Compaction of logs with transactions: readers of committed records see what they would have seen without it.
#include <gtest/gtest.h>

#include <set>

#include "log_storage/compaction_testing.h"
#include "log_storage/transaction_testing.h"

namespace naru {
namespace {

struct CommittedRecord {
  Offset offset;
  std::string key;
  std::optional<std::string> value;
  bool operator==(const CommittedRecord&) const = default;
};

// Everything that was ever appended, by the producers' transactions.
class TransactionHistory {
 public:
  void appended(int64_t producer, bool transactional, Offset base, const std::vector<KeyAndValue>& records) {
    for (const auto& [key, value] : records) {
      auto& list = transactional ? open_[producer] : committed_;
      list.push_back({base, key, value});
      base += 1;
    }
  }
  void ended(int64_t producer, TransactionResult result) {
    if (result == TransactionResult::commit) std::ranges::copy(open_[producer], std::back_inserter(committed_));
    open_.erase(producer);
    std::ranges::sort(committed_, {}, &CommittedRecord::offset);
  }
  bool is_open(int64_t producer) const { return open_.contains(producer); }
  const std::vector<CommittedRecord>& committed() const { return committed_; }

 private:
  std::vector<CommittedRecord> committed_;
  std::map<int64_t, std::vector<CommittedRecord>> open_;
};

// As clients filter what they fetch.
Result<std::vector<CommittedRecord>> read_committed(PartitionLog& log, Offset from, uint32_t max_bytes) {
  std::vector<CommittedRecord> read;
  const Offset stable = log.last_stable_offset(log.end_offset());
  for (Offset at = from; at < stable;) {
    NARU_TRY_ASSIGN(const auto batches, batches_from(log, at, stable, max_bytes));
    EXPECT_FALSE(batches.empty());
    const Offset end = batches.back().header.next_offset();
    NARU_TRY_ASSIGN(const auto aborted, log.aborted_transactions(at, end));
    auto next = aborted.begin();
    std::set<ProducerId> dropping;
    for (const auto& [header, bytes, marker] : batches) {
      for (; next != aborted.end() && next->first_offset <= header.last_offset(); ++next) {
        dropping.insert(next->producer_id);
      }
      if (marker && marker->result == TransactionResult::abort) dropping.erase(header.producer_id);
      if (header.is_control() || (header.is_transactional() && dropping.contains(header.producer_id))) continue;
      Decompressor decompressor;
      NARU_TRY_ASSIGN(auto reader, open_records(header, bytes, decompressor, 1 << 20));
      const auto text = [](BytesView view) { return std::string(as_text(view)); };
      for (RecordView record; reader.next(record);) {
        if (record.offset < from) continue;
        read.push_back({record.offset, text(*record.key), record.value.transform(text)});
      }
    }
    at = end;
  }
  return read;
}

// Nothing but committed records, and of each key the newest one unless it was deleted.
void check_reader(PartitionLog& log, const TransactionHistory& history, Offset from, uint32_t max_bytes) {
  const auto read = read_committed(log, from, max_bytes);
  ASSERT_TRUE(read.has_value()) << read.error().to_string();
  const Offset stable = log.last_stable_offset(log.end_offset());
  std::map<std::string, CommittedRecord> newest;
  for (const CommittedRecord& record : history.committed()) {
    if (record.offset < stable) newest.insert_or_assign(record.key, record);
  }
  std::set<Offset> offsets;
  for (const CommittedRecord& record : *read) {
    ASSERT_NE(std::ranges::find(history.committed(), record), history.committed().end())
        << fmt::format("offset {} was never committed; read from {}", record.offset, from);
    offsets.insert(record.offset);
  }
  for (const auto& [key, record] : newest) {
    if (record.offset < from || !record.value) continue;
    ASSERT_TRUE(offsets.contains(record.offset))
        << fmt::format("{} at {} is missing; read from {}", key, record.offset, from);
  }
}

void check_readers(PartitionLog& log, const TransactionHistory& history) {
  const auto batches = all_batches(log);
  ASSERT_TRUE(batches.has_value()) << batches.error().to_string();
  for (const BatchInLog& batch : *batches) {
    for (const uint32_t max_bytes : {1u, 300u, 1u << 20}) {
      check_reader(log, history, std::max(batch.header.base_offset, log.start_offset()), max_bytes);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// Segments whose end the last stable offset has passed.
size_t compactable(const PartitionLog& log) {
  const Offset stable = log.last_stable_offset(log.end_offset());
  size_t count = 0;
  for (const SegmentFacts& segment : log.segment_facts()) {
    if (segment.end_offset > stable) break;
    ++count;
  }
  return std::min(count, log.segment_count() - 1);
}

Status compact(PartitionLog& log, const CompactionSettings& settings) {
  NARU_TRY_ASSIGN(const auto compaction, log.begin_compaction(compactable(log), settings));
  NARU_TRY(run_now(compaction->read_keys()));
  for (;;) {
    NARU_TRY_ASSIGN(const bool more, run_now(compaction->clean_next()));
    if (!more) break;
    EXPECT_TRUE(log.begin_swap(*compaction));
    NARU_TRY(log.adopt_swap(*compaction, compaction->commit_swap()));
    NARU_TRY(log.end_swap(*compaction, compaction->finish_swap()));
  }
  NARU_TRY(compaction->write_progress());
  log.end_compaction(*compaction);
  return Status();
}

class CompactedLog {
 public:
  explicit CompactedLog(uint64_t seed) : disk(seed), log(disk.must_open()) {}

  void data(int64_t producer, std::vector<KeyAndValue> records, bool transactional = true) {
    const Producer* known = log->producers().find(ProducerId(producer));
    const auto appended = append_data(*log,
                                      {.producer = producer,
                                       .sequence = known == nullptr ? 0 : known->last_sequence() + 1,
                                       .transactional = transactional,
                                       .records = records},
                                      now);
    ASSERT_TRUE(appended.has_value()) << appended.error().to_string();
    history.appended(producer, transactional, appended->base_offset, records);
  }
  void mark(int64_t producer, TransactionResult result) {
    ASSERT_TRUE(append_marker(*log, producer, result, now).has_value());
    history.ended(producer, result);
  }
  void reopen(bool clean) {
    if (clean) ASSERT_TRUE(log->close().ok());
    log = nullptr;
    disk.kill();
    log = disk.must_open(clean);
    ASSERT_NE(log, nullptr);
  }
  size_t markers() {
    size_t count = 0;
    for (const BatchInLog& batch : all_batches(*log).value()) count += batch.header.is_control() ? 1 : 0;
    return count;
  }

  LogOnDisk disk;
  std::unique_ptr<PartitionLog> log;
  TransactionHistory history;
  WallTimeMs now = 1000;
};

TEST(CompactionOfTransactions, ReadersSeeWhatTheyWouldHaveSeenWithoutIt) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    CompactedLog compacted(seed);
    Random& random = compacted.disk.random();
    for (int step = 0; step < 120; ++step) {
      const auto producer = static_cast<int64_t>(random.below(4));
      const bool open = compacted.history.is_open(producer);
      if (open && random.one_in(3)) {
        compacted.mark(producer, random.one_in(2) ? TransactionResult::commit : TransactionResult::abort);
      } else {
        std::vector<KeyAndValue> records;
        for (uint64_t i = 0, count = 1 + random.below(3); i < count; ++i) {
          records.push_back({fmt::format("k{}", random.below(6)), fmt::format("v{}.{}", step, i)});
          if (random.one_in(8)) records.back().value = std::nullopt;
        }
        compacted.data(producer, std::move(records), open || !random.one_in(4));
      }
      compacted.now += 10;
      if (random.one_in(15)) {
        ASSERT_TRUE(sync(*compacted.log).ok());
        const auto before = producers_without_times(*compacted.log);
        const Status status = compact(*compacted.log, compaction_at(compacted.now, 200, 1 << 16));
        ASSERT_TRUE(status.ok()) << status.to_string();
        ASSERT_EQ(producers_without_times(*compacted.log), before);
        check_readers(*compacted.log, compacted.history);
      }
      if (random.one_in(30)) {
        const auto before = producers_without_times(*compacted.log);
        const bool clean = random.one_in(2);
        if (clean && random.one_in(2)) {
          ASSERT_TRUE(compacted.log->close().ok());
          compacted.log = nullptr;
          remove_files_of(compacted.disk, random.one_in(2) ? kProducerSnapshotSuffix : kAbortedIndexSuffix);
          compacted.log = compacted.disk.must_open(true);
        } else {
          compacted.reopen(clean);
        }
        ASSERT_EQ(producers_without_times(*compacted.log), before);
        check_readers(*compacted.log, compacted.history);
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

void fill_segment(CompactedLog& compacted, int64_t producer) {
  const size_t before = compacted.log->segment_count();
  for (int i = 0; compacted.log->segment_count() == before; ++i) {
    compacted.data(producer, {{fmt::format("f{}", i % 3), std::string(60, 'x')}}, false);
  }
}

TEST(CompactionOfTransactions, AMarkerStaysAsLongAsRecordsOfItsTransactionDoAndThenForAWhile) {
  CompactedLog compacted(1);
  compacted.data(1, {{"committed", "v"}});
  compacted.mark(1, TransactionResult::commit);
  compacted.data(1, {{"aborted", "v"}});
  compacted.mark(1, TransactionResult::abort);
  compacted.data(1, {{"last", "v"}});
  compacted.mark(1, TransactionResult::commit);
  for (int i = 0; i < 3; ++i) fill_segment(compacted, 9);
  ASSERT_EQ(compacted.markers(), 3u);

  ASSERT_TRUE(sync(*compacted.log).ok());
  ASSERT_TRUE(compact(*compacted.log, compaction_at(1000, 500)).ok());
  EXPECT_EQ(compacted.markers(), 3u) << "the aborted records are gone, those who read them before wait for the marker";
  EXPECT_EQ(compacted.log->compaction_progress().next_delete_horizon, 1500);
  check_readers(*compacted.log, compacted.history);
  ASSERT_TRUE(compact(*compacted.log, compaction_at(1499, 500)).ok());
  EXPECT_EQ(compacted.markers(), 3u);
  ASSERT_TRUE(compact(*compacted.log, compaction_at(1500, 500)).ok());
  EXPECT_EQ(compacted.markers(), 2u);
  EXPECT_TRUE(compacted.log->aborted_transactions(Offset(0), compacted.log->end_offset()).value().empty());
  check_readers(*compacted.log, compacted.history);

  // Newer values of the keys take away what both markers stood for.
  compacted.data(9, {{"committed", "w"}, {"last", "w"}}, false);
  for (int i = 0; i < 3; ++i) fill_segment(compacted, 9);
  ASSERT_TRUE(sync(*compacted.log).ok());
  ASSERT_TRUE(compact(*compacted.log, compaction_at(2000, 500)).ok());
  ASSERT_TRUE(compact(*compacted.log, compaction_at(2500, 500)).ok());
  EXPECT_EQ(compacted.markers(), 1u) << "the last marker of a producer that is known stays";
  check_readers(*compacted.log, compacted.history);
}

TEST(CompactionOfTransactions, AnAbortedRecordMakesNoOtherSuperfluous) {
  CompactedLog compacted(2);
  compacted.data(9, {{"k", "good"}}, false);
  compacted.data(1, {{"k", "aborted"}});
  compacted.mark(1, TransactionResult::abort);
  for (int i = 0; i < 2; ++i) fill_segment(compacted, 9);
  ASSERT_TRUE(sync(*compacted.log).ok());
  ASSERT_TRUE(compact(*compacted.log, compaction_at(1000)).ok());
  const auto read = read_committed(*compacted.log, Offset(0), 1 << 20);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->front().value, "good");
  check_readers(*compacted.log, compacted.history);
}

}  // namespace
}  // namespace naru
