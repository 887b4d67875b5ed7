// Transactions in a log on disk, compared with what its batches say: through restarts, truncations, power cuts, and
// with their index lost or damaged.
#include <gtest/gtest.h>

#include "log_storage/transaction_testing.h"

namespace naru {
namespace {

constexpr TransactionResult kAbort = TransactionResult::abort;
constexpr TransactionResult kCommit = TransactionResult::commit;

// Writes what producers and coordinators would.
class RandomTransactions {
 public:
  explicit RandomTransactions(Random& random) : random_(random) {}

  bool append(PartitionLog& log) {
    const auto producer = static_cast<int64_t>(random_.below(4));
    const Producer* known = log.producers().find(ProducerId(producer));
    const bool open = known != nullptr && known->in_transaction();
    if (random_.one_in(open ? 3 : 12)) {
      return append_marker(log, producer, random_.one_in(3) ? kCommit : kAbort).has_value();
    }
    TransactionBatch batch{.producer = producer,
                           .sequence = known == nullptr ? 0 : known->last_sequence() + 1,
                           .transactional = open || !random_.one_in(4)};
    for (uint64_t i = 0, count = 1 + random_.below(3); i < count; ++i) {
      batch.records.push_back({fmt::format("k{}", random_.below(5)), fmt::format("v{}", ++values_)});
    }
    return append_data(log, batch).has_value();
  }

 private:
  Random& random_;
  int values_ = 0;
};

// Snapshots and indexes are shortcuts: without them the log says the same.
void check_without_shortcuts(const LogOnDisk& disk, uint64_t seed, const PartitionLog& log) {
  const auto expected = producers_without_times(log);
  for (const std::string_view suffix : {kProducerSnapshotSuffix, kAbortedIndexSuffix}) {
    LogOnDisk copy = disk.copy(seed);
    remove_files_of(copy, suffix);
    const auto other = copy.must_open(true);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(producers_without_times(*other), expected) << "without " << suffix;
    check_transactions(*other);
  }
}

TEST(LogTransactions, AreWhatAListOfBatchesSays) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 6 : 60); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    LogOnDisk disk(seed, {.segment_bytes = 400 + seed * 20,
                          .segment_ms = 1'000'000'000,
                          .index_interval_bytes = 150,
                          .segment_index_bytes = 4096});
    Random& random = disk.random();
    RandomTransactions writer(random);
    auto log = disk.must_open();
    for (int step = 0; step < 160; ++step) {
      ASSERT_TRUE(writer.append(*log));
      if (random.one_in(10)) ASSERT_TRUE(sync(*log).ok());
      if (random.one_in(20)) {
        ASSERT_TRUE(log->truncate_to(Offset(static_cast<int64_t>(
                                         random.below(static_cast<uint64_t>(log->end_offset().value()) + 1))))
                        .ok());
      }
      if (random.one_in(25)) {
        const auto before = producers_without_times(*log);
        const bool clean = random.one_in(2);
        if (clean) ASSERT_TRUE(log->close().ok());
        if (clean) check_without_shortcuts(disk, seed, *log);
        log = nullptr;
        disk.kill();
        log = disk.must_open(clean);
        ASSERT_NE(log, nullptr);
        ASSERT_EQ(producers_without_times(*log), before);
      }
      if (random.one_in(12)) check_transactions(*log);
      if (testing::Test::HasFatalFailure()) return;
    }
    check_transactions(*log);
  }
}

