// What only the simulated disk promises: crashes, faults and the doors for tests. What it shares with a real one is
// tested by platform/file_system_test.cc.
#include "platform/simulated/simulated_file_system.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

class SimulatedFileSystemTest : public testing::Test {
 protected:
  std::shared_ptr<File> open(const std::string& path, OpenMode mode = OpenMode::create) {
    auto file = files.open(path, mode);
    EXPECT_TRUE(file.has_value()) << file.error().to_string();
    return *file;
  }
  void write(File& file, uint64_t position, std::string_view text) {
    EXPECT_TRUE(file.write_at(position, as_bytes(text)).ok());
  }
  // A file whose name and content are on the disk.
  std::shared_ptr<File> durable_file(const std::string& path, std::string_view text) {
    auto file = open(path);
    write(*file, 0, text);
    EXPECT_TRUE(file->sync_data().ok());
    EXPECT_TRUE(files.sync_directory("/").ok());
    return file;
  }
  std::string content(const std::string& path) { return std::string(as_text(files.content(path))); }
  bool exists(const std::string& path) { return *files.exists(path); }

  SimulatedRandom random{1};
  SimulatedFileSystem files{random};
};

TEST_F(SimulatedFileSystemTest, KeepsSyncedBytesAndNamesInEveryCrash) {
  durable_file("/a", "synced");
  for (const Unsynced unsynced : {Unsynced::lost, Unsynced::kept, Unsynced::mixed}) {
    files.crash(unsynced);
    EXPECT_EQ(content("/a"), "synced");
  }
}

TEST_F(SimulatedFileSystemTest, LosesUnsyncedBytesInAPowerCutButNotWhenTheProcessIsKilled) {
  auto file = durable_file("/a", "synced");
  write(*file, 6, " and more");
  files.kill();
  EXPECT_EQ(content("/a"), "synced and more");
  files.crash(Unsynced::lost);
  EXPECT_EQ(content("/a"), "synced");
}

TEST_F(SimulatedFileSystemTest, AnotherDiskIsEmptyAndFilesOfTheOldOneAreStale) {
  const auto file = durable_file("/a", "synced");
  files.wipe();
  EXPECT_FALSE(files.exists("/a").value());
  EXPECT_FALSE(file->sync_data().ok());
  durable_file("/a", "new");
  EXPECT_EQ(content("/a"), "new");
}

TEST_F(SimulatedFileSystemTest, CrashLeavesEachSectorOldOrNewExceptOneTornOne) {
  constexpr size_t kSectors = 64;
  bool saw_mixture = false;
  bool saw_torn = false;
  for (int round = 0; round < 200; ++round) {
    auto file = durable_file("/a", std::string(kSectors * 512, 'o'));
    write(*file, 0, std::string(kSectors * 512, 'n'));
    files.crash();
    const std::string after = content("/a");
    ASSERT_EQ(after.size(), kSectors * 512);
    size_t torn = 0;
    std::set<char> kinds;
    for (size_t sector = 0; sector < kSectors; ++sector) {
      const std::string bytes = after.substr(sector * 512, 512);
      const bool whole = bytes.find_first_not_of(bytes[0]) == std::string::npos;
      torn += whole ? 0 : 1;
      kinds.insert(bytes[0]);
    }
    EXPECT_LE(torn, 1U);
    saw_torn |= torn == 1;
    saw_mixture |= kinds.size() == 2;
  }
  EXPECT_TRUE(saw_mixture);
  EXPECT_TRUE(saw_torn);
}

TEST_F(SimulatedFileSystemTest, CrashLeavesASizeBetweenTheSyncedAndTheCurrentOne) {
  std::set<size_t> sizes;
  for (int round = 0; round < 200; ++round) {
    auto file = durable_file("/a", "0123456789");
    ASSERT_TRUE(file->truncate(10).ok());
    ASSERT_TRUE(file->sync_data().ok());
    write(*file, 10, std::string(10, 'x'));
    files.crash();
    const std::string after = content("/a");
    sizes.insert(after.size());
    ASSERT_GE(after.size(), 10U);
    ASSERT_LE(after.size(), 20U);
    EXPECT_EQ(after.substr(0, 10), "0123456789");
    EXPECT_EQ(after.find_first_not_of(std::string("x\0", 2), 10), std::string::npos) << "neither written nor zero";
  }
  EXPECT_GT(sizes.size(), 5U);
}

