// Folders of partitions as earlier versions left them: tests/conformance/golden_logs.
#include "log_storage/old_file_names.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "log_storage/transaction_testing.h"

namespace naru {
namespace {

Bytes content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Bytes bytes;
  append_bytes(bytes, as_bytes(content));
  return bytes;
}

void put(LogOnDisk& disk, std::string_view name, BytesView content) {
  const auto file = disk.files().open(LogOnDisk::path(name), OpenMode::create).value();
  ASSERT_TRUE(file->truncate(0).ok());
  ASSERT_TRUE(file->write_at(0, content).ok());
  ASSERT_TRUE(file->sync_data().ok());
}

LogOnDisk golden(uint64_t seed) {
  LogOnDisk disk(seed);
  for (const auto& entry : std::filesystem::directory_iterator(NARU_GOLDEN_LOGS "/format_1/orders-0")) {
    put(disk, entry.path().filename().string(), content_of(entry.path()));
  }
  EXPECT_TRUE(disk.files().sync_directory(kTestFolder).ok());
  return disk;
}

std::vector<std::string> names_in(LogOnDisk& disk) {
  std::vector<std::string> names;
  for (const DirectoryEntry& entry : disk.files().list(kTestFolder).value()) names.push_back(entry.name);
  return names;
}

void expect_names_of_today(LogOnDisk& disk) {
  for (const std::string& name : names_in(disk)) {
    for (const RenamedSuffix& renamed : renamed_suffixes()) {
      EXPECT_EQ(name.find(std::string(renamed.old_suffix) + "."), std::string::npos) << name;
      EXPECT_FALSE(name.ends_with(renamed.old_suffix)) << name;
    }
  }
}

// Everything that was in the folder, above all what its batches do not say: producer 7, whose records are gone.
void expect_nothing_lost(PartitionLog& log) {
  EXPECT_EQ(log.start_offset(), Offset(15));
  EXPECT_EQ(log.end_offset(), Offset(41));
  EXPECT_EQ(log.last_stable_offset(log.end_offset()), Offset(37));
  EXPECT_EQ(producers_without_times(log), (std::vector<std::string>{
                                              "1/0 from -1, marker 34 of -1: 0@4 2@21 4@26 6@32",
                                              "2/0 from -1, marker 31 of -1: 0@6 2@10 4@24",
                                              "3/0 from 37, marker -1 of -1: 0@37",
                                              "7/0 from -1, marker -1 of -1: 0@0 2@2",
                                              "9/0 from -1, marker -1 of -1: 4@17 6@19 8@28 10@35 12@39",
                                          }));
  const auto aborted = log.aborted_transactions(Offset(15), Offset(37));
  ASSERT_TRUE(aborted.has_value()) << aborted.error().to_string();
  EXPECT_EQ(described(*aborted), "1: 21-23 1: 26-30 1: 32-34 ");
  EXPECT_EQ(log.find_first_at_or_after(1'700'000'020'000, log.end_offset()).value()->offset, Offset(32));
}

TEST(OldFileNames, AFolderOfTheVersionBeforeIsUsedAsItIs) {
  LogOnDisk disk = golden(1);
  uint64_t read = 0;
  disk.files().set_trace([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation == FileOperation::read && path.ends_with("12.log")) ++read;
  });
  auto opened = disk.open(true);
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  EXPECT_EQ(opened->report.scanned_bytes, 0u) << "the indexes are used";
  EXPECT_FALSE(opened->report.remarkable()) << opened->report.to_string();
  EXPECT_LT(read, 10u);
  expect_nothing_lost(*opened->log);
  expect_names_of_today(disk);
  // It goes on, and so does the next start.
  ASSERT_TRUE(append_marker(*opened->log, 3, TransactionResult::commit).has_value());
  ASSERT_TRUE(append_data(*opened->log, {.producer = 7, .sequence = 4, .transactional = false, .records = {{"k", "v"}}})
                  .has_value());
  check_transactions(*opened->log);
  ASSERT_TRUE(opened->log->close().ok());
  opened->log = nullptr;
  const auto again = disk.open(true);
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_FALSE(again->report.remarkable()) << again->report.to_string();
  EXPECT_EQ(again->log->last_stable_offset(again->log->end_offset()), Offset(43));
}

TEST(OldFileNames, AFolderOfTheVersionBeforeSurvivesAnUncleanShutdown) {
  LogOnDisk disk = golden(2);
  const auto opened = disk.open(false);
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  EXPECT_FALSE(opened->report.remarkable()) << opened->report.to_string();
  expect_nothing_lost(*opened->log);
  expect_names_of_today(disk);
}