// A script whose every step may be the last before power is cut.
bool live_with_transactions(LogOnDisk& disk) {
  auto opened = disk.open();
  if (!opened) return false;
  PartitionLog& log = *opened->log;
  const auto data = [&](int64_t producer, int32_t sequence) {
    return append_data(log,
                       {.producer = producer, .sequence = sequence, .records = {{"k", "a value"}, {"l", "another"}}})
        .has_value();
  };
  const auto mark = [&](int64_t producer, TransactionResult result) {
    return append_marker(log, producer, result).has_value();
  };
  // One that spans segments, others that begin and end inside of it.
  if (!data(1, 0) || !data(2, 0) || !mark(2, kAbort) || !data(3, 0)) return false;
  if (!sync(log).ok() || !mark(3, kCommit) || !data(2, 2) || !data(3, 2) || !mark(2, kAbort)) return false;
  if (!data(1, 2) || !mark(1, kAbort) || !sync(log).ok() || !mark(3, kAbort)) return false;
  if (!data(1, 4) || !data(2, 4) || !mark(1, kAbort) || !data(1, 6) || !sync(log).ok()) return false;
  // Behind the first marker of 3, so that what it ended is whole and what followed is open or gone.
  if (!log.truncate_to(Offset(14)).ok()) return false;
  if (!data(4, 0) || !mark(4, kAbort) || !sync(log).ok() || !data(4, 2)) return false;
  return log.close().ok();
}

TEST(LogTransactions, SurvivePowerCutsAtEveryStep) {
  const QuietLog quiet;
  LogOnDisk whole(1);
  const uint64_t before = whole.files().mutations();
  ASSERT_TRUE(live_with_transactions(whole));
  const uint64_t mutations = whole.files().mutations() - before;
  ASSERT_GT(mutations, 30u);
  for (uint64_t step = 0; step < mutations; ++step) {
    SCOPED_TRACE(fmt::format("step {} of {}", step, mutations));
    LogOnDisk disk(1);
    disk.files().die_after(step);
    ASSERT_FALSE(live_with_transactions(disk));
    for (uint64_t outcome = 0; outcome < 12; ++outcome) {
      LogOnDisk copy = disk.copy(100 * step + outcome);
      copy.crash(outcome == 0 ? Unsynced::lost : outcome == 1 ? Unsynced::kept : Unsynced::mixed);
      auto log = copy.must_open();
      ASSERT_NE(log, nullptr);
      check_transactions(*log);
      // It goes on as if nothing had happened.
      ASSERT_TRUE(append_marker(*log, 1, kAbort).has_value());
      ASSERT_TRUE(append_data(*log, {.producer = 5, .records = {{"k", "v"}}}).has_value());
      ASSERT_TRUE(log->close().ok());
      log = nullptr;
      log = copy.must_open(true);
      ASSERT_NE(log, nullptr);
      check_transactions(*log);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// One transaction over three segments, and others inside of it.
std::unique_ptr<PartitionLog> spanning(LogOnDisk& disk) {
  auto log = disk.must_open();
  EXPECT_TRUE(append_data(*log, {.producer = 1, .records = {{"k", "v"}}}).has_value());
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(
        append_data(*log, {.producer = 2, .sequence = i, .records = {{"k", std::string(40, 'x')}}}).has_value());
    EXPECT_TRUE(append_marker(*log, 2, i % 2 == 0 ? kAbort : kCommit).has_value());
  }
  EXPECT_TRUE(append_marker(*log, 1, kAbort).has_value());
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(
        append_data(*log, {.producer = 3, .sequence = i, .records = {{"k", std::string(40, 'x')}}}).has_value());
    EXPECT_TRUE(append_marker(*log, 3, kCommit).has_value());
  }
  EXPECT_GE(log->segment_count(), 4u);
  return log;
}

TEST(LogTransactions, AnIndexThatIsMissingShortOrDamagedIsBuiltAnew) {
  LogOnDisk disk(3);
  {
    auto log = spanning(disk);
    ASSERT_TRUE(log->close().ok());
  }
  size_t indexes = 0;
  for (const DirectoryEntry& entry : disk.files().list(kTestFolder).value()) {
    const std::string path = LogOnDisk::path(entry.name);
    if (!entry.name.ends_with(kAbortedIndexSuffix)) continue;
    ++indexes;
    const size_t size = disk.files().content(path).size();
    {
      LogOnDisk missing = disk.copy(1);
      ASSERT_TRUE(missing.files().remove_file(path).ok());
      check_transactions(*missing.must_open(true));
    }
    for (size_t bytes = 0; bytes < size; ++bytes) {
      LogOnDisk cut = disk.copy(bytes);
      ASSERT_TRUE(cut.files().open(path, OpenMode::write).value()->truncate(bytes).ok());
      check_transactions(*cut.must_open(true));
      LogOnDisk flipped = disk.copy(bytes);
      flipped.files().flip_bit(path, bytes, bytes % 8);
      check_transactions(*flipped.must_open(true));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GE(indexes, 2u);
}

TEST(LogTransactions, LogsWithoutAbortsHaveNoIndexOfThem) {
  LogOnDisk disk(4);
  auto log = disk.must_open();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(append_data(*log, {.producer = 1, .sequence = i, .records = {{"k", "v"}}}).has_value());
    ASSERT_TRUE(append_marker(*log, 1, kCommit).has_value());
  }
  ASSERT_TRUE(log->close().ok());
  for (const DirectoryEntry& entry : disk.files().list(kTestFolder).value()) {
    EXPECT_FALSE(entry.name.ends_with(kAbortedIndexSuffix)) << entry.name;
  }
}

TEST(LogTransactions, ADamagedControlBatchIsRefused) {
  LogOnDisk disk(5, {.segment_bytes = 100'000,
                     .segment_ms = 1'000'000'000,
                     .index_interval_bytes = 150,
                     .segment_index_bytes = 4096});
  uint64_t marker_at = 0;
  {
    auto log = disk.must_open();
    ASSERT_TRUE(append_data(*log, {.producer = 1, .records = {{"k", "v"}}}).has_value());
    marker_at = log->size_bytes();
    ASSERT_TRUE(append_marker(*log, 1, kAbort).has_value());
    ASSERT_TRUE(append_data(*log, {.producer = 1, .sequence = 1, .records = {{"k", "v"}}}).has_value());
    ASSERT_TRUE(log->close().ok());
  }
  remove_files_of(disk, kProducerSnapshotSuffix);  // so that it has to be read
  disk.files().flip_bit(LogOnDisk::segment(0), marker_at + kBatchHeaderSize + 3, 0);
  const auto refused = disk.open(true);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), ErrorCode::corrupt_data) << refused.error().to_string();
}