TEST_F(SimulatedFileSystemTest, UnsyncedTruncationMayBeUndone) {
  std::set<std::string> seen;
  for (int round = 0; round < 100; ++round) {
    auto file = durable_file("/a", "0123456789");
    ASSERT_TRUE(file->truncate(0).ok());
    files.crash();
    seen.insert(content("/a"));
  }
  EXPECT_TRUE(seen.contains("0123456789"));
  EXPECT_TRUE(seen.contains(""));
}

TEST_F(SimulatedFileSystemTest, NewNameMayVanishUntilItsFolderIsSynced) {
  std::set<bool> outcomes;
  for (int round = 0; round < 50; ++round) {
    auto file = open("/new");
    write(*file, 0, "x");
    ASSERT_TRUE(file->sync_data().ok());
    files.crash();
    outcomes.insert(exists("/new"));
    if (exists("/new")) EXPECT_EQ(content("/new"), "x");
    if (exists("/new")) ASSERT_TRUE(files.remove_file("/new").ok());
    ASSERT_TRUE(files.sync_directory("/").ok());
  }
  EXPECT_EQ(outcomes.size(), 2U);

  durable_file("/new", "x");
  files.crash(Unsynced::lost);
  EXPECT_TRUE(exists("/new"));
}

TEST_F(SimulatedFileSystemTest, UnsyncedRenameAndRemovalMayBeUndone) {
  durable_file("/old", "1");
  durable_file("/gone", "2");
  ASSERT_TRUE(files.rename("/old", "/new").ok());
  ASSERT_TRUE(files.remove_file("/gone").ok());
  files.crash(Unsynced::lost);
  EXPECT_TRUE(exists("/old"));
  EXPECT_TRUE(exists("/gone"));
  EXPECT_FALSE(exists("/new"));

  ASSERT_TRUE(files.rename("/old", "/new").ok());
  ASSERT_TRUE(files.sync_directory("/").ok());
  files.crash(Unsynced::lost);
  EXPECT_FALSE(exists("/old"));
  EXPECT_EQ(content("/new"), "1");
}

TEST_F(SimulatedFileSystemTest, MoveBetweenFoldersIsAtomicAndDurableWithEitherFolder) {
  for (const std::string synced : {"/a", "/b"}) {
    ASSERT_TRUE(files.create_directories("/a").ok());
    ASSERT_TRUE(files.create_directories("/b").ok());
    auto file = open("/a/x");
    write(*file, 0, "moved");
    ASSERT_TRUE(file->sync_data().ok());
    ASSERT_TRUE(files.sync_directory("/a").ok());
    ASSERT_TRUE(files.sync_directory("/").ok());
    ASSERT_TRUE(files.rename("/a/x", "/b/x").ok());
    ASSERT_TRUE(files.sync_directory(synced).ok());
    files.crash(Unsynced::lost);
    EXPECT_FALSE(exists("/a/x"));
    EXPECT_EQ(content("/b/x"), "moved");
    ASSERT_TRUE(files.remove_file("/b/x").ok());
    ASSERT_TRUE(files.sync_directory("/b").ok());
  }
}

TEST_F(SimulatedFileSystemTest, FolderWhoseNameWasNotSyncedTakesItsFilesWithIt) {
  ASSERT_TRUE(files.create_directories("/topic").ok());
  auto file = open("/topic/log");
  ASSERT_TRUE(file->sync_data().ok());
  ASSERT_TRUE(files.sync_directory("/topic").ok());
  files.crash(Unsynced::lost);
  EXPECT_FALSE(exists("/topic"));
}

TEST_F(SimulatedFileSystemTest, HandlesAndLocksOfADeadProcessAreStale) {
  auto file = durable_file("/a", "1");
  auto lock = files.lock_directory("/");
  ASSERT_TRUE(lock.has_value());
  files.kill();
  std::array<std::byte, 1> byte;
  EXPECT_EQ(file->write_at(0, as_bytes("2")), ErrorCode::io_error);
  EXPECT_EQ(file->read_at(0, byte).error(), ErrorCode::io_error);
  EXPECT_EQ(file->sync_data(), ErrorCode::io_error);
  EXPECT_EQ(content("/a"), "1");

  auto next_lock = files.lock_directory("/");
  ASSERT_TRUE(next_lock.has_value());
  lock->reset();  // must not release the new one
  EXPECT_EQ(files.lock_directory("/").error(), ErrorCode::already_exists);
}

TEST_F(SimulatedFileSystemTest, FailedSyncDropsDirtyPagesAndSaysSoOnce) {
  auto file = durable_file("/a", "old");
  write(*file, 0, "new");
  files.fail_nth(FileOperation::sync_data, 1, "/a");
  EXPECT_EQ(file->sync_data(), ErrorCode::io_error);
  EXPECT_TRUE(file->sync_data().ok());
  EXPECT_EQ(content("/a"), "new") << "the page cache still shows it";
  files.crash(Unsynced::kept);
  EXPECT_EQ(content("/a"), "old");
}

