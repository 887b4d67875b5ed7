// Journals with flipped bits: the newest round may be cut, everything else is refused.
#include <gtest/gtest.h>

#include "commit_journal/commit_journal_testing.h"
#include "commit_journal/journal_reader.h"
#include "platform/simulated/simulated_file_system.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

class DamagedJournal : public testing::Test {
 protected:
  // Four rounds, with batches of two logs.
  DamagedJournal() {
    set_log_level(LogLevel::error);
    JournaledLogs::create(disk, 2);
    JournaledLogs run(disk, random);
    EXPECT_TRUE(run.open(2).ok());
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(run.append(0, numbered_batch(2 * i)));
      EXPECT_TRUE(run.append(1, numbered_batch(2 * i + 1)));
      run.scheduler.run_all();
    }
    EXPECT_EQ(run.rounds(), 4u);
  }
  Result<JournalContents> read(SimulatedFileSystem& files) {
    return read_journal(files.open("/commit-journal", OpenMode::read).value());
  }
  size_t batches(const JournalContents& contents) {
    size_t count = 0;
    for (const auto& [log, journaled] : contents.logs) count += journaled.batches.size();
    return count;
  }

  SimulatedRandom random{1};
  SimulatedFileSystem disk{random};
};

TEST_F(DamagedJournal, IsReadWholeWhenNothingIsWrong) {
  disk.kill();
  const auto contents = read(disk);
  ASSERT_TRUE(contents.has_value()) << contents.error().to_string();
  EXPECT_EQ(contents->rounds, 4u);
  EXPECT_FALSE(contents->torn_round);
  EXPECT_EQ(batches(*contents), 8u);
}

TEST_F(DamagedJournal, EveryBitOfTheNewestRoundMayBeWrongAndEveryOtherOneIsRefused) {
  disk.kill();
  const uint64_t newest = kJournalRingBegin + 3 * kJournalBlock;
  const uint64_t round_bytes = kJournalRoundHeaderBytes + 2 * (kJournalEntryHeaderBytes + 90);
  uint64_t refused = 0, cut = 0;
  for (uint64_t round = 0; round < 4; ++round) {
    for (uint64_t at = 0; at < round_bytes; ++at) {
      for (unsigned bit = 0; bit < 8; bit += 3) {
        const uint64_t position = kJournalRingBegin + round * kJournalBlock + at;
        disk.flip_bit("/commit-journal", position, bit);
        const auto contents = read(disk);
        disk.flip_bit("/commit-journal", position, bit);
        if (contents) {
          // Bytes that nobody needs, and the newest round.
          if (position >= newest && contents->rounds == 3) ++cut;
          ASSERT_TRUE(contents->rounds == 4 || position >= newest) << position;
          ASSERT_EQ(batches(*contents), 2 * contents->rounds);
        } else {
          ++refused;
          ASSERT_LT(position, newest);
          ASSERT_EQ(contents.error(), ErrorCode::corrupt_data);
          ASSERT_NE(contents.error().message().find("/commit-journal"), std::string::npos);
          ASSERT_NE(contents.error().message().find(fmt::format("{}", kJournalRingBegin + round * kJournalBlock)),
                    std::string::npos)
              << contents.error().to_string();
        }
      }
    }
  }
  EXPECT_GT(refused, 2000u);
  EXPECT_GT(cut, 700u);
}

TEST_F(DamagedJournal, OneOfTwoHeadersIsEnough) {
  disk.kill();
  disk.flip_bit("/commit-journal", 20, 1);  // never written
  EXPECT_TRUE(read(disk).has_value());
  disk.flip_bit("/commit-journal", kJournalBlock + 20, 1);
  const auto contents = read(disk);
  ASSERT_FALSE(contents.has_value());
  EXPECT_EQ(contents.error(), ErrorCode::corrupt_data);
}

TEST_F(DamagedJournal, AShorterFileIsRefused) {
  disk.kill();
  disk.cut("/commit-journal", kJournalRingBegin + 3 * kJournalBlock);
  EXPECT_EQ(read(disk).error(), ErrorCode::corrupt_data);
}

TEST_F(DamagedJournal, ARefusedOneKeepsTheFolderFromStarting) {
  disk.kill();
  disk.flip_bit("/commit-journal", kJournalRingBegin + 100, 1);
  JournaledLogs run(disk, random);
  EXPECT_EQ(run.open(2), ErrorCode::corrupt_data);
}

}  // namespace
}  // namespace naru
