// The contract of FileSystem, on the real one (in a temporary folder) and on the simulated one.
#include "platform/file_system.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>
#include <string>

#include "platform/real/posix_file_system.h"
#include "platform/simulated/simulated_file_system.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

class Disk {
 public:
  virtual ~Disk() = default;
  virtual FileSystem& files() = 0;
  virtual std::string root() = 0;
};

class RealDisk final : public Disk {
 public:
  RealDisk() {
    std::string pattern = testing::TempDir() + "/naru_file_system_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  ~RealDisk() override { EXPECT_TRUE(remove_recursively(files_, root_).ok()); }
  FileSystem& files() override { return files_; }
  std::string root() override { return root_; }

 private:
  PosixFileSystem files_;
  std::string root_;
};

class PretendedDisk final : public Disk {
 public:
  PretendedDisk() { EXPECT_TRUE(files_.create_directories("/data").ok()); }
  FileSystem& files() override { return files_; }
  std::string root() override { return "/data"; }

 private:
  SimulatedRandom random_{1};
  SimulatedFileSystem files_{random_};
};

class FileSystemContract : public testing::TestWithParam<const char*> {
 protected:
  FileSystemContract() {
    if (std::string(GetParam()) == "real") {
      disk_ = std::make_unique<RealDisk>();
    } else {
      disk_ = std::make_unique<PretendedDisk>();
    }
  }

  FileSystem& files() { return disk_->files(); }
  std::string path(const std::string& name) { return disk_->root() + "/" + name; }
  std::shared_ptr<File> create(const std::string& name) { return *files().open(path(name), OpenMode::create); }
  std::string read(const File& file, uint64_t position, size_t length) {
    Bytes bytes(length);
    const auto got = file.read_at(position, bytes);
    EXPECT_TRUE(got.has_value());
    return std::string(as_text(BytesView(bytes).first(*got)));
  }