TEST_F(SimulatedFileSystemTest, FailedWriteLeavesAPrefix) {
  std::set<size_t> lengths;
  for (int round = 0; round < 100; ++round) {
    auto file = open("/a");
    ASSERT_TRUE(file->truncate(0).ok());
    files.fail_nth(FileOperation::write, 1, "/a");
    EXPECT_EQ(file->write_at(0, as_bytes("0123456789")), ErrorCode::io_error);
    EXPECT_TRUE(std::string("0123456789").starts_with(content("/a")));
    lengths.insert(content("/a").size());
  }
  EXPECT_GT(lengths.size(), 5U);
}

TEST_F(SimulatedFileSystemTest, PlannedFaultHitsTheNthMatchingCallOnly) {
  files.fail_nth(FileOperation::create, 2, "log", ErrorCode::disk_full);
  EXPECT_TRUE(files.open("/1.log", OpenMode::create).has_value());
  EXPECT_TRUE(files.open("/2.index", OpenMode::create).has_value());
  EXPECT_EQ(files.open("/3.log", OpenMode::create).error(), ErrorCode::disk_full);
  EXPECT_TRUE(files.open("/4.log", OpenMode::create).has_value());
}

TEST_F(SimulatedFileSystemTest, FullDiskTakesWhatFitsAndRecoversAfterDeletion) {
  files.set_capacity(16 * 4096);
  auto file = open("/a");
  EXPECT_EQ(file->write_at(0, as_bytes(std::string(20 * 4096, 'x'))), ErrorCode::disk_full);
  EXPECT_EQ(content("/a").size(), 16U * 4096);
  EXPECT_EQ(files.space("/")->free_bytes, 0U);
  EXPECT_TRUE(file->write_at(0, as_bytes("overwriting needs no space")).ok());
  ASSERT_TRUE(files.remove_file("/a").ok());
  auto other = open("/b");
  EXPECT_TRUE(other->write_at(0, as_bytes(std::string(4096, 'y'))).ok());
}

TEST_F(SimulatedFileSystemTest, ADiskWithoutRoomForFilesTakesBytes) {
  auto file = open("/a");
  files.set_room_for_files(false);
  EXPECT_EQ(files.open("/b", OpenMode::create).error(), ErrorCode::disk_full);
  EXPECT_EQ(files.create_directories("/folder"), ErrorCode::disk_full);
  EXPECT_TRUE(file->write_at(0, as_bytes("bytes")).ok());
  EXPECT_TRUE(files.open("/a", OpenMode::create).has_value()) << "it is there";
  files.set_room_for_files(true);
  EXPECT_TRUE(files.open("/b", OpenMode::create).has_value());
}

TEST_F(SimulatedFileSystemTest, LimitsOpenFiles) {
  files.set_open_file_limit(1);
  auto file = open("/a");
  EXPECT_EQ(files.open("/b", OpenMode::create).error(), ErrorCode::too_many_open_files);
  file.reset();
  EXPECT_TRUE(files.open("/b", OpenMode::create).has_value());
}

TEST_F(SimulatedFileSystemTest, AFailedWriteBackIsToldOnceToThoseWhoHadTheFileOpen) {
  auto writer = durable_file("/a", "old");
  auto reader = open("/a");
  write(*writer, 0, "new");
  files.fail_write_back("/a");
  auto late = open("/a");
  EXPECT_TRUE(late->sync_data().ok());
  EXPECT_EQ(writer->sync_data(), ErrorCode::io_error);
  EXPECT_TRUE(writer->sync_data().ok());
  EXPECT_EQ(reader->sync_data(), ErrorCode::io_error);
  EXPECT_EQ(content("/a"), "new");
  files.crash(Unsynced::kept);
  EXPECT_EQ(content("/a"), "old");
}

TEST_F(SimulatedFileSystemTest, FlipsBitsAndCutsFilesByHand) {
  auto file = durable_file("/a", "aaaa");
  files.flip_bit("/a", 1, 1);
  files.cut("/a", 3);
  EXPECT_EQ(content("/a"), "aca");
  files.crash(Unsynced::lost);
  EXPECT_EQ(content("/a"), "aca");
}