TEST(OldFileNames, ACrashWhileTheyAreReplacedLosesNothing) {
  const QuietLog quiet;
  for (const bool clean : {true, false}) {
    bool finished = false;
    for (uint64_t step = 0; !finished; ++step) {
      SCOPED_TRACE(fmt::format("step {}, {}", step, clean ? "clean" : "unclean"));
      LogOnDisk disk = golden(step);
      disk.files().die_after(step);
      finished = disk.open(clean).has_value();
      for (uint64_t outcome = 0; outcome < (kSanitized ? 4 : 20); ++outcome) {
        LogOnDisk copy = disk.copy(1000 * step + outcome);
        copy.crash(outcome == 0 ? Unsynced::lost : outcome == 1 ? Unsynced::kept : Unsynced::mixed);
        const auto opened = copy.open();
        ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
        ASSERT_FALSE(opened->report.remarkable()) << opened->report.to_string();
        expect_nothing_lost(*opened->log);
        expect_names_of_today(copy);
        if (testing::Test::HasFailure()) return;
      }
      ASSERT_LT(step, 1000u);
    }
  }
}

TEST(OldFileNames, AFailureToRenameIsAFailureToOpen) {
  const QuietLog quiet;
  for (const RenamedSuffix& renamed : renamed_suffixes()) {
    LogOnDisk disk = golden(3);
    disk.files().fail_nth(FileOperation::rename, 1, std::string(renamed.old_suffix));
    EXPECT_FALSE(disk.open().has_value()) << renamed.old_suffix;
    const auto opened = disk.open();
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    expect_nothing_lost(*opened->log);
  }
}

// As when a copy of the folder was put back over it.
TEST(OldFileNames, OfTwoNamesTheNameOfTodayCounts) {
  LogOnDisk disk = golden(4);
  {
    ASSERT_TRUE(disk.must_open(true)->close().ok());
  }
  const std::vector<std::string> before = names_in(disk);
  for (const std::string& name : before) {
    for (const RenamedSuffix& renamed : renamed_suffixes()) {
      if (!name.ends_with(renamed.suffix)) continue;
      put(disk, name.substr(0, name.size() - renamed.suffix.size()) + std::string(renamed.old_suffix),
          as_bytes("neither an index nor a snapshot"));
    }
  }
  EXPECT_GT(names_in(disk).size(), before.size());
  const auto opened = disk.open(true);
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  EXPECT_FALSE(opened->report.remarkable()) << opened->report.to_string();
  expect_nothing_lost(*opened->log);
  EXPECT_EQ(names_in(disk), before);
}

TEST(OldFileNames, ACompactionThatTheVersionBeforeBeganIsFinished) {
  const QuietLog quiet;
  LogOnDisk disk = golden(5);
  const std::string base = "00000000000000000012";
  const auto stored = [&](std::string_view suffix) {
    return disk.files().content(LogOnDisk::path(base + std::string(suffix)));
  };
  put(disk, base + ".log.swap", stored(".log"));
  for (const char* suffix : {".index", ".timeindex", ".txnindex"}) {
    put(disk, fmt::format("{}{}.cleaned", base, suffix), stored(suffix));
    put(disk, base + suffix, as_bytes("of the segment that is replaced"));
  }
  ASSERT_TRUE(disk.files().sync_directory(kTestFolder).ok());
  bool finished = false;
  for (uint64_t step = 0; !finished; ++step) {
    LogOnDisk copy = disk.copy(step);
    copy.files().die_after(step);
    if (const auto opened = copy.open(true)) {
      finished = true;
      EXPECT_FALSE(opened->report.remarkable()) << opened->report.to_string();
    }
    copy.crash();
    const auto opened = copy.open();
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    expect_nothing_lost(*opened->log);
    expect_names_of_today(copy);
    ASSERT_LT(step, 1000u);
  }
}

TEST(OldFileNames, WhatWasBeingWrittenIsRemovedAndOtherNamesAreLeftAlone) {
  LogOnDisk disk = golden(6);
  put(disk, "00000000000000000041.snapshot.tmp", as_bytes("half a snap"));
  put(disk, "00000000000000000012.index.tmp", as_bytes("half an ind"));
  put(disk, "notes.index", as_bytes("of a person"));
  const auto opened = disk.open(true);
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  expect_nothing_lost(*opened->log);
  const std::vector<std::string> names = names_in(disk);
  EXPECT_NE(std::ranges::find(names, "notes.index"), names.end());
  for (const std::string& name : names) EXPECT_FALSE(name.ends_with(".tmp")) << name;
}

}  // namespace
}  // namespace naru