 private:
  std::unique_ptr<Disk> disk_;
};

INSTANTIATE_TEST_SUITE_P(, FileSystemContract, testing::Values("real", "simulated"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(FileSystemContract, ReadsWhatWasWritten) {
  const auto file = create("a");
  ASSERT_TRUE(file->write_at(0, as_bytes("hello world")).ok());
  EXPECT_EQ(read(*file, 6, 5), "world");
  EXPECT_EQ(*file->size(), 11U);
  ASSERT_TRUE(file->sync_data().ok());
  EXPECT_EQ(file->path(), path("a"));
}

TEST_P(FileSystemContract, WritesManyPartsOneBehindTheOther) {
  const auto file = create("a");
  std::string expected;
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) texts.push_back(i % 7 == 0 ? "" : std::to_string(i) + ",");
  std::vector<BytesView> parts;
  for (const std::string& text : texts) {
    parts.push_back(as_bytes(text));
    expected += text;
  }
  ASSERT_TRUE(file->write_at(3, parts).ok());
  EXPECT_EQ(read(*file, 3, 10'000), expected);
  EXPECT_EQ(read(*file, 0, 3), std::string(3, '\0')) << "a hole reads as zeros";
}

TEST_P(FileSystemContract, ShortReadMeansEndOfFile) {
  const auto file = create("a");
  ASSERT_TRUE(file->write_at(0, as_bytes("abc")).ok());
  EXPECT_EQ(read(*file, 1, 100), "bc");
  EXPECT_EQ(read(*file, 3, 100), "");
  EXPECT_EQ(read(*file, 1000, 100), "");
}

TEST_P(FileSystemContract, TruncatesAndGrowsWithZeros) {
  const auto file = create("a");
  ASSERT_TRUE(file->write_at(0, as_bytes("abcdef")).ok());
  ASSERT_TRUE(file->truncate(2).ok());
  ASSERT_TRUE(file->truncate(5).ok());
  EXPECT_EQ(read(*file, 0, 10), std::string("ab\0\0\0", 5));
}

TEST_P(FileSystemContract, RemembersWhenAFileWasWrittenTo) {
  const auto file = create("a");
  ASSERT_TRUE(file->write_at(0, as_bytes("abc")).ok());
  const WallTimeMs written = *file->modified_ms();
  for (const WallTimeMs time : {WallTimeMs{1'234'567}, WallTimeMs{0}, WallTimeMs{-1}, WallTimeMs{-2'500}}) {
    ASSERT_TRUE(file->set_modified_ms(time).ok());
    EXPECT_EQ(*file->modified_ms(), time);
    EXPECT_EQ(*files().open(path("a"), OpenMode::read).value()->modified_ms(), time);
  }
  ASSERT_TRUE(file->write_at(0, as_bytes("x")).ok());
  EXPECT_GE(*file->modified_ms(), written);
  ASSERT_TRUE(file->set_modified_ms(1'000).ok());
  ASSERT_TRUE(files().rename(path("a"), path("b")).ok());
  EXPECT_EQ(*file->modified_ms(), 1'000) << "a new name is not a write";
}

TEST_P(FileSystemContract, OpenModesDifferInWhatTheyExpectAndAllow) {
  EXPECT_EQ(files().open(path("a"), OpenMode::read).error(), ErrorCode::not_found);
  EXPECT_EQ(files().open(path("a"), OpenMode::write).error(), ErrorCode::not_found);
  EXPECT_EQ(files().open(path("missing/a"), OpenMode::create).error(), ErrorCode::not_found);
  ASSERT_TRUE(files().open(path("a"), OpenMode::create_new).has_value());
  EXPECT_EQ(files().open(path("a"), OpenMode::create_new).error(), ErrorCode::already_exists);
  ASSERT_TRUE((*files().open(path("a"), OpenMode::create))->write_at(0, as_bytes("kept")).ok());
  const auto reader = files().open(path("a"), OpenMode::read);
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ((*reader)->write_at(0, as_bytes("no")), ErrorCode::io_error);
  EXPECT_EQ(read(**reader, 0, 10), "kept");
  EXPECT_EQ(files().open(path(""), OpenMode::read).error(), ErrorCode::io_error) << "a folder is not a file";
}

TEST_P(FileSystemContract, ListsByName) {
  create("b");
  create("c");
  ASSERT_TRUE(files().create_directories(path("a/deep/down")).ok());
  const std::vector<DirectoryEntry> expected = {{"a", true}, {"b", false}, {"c", false}};
  EXPECT_EQ(*files().list(path("")), expected);
  EXPECT_EQ(files().list(path("x")).error(), ErrorCode::not_found);
  EXPECT_EQ(files().list(path("b")).error(), ErrorCode::io_error);
  EXPECT_TRUE(*files().exists(path("a/deep")));
  EXPECT_FALSE(*files().exists(path("a/shallow")));
}

TEST_P(FileSystemContract, CreatingFoldersTwiceIsFineUnlessAFileIsInTheWay) {
  EXPECT_TRUE(files().create_directories(path("a/b")).ok());
  EXPECT_TRUE(files().create_directories(path("a/b")).ok());
  create("a/b/file");
  EXPECT_EQ(files().create_directories(path("a/b/file")), ErrorCode::already_exists);
}

TEST_P(FileSystemContract, RenameReplacesAndOpenFilesFollow) {
  const auto source = create("new");
  ASSERT_TRUE(source->write_at(0, as_bytes("new")).ok());
  const auto replaced = create("old");
  ASSERT_TRUE(replaced->write_at(0, as_bytes("old")).ok());
  ASSERT_TRUE(files().rename(path("new"), path("old")).ok());
  EXPECT_EQ(as_text(*read_whole_file(files(), path("old"))), "new");
  EXPECT_FALSE(*files().exists(path("new")));
  EXPECT_EQ(read(*replaced, 0, 10), "old") << "still readable by those who had it open";
  ASSERT_TRUE(source->write_at(3, as_bytes("er")).ok());
  EXPECT_EQ(as_text(*read_whole_file(files(), path("old"))), "newer");
  EXPECT_EQ(files().rename(path("missing"), path("x")), ErrorCode::not_found);
}

TEST_P(FileSystemContract, RenamesFoldersWithTheirContent) {
  ASSERT_TRUE(files().create_directories(path("before")).ok());
  const auto file = create("before/f");
  ASSERT_TRUE(files().rename(path("before"), path("after")).ok());
  ASSERT_TRUE(file->write_at(0, as_bytes("x")).ok());
  EXPECT_EQ(as_text(*read_whole_file(files(), path("after/f"))), "x");
}

TEST_P(FileSystemContract, RemovesFilesAndEmptyFolders) {
  ASSERT_TRUE(files().create_directories(path("a")).ok());
  const auto file = create("a/f");
  EXPECT_EQ(files().remove_directory(path("a")), ErrorCode::io_error) << "not empty";
  EXPECT_EQ(files().remove_file(path("a")), ErrorCode::io_error) << "not a file";
  ASSERT_TRUE(files().remove_file(path("a/f")).ok());
  EXPECT_EQ(files().remove_file(path("a/f")), ErrorCode::not_found);
  ASSERT_TRUE(file->write_at(0, as_bytes("x")).ok()) << "an open file outlives its name";
  EXPECT_TRUE(files().remove_directory(path("a")).ok());
  EXPECT_EQ(files().remove_directory(path("a")), ErrorCode::not_found);
}

TEST_P(FileSystemContract, SyncsFolders) {
  EXPECT_TRUE(files().sync_directory(path("")).ok());
  EXPECT_EQ(files().sync_directory(path("missing")), ErrorCode::not_found);
}

TEST_P(FileSystemContract, LocksAFolderOnce) {
  auto lock = files().lock_directory(path(""));
  ASSERT_TRUE(lock.has_value());
  EXPECT_EQ(files().lock_directory(path("")).error(), ErrorCode::already_exists);
  lock->reset();
  EXPECT_TRUE(files().lock_directory(path("")).has_value());
  EXPECT_EQ(files().lock_directory(path("missing")).error(), ErrorCode::not_found);
}

TEST_P(FileSystemContract, TellsFreeSpace) {
  const auto space = files().space(path(""));
  ASSERT_TRUE(space.has_value());
  EXPECT_GT(space->total_bytes, 0U);
  EXPECT_LE(space->free_bytes, space->total_bytes);
}

TEST_P(FileSystemContract, WarmRangesCountAsCached) {
  const auto file = create("a");
  ASSERT_TRUE(file->write_at(0, as_bytes(std::string(300'000, 'x'))).ok());
  file->warm(0, 300'000);
  if (std::string(GetParam()) == "simulated") EXPECT_TRUE(file->is_cached(0, 300'000));
  file->warm(0, uint64_t{1} << 60);  // ends with the file
  EXPECT_EQ(file->is_cached(1, 0), true);
}

TEST_P(FileSystemContract, ReplacesFilesAndRefusesOnesLargerThanExpected) {
  for (const std::string_view content : {"first", "2", ""}) {
    ASSERT_TRUE(replace_file(files(), path(""), "config", as_bytes(content)).ok());
    EXPECT_EQ(as_text(*read_whole_file(files(), path("config"))), content);
  }
  ASSERT_TRUE(replace_file(files(), path(""), "config", as_bytes("12345")).ok());
  EXPECT_EQ(read_whole_file(files(), path("config"), 4).error(), ErrorCode::corrupt_data);
  EXPECT_EQ(files().list(path(""))->size(), 1U) << "nothing is left aside";
}

TEST_P(FileSystemContract, RemovesRecursively) {
  ASSERT_TRUE(files().create_directories(path("a/b/c")).ok());
  create("a/f");
  create("a/b/g");
  EXPECT_TRUE(remove_recursively(files(), path("a")).ok());
  EXPECT_FALSE(*files().exists(path("a")));
}

}  // namespace
}  // namespace naru