TEST_F(SimulatedFileSystemTest, CloneHasTheSameFutureButDoesNotShareIt) {
  auto file = durable_file("/a", "old");
  write(*file, 0, "new");
  open("/b");
  SimulatedRandom other_random(2);
  const auto clone = files.clone(other_random);
  clone->crash(Unsynced::lost);
  EXPECT_EQ(as_text(clone->content("/a")), "old");
  EXPECT_FALSE(*clone->exists("/b"));
  EXPECT_EQ(content("/a"), "new");
  write(*file, 0, "newer");
  EXPECT_EQ(as_text(clone->content("/a")), "old");
  EXPECT_TRUE(exists("/b"));
}

// The recipe for crash-point tests, on the one promise replace_file makes: old content or new, never anything else.
TEST_F(SimulatedFileSystemTest, ReplaceFileIsAtomicAtEveryCrashPoint) {
  durable_file("/config", "old");
  const auto before = files.mutations();
  ASSERT_TRUE(replace_file(*files.clone(random), "/", "config", as_bytes("new")).ok());
  uint64_t steps = 0;
  std::set<std::string> outcomes;
  for (bool finished = false; !finished; ++steps) {
    ASSERT_LT(steps, 20U);
    for (int round = 0; round < 30; ++round) {
      const auto disk = files.clone(random);
      disk->die_after(steps);
      const Status status = replace_file(*disk, "/", "config", as_bytes("new"));
      EXPECT_EQ(disk->is_dead(), !status.ok());
      finished = status.ok();
      disk->crash();
      const std::string after(as_text(disk->content("/config")));
      if (status.ok()) EXPECT_EQ(after, "new");
      outcomes.insert(after);
    }
  }
  EXPECT_EQ(steps, 7U) << "create, truncate, write, sync, rename, sync the folder: six ways to die, one to live";
  EXPECT_EQ(outcomes, (std::set<std::string>{"old", "new"}));
  EXPECT_EQ(files.mutations(), before) << "clones count for themselves";
}

TEST_F(SimulatedFileSystemTest, DeadMachineAnswersNothing) {
  auto file = durable_file("/a", "1");
  files.die_after(0);
  EXPECT_EQ(file->sync_data(), ErrorCode::io_error);
  EXPECT_EQ(file->size().error(), ErrorCode::io_error);
  EXPECT_EQ(files.exists("/a").error(), ErrorCode::io_error);
  EXPECT_EQ(files.create_directories("/").code(), ErrorCode::io_error);
  files.crash();
  EXPECT_EQ(content("/a"), "1");
}

TEST_F(SimulatedFileSystemTest, APowerCutMayKeepALaterNameWithoutAnEarlierOne) {
  files.set_reorders_names(true);
  std::set<std::string> outcomes;
  for (int round = 0; round < 100; ++round) {
    files.wipe();
    for (const char* name : {"/a", "/b"}) open(name);
    files.crash();
    outcomes.insert(std::string(exists("/a") ? "a" : "") + (exists("/b") ? "b" : ""));
  }
  EXPECT_EQ(outcomes, (std::set<std::string>{"", "a", "b", "ab"}));
}

TEST_F(SimulatedFileSystemTest, ASnapshotHoldsWhatWasSyncedAndComesBackAsOften) {
  ASSERT_TRUE(files.create_directories("/folder").ok());
  durable_file("/other", "stays");
  auto file = open("/folder/a");
  write(*file, 0, "synced");
  ASSERT_TRUE(file->sync_data().ok());
  ASSERT_TRUE(files.sync_directory("/folder").ok());
  write(*file, 6, " and more");
  open("/folder/b");
  const auto folder = files.snapshot("/folder");
  ASSERT_TRUE(file->sync_data().ok());
  for (int round = 0; round < 2; ++round) {
    files.crash();
    files.restore("/folder", folder);
    EXPECT_EQ(content("/folder/a"), "synced");
    EXPECT_FALSE(exists("/folder/b"));
    write(*open("/folder/a"), 0, "changed");
    EXPECT_EQ(content("/other"), "stays");
  }
  EXPECT_EQ(files.files_below("/folder"), std::vector<std::string>{"/folder/a"});
  files.crash();
  files.restore("/folder", nullptr);
  EXPECT_FALSE(exists("/folder"));
  EXPECT_EQ(files.snapshot("/folder"), nullptr);
}

TEST_F(SimulatedFileSystemTest, TimesOfWritingAreAsDurableAsTheContent) {
  auto file = durable_file("/a", "x");
  ASSERT_TRUE(file->set_modified_ms(1'000).ok());
  ASSERT_TRUE(file->sync_data().ok());
  ASSERT_TRUE(file->set_modified_ms(2'000).ok());
  files.crash(Unsynced::lost);
  EXPECT_EQ(*files.open("/a", OpenMode::read).value()->modified_ms(), 1'000);
}

}  // namespace
}  // namespace naru
