#include "log_storage/partition_manifest.h"

#include <gtest/gtest.h>

#include "log_storage/log_storage_testing.h"

namespace naru {
namespace {

class Manifest : public testing::Test {
 protected:
  Manifest() { EXPECT_TRUE(files.create_directories("/data").ok() && files.sync_directory("/").ok()); }
  PartitionManifest open() {
    auto opened = PartitionManifest::open(files, "/data");
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    return std::move(*opened);
  }
  void write(const std::string& path, std::string_view content) {
    const auto file = files.open(path, OpenMode::create).value();
    ASSERT_TRUE(file->truncate(0).ok() && file->write_at(0, as_bytes(content)).ok());
  }
  static LogId log(uint64_t topic, int partition) { return {{1, topic}, PartitionIndex(partition)}; }

  SimulatedRandom random{1};
  SimulatedFileSystem files{random};
};

TEST_F(Manifest, KeepsWhatIsListedAcrossAPowerCut) {
  PartitionManifest manifest = open();
  EXPECT_FALSE(manifest.exists());
  ASSERT_TRUE(manifest.change({}).ok());
  ASSERT_TRUE(manifest.change({{log(1, 0), "orders"}, {log(1, 12), "orders"}, {log(2, 0), "a.b_c-d"}}).ok());
  ASSERT_TRUE(manifest.change({}, {log(1, 0)}).ok());
  files.crash(Unsynced::lost);
  manifest = open();
  EXPECT_TRUE(manifest.exists());
  EXPECT_EQ(manifest.listed(), (ListedPartitions{{log(1, 12), "orders"}, {log(2, 0), "a.b_c-d"}}));
}

// The bytes of version 1, which later versions have to read.
TEST_F(Manifest, IsTextThatAnOperatorCanEdit) {
  ASSERT_TRUE(open().change({{log(1, 7), "orders"}}).ok());
  const std::string text(as_text(files.content("/data/partition-folders")));
  EXPECT_TRUE(text.starts_with("version: 1\n# "));
  EXPECT_TRUE(text.ends_with("\nAAAAAAAAAAEAAAAAAAAAAQ 7 orders\n")) << text;
  write("/data/partition-folders", "version: 1\n# a remark\nAAAAAAAAAAEAAAAAAAAAAQ 9 orders\n");
  EXPECT_EQ(open().listed(), (ListedPartitions{{log(1, 9), "orders"}}));
}

TEST_F(Manifest, ThatIsDamagedOrNewerIsRefused) {
  for (const std::string_view text :
       {"", "version: 1\nnonsense\n", "version: 1\nAAAAAAAAAAEAAAAAAAAAAQ 7 t", "AAAAAAAAAAEAAAAAAAAAAQ 7 orders\n",
        "version: 1\nAAAAAAAAAAEAAAAAAAAAAQ -7 t\n"}) {
    files.wipe();
    ASSERT_TRUE(files.create_directories("/data").ok());
    write("/data/partition-folders", text);
    const auto opened = PartitionManifest::open(files, "/data");
    ASSERT_FALSE(opened.has_value()) << text;
    EXPECT_EQ(opened.error().code(), ErrorCode::corrupt_data);
  }
  write("/data/partition-folders", "version: 2\n0123456789012345678901234567890123456789");
  EXPECT_EQ(PartitionManifest::open(files, "/data").error().code(), ErrorCode::unsupported_format);
}

TEST_F(Manifest, ThatCouldNotBeWrittenIsWrittenWholeTheNextTime) {
  PartitionManifest manifest = open();
  ASSERT_TRUE(manifest.change({{log(1, 0), "orders"}}).ok());
  files.fail_nth(FileOperation::sync_directory, 1);
  ASSERT_FALSE(manifest.change({{log(1, 1), "orders"}}).ok());
  ASSERT_TRUE(manifest.change({}, {log(1, 1)}).ok()) << "it may be on the disk";
  EXPECT_EQ(open().listed(), (ListedPartitions{{log(1, 0), "orders"}}));
}

TEST_F(Manifest, KnowsHowFarLogsWereDurableAsLongAsTheyAreListed) {
  PartitionManifest manifest = open();
  ASSERT_TRUE(manifest.change({{log(1, 0), "orders"}, {log(1, 1), "orders"}}).ok());
  ASSERT_TRUE(manifest.note_ends({{log(1, 0), {2, Offset(70)}}, {log(1, 1), {0, Offset(5)}}, {log(9, 0), {}}}).ok());
  files.crash(Unsynced::lost);
  manifest = open();
  EXPECT_EQ(manifest.ends(), (DurableEnds{{log(1, 0), {2, Offset(70)}}, {log(1, 1), {0, Offset(5)}}}));
  ASSERT_TRUE(manifest.change({}, {log(1, 0)}).ok());
  EXPECT_EQ(open().ends(), (DurableEnds{{log(1, 1), {0, Offset(5)}}}));
  // An operator takes a partition out, and it is made again: it need not be what it was.
  write("/data/partition-folders", "version: 1\n");
  manifest = open();
  EXPECT_TRUE(manifest.ends().empty());
  ASSERT_TRUE(manifest.change({{log(1, 1), "orders"}}).ok());
  EXPECT_TRUE(open().ends().empty());
}

TEST_F(Manifest, WithoutEndsThatCanBeReadKnowsLess) {
  PartitionManifest manifest = open();
  ASSERT_TRUE(manifest.change({{log(1, 0), "orders"}}).ok());
  ASSERT_TRUE(manifest.note_ends({{log(1, 0), {2, Offset(70)}}}).ok());
  files.flip_bit("/data/durable-ends", 30, 3);
  EXPECT_TRUE(open().ends().empty());
}

TEST(DurableEnd, IsBrokenByAnEarlierEndOrFewerTruncations) {
  const DurableEnd before{.truncations = 3, .end = Offset(100)};
  EXPECT_FALSE(is_shorter({3, Offset(100)}, before));
  EXPECT_FALSE(is_shorter({3, Offset(101)}, before));
  EXPECT_FALSE(is_shorter({4, Offset(0)}, before)) << "truncated since";
  EXPECT_TRUE(is_shorter({3, Offset(99)}, before));
  EXPECT_TRUE(is_shorter({2, Offset(500)}, before)) << "from before a truncation";
}

}  // namespace
}  // namespace naru