TEST(LogTransactions, AControlBatchOfAnotherKindIsNotTaken) {
  LogOnDisk disk(6);
  auto log = disk.must_open();
  BatchBuilder builder({.leader_epoch = LeaderEpoch(0),
                        .transactional = true,
                        .control = true,
                        .producer_id = ProducerId(1),
                        .producer_epoch = ProducerEpoch(0)});
  builder.add(0, "no", "marker");
  const Bytes bytes = builder.build().value();
  EXPECT_EQ(log->append_stored(bytes, parse_batch_header(bytes).value(), 0).error(), ErrorCode::corrupt_message);
  EXPECT_EQ(log->end_offset(), Offset(0));
  EXPECT_FALSE(log->offline());
}

TEST(LogTransactions, DeletingBehindTheBeginOfAnOpenOneDoesNotEndIt) {
  LogOnDisk disk(7);
  auto log = disk.must_open();
  ASSERT_TRUE(append_data(*log, {.producer = 1, .records = {{"k", "v"}}}).has_value());
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(append_data(*log, {.producer = 2, .sequence = i, .transactional = false, .records = {{"k", "v"}}}));
  }
  ASSERT_TRUE(sync(*log).ok());
  ASSERT_TRUE(move_start(*log, Offset(10)).ok());
  ASSERT_TRUE(sync(*log).ok());
  if (auto work = log->begin_producer_snapshot()) {
    work->write_aside();
    log->finish_producer_snapshot(*work, log->truncations());
  }
  ASSERT_GT(log->take_segments_below_start().segments, 0u);
  EXPECT_EQ(log->last_stable_offset(log->end_offset()), Offset(10));
  EXPECT_EQ(log->producers().oldest_open(), Offset(0));
  ASSERT_TRUE(log->close().ok());
  log = nullptr;
  log = disk.must_open(true);
  EXPECT_EQ(log->producers().oldest_open(), Offset(0)) << "from the snapshot";
  ASSERT_TRUE(append_marker(*log, 1, kAbort).has_value());
  EXPECT_EQ(log->last_stable_offset(log->end_offset()), log->end_offset());
}

}  // namespace
}  // namespace naru
