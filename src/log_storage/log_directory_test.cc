#include "log_storage/log_directory.h"

#include <gtest/gtest.h>

#include "log_storage/log_storage_testing.h"

namespace naru {
namespace {

class DataFolder : public testing::Test {
 protected:
  Result<std::unique_ptr<LogDirectory>> open(int node = 1, const std::string& path = "/a/data") {
    return LogDirectory::open(files, path, BrokerId(node), random);
  }
  std::unique_ptr<LogDirectory> must_open() {
    auto opened = open();
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    return opened ? std::move(*opened) : nullptr;
  }
  void write(const std::string& path, std::string_view content) {
    ASSERT_TRUE(files.open(path, OpenMode::create).value()->write_at(0, as_bytes(content)).ok());
  }

  SimulatedRandom random{1};
  SimulatedFileSystem files{random};
};

TEST_F(DataFolder, IsCreatedOnceAndKeepsItsIdentity) {
  auto directory = must_open();
  const DirectoryIdentity identity = directory->identity();
  EXPECT_EQ(identity.node_id, BrokerId(1));
  EXPECT_FALSE(identity.directory_id.is_zero());
  ASSERT_TRUE(directory->bind_cluster(Uuid{5, 6}).ok());
  directory = nullptr;
  files.crash(Unsynced::lost);
  directory = must_open();
  EXPECT_EQ(directory->identity().directory_id, identity.directory_id);
  EXPECT_EQ(directory->identity().cluster_id, (Uuid{5, 6}));
  EXPECT_TRUE(directory->bind_cluster(Uuid{5, 6}).ok());
  EXPECT_EQ(directory->bind_cluster(Uuid{5, 7}), ErrorCode::inconsistent_cluster_id);
}

TEST_F(DataFolder, RemembersTheNewestBrokerEpochAndMissesItsManifest) {
  auto directory = must_open();
  EXPECT_EQ(directory->identity().broker_epoch, -1);
  ASSERT_TRUE(directory->change_list({}).ok());
  ASSERT_TRUE(directory->write_broker_epoch(8'000'000'000).ok());
  files.fail_nth(FileOperation::write, 1);
  EXPECT_FALSE(directory->write_broker_epoch(9'000'000'000).ok());
  EXPECT_EQ(directory->identity().broker_epoch, 8'000'000'000);
  directory = nullptr;
  files.crash(Unsynced::lost);
  EXPECT_EQ(must_open()->identity().broker_epoch, 8'000'000'000);
  ASSERT_TRUE(files.remove_file("/a/data/partition-folders").ok());
  const auto without = open();
  ASSERT_FALSE(without.has_value());
  EXPECT_TRUE(without.error().message().starts_with("/a/data/partition-folders is missing"))
      << without.error().to_string();
}

TEST_F(DataFolder, IsHeldByOneBrokerAtATime) {
  const auto directory = must_open();
  const auto second = open();
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().message(),
            "The data folder /a/data is in use by another running broker. Stop that one, or give this one its own "
            "folder (log.dirs).");
}

TEST_F(DataFolder, OfAnotherNodeIsRefused) {
  must_open();
  EXPECT_EQ(open(2).error().message(),
            "The data folder /a/data belongs to node.id 1, but this broker was started as node.id 2. Start it with "
            "node.id=1, or give it another folder (log.dirs).");
}

TEST_F(DataFolder, ThatIsNotOursIsRefusedAndNotTouched) {
  ASSERT_TRUE(files.create_directories("/a/data").ok());
  for (const char* name : {"meta.properties", "photo.jpg", "x", "y", "lost+found"}) {
    write(fmt::format("/a/data/{}", name), "?");
  }
  const auto refused = open();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), ErrorCode::unsupported_format);
  EXPECT_EQ(
      refused.error().message(),
      "The folder /a/data is not empty and is not a Naru data folder: it holds 'meta.properties', 'photo.jpg', 'x' "
      "and 1 more, but no naru.properties. Give an empty or new folder (log.dirs), or move these files away.");
  EXPECT_EQ(files.list("/a/data")->size(), 5u);
}

TEST_F(DataFolder, OfAFreshFileSystemOrACrashedFirstStartIsTaken) {
  ASSERT_TRUE(files.create_directories("/a/data/lost+found").ok());
  write("/a/data/naru.properties.tmp", "naru.da");
  EXPECT_NE(must_open(), nullptr);
}

TEST_F(DataFolder, OfANewerFormatOrDamagedIsRefused) {
  must_open();
  write("/a/data/naru.properties", "naru.data.format=3\nnode.id=1\n");
  EXPECT_EQ(open().error().message(),
            "The data folder /a/data has data format 3, this Naru reads formats 1 to 2. Start the version of Naru that "
            "wrote it, or a later one; the data has not been touched.");
  files.cut("/a/data/naru.properties", 0);
  EXPECT_EQ(open().error(), ErrorCode::corrupt_data);
}

// What a version that reads format 1 alone does not find, it must not go on without.
TEST_F(DataFolder, OfAnEarlierFormatGetsTheCurrentOneBeforeAnythingElseChanges) {
  const DirectoryIdentity identity = must_open()->identity();
  const std::string first_format = fmt::format(
      "# The identity of this data folder. Do not edit, and do not copy to another folder.\n"
      "naru.data.format=1\nnode.id=1\ndirectory.id={}\n",
      identity.directory_id.to_string());
  for (uint64_t step = 0; step < 100; ++step) {
    SimulatedRandom dice(step);
    SimulatedFileSystem disk(dice);
    ASSERT_TRUE(disk.create_directories("/data").ok());
    ASSERT_TRUE(replace_file(disk, "/data", "naru.properties", as_bytes(first_format)).ok());
    ASSERT_TRUE(replace_file(disk, "/data", "clean-shutdown", as_bytes("1\n")).ok());
    ASSERT_TRUE(disk.sync_directory("/").ok());
    disk.die_after(step);
    const bool finished = LogDirectory::open(disk, "/data", BrokerId(1), dice).has_value();
    disk.crash();
    const bool marked = *disk.exists("/data/clean-shutdown");
    const std::string text(as_text(disk.content("/data/naru.properties")));
    EXPECT_TRUE(marked || text.find("naru.data.format=2\n") != std::string::npos) << text;
    const auto directory = LogDirectory::open(disk, "/data", BrokerId(1), dice);
    ASSERT_TRUE(directory.has_value()) << directory.error().to_string();
    EXPECT_EQ((*directory)->identity(), identity);
    if (finished) return;
  }
  FAIL() << "opening never finished";
}

TEST_F(DataFolder, CleanShutdownIsBelievedOnce) {
  auto directory = must_open();
  EXPECT_FALSE(directory->was_clean_shutdown());
  ASSERT_TRUE(directory->mark_clean_shutdown().ok());
  directory = nullptr;
  files.crash(Unsynced::lost);
  directory = must_open();
  EXPECT_TRUE(directory->was_clean_shutdown());
  directory = nullptr;
  files.crash(Unsynced::lost);
  EXPECT_FALSE(must_open()->was_clean_shutdown());
}

// A rename that fails may have happened all the same, and whoever is told that it failed may use another data folder.
TEST_F(DataFolder, APartitionIsThereIfItsNameIsWhateverTheRenameHasSaid) {
  const auto directory = must_open();
  int made = 0;
  for (int32_t i = 0; i < 20; ++i) {
    files.fail_nth(FileOperation::rename, 1);
    const bool told = directory->create_partition("b", PartitionIndex(i), Uuid{2, 2}).has_value();
    EXPECT_EQ(told, *files.exists(directory->path() + "/b-" + std::to_string(i))) << i;
    made += told ? 1 : 0;
  }
  EXPECT_TRUE(made > 0 && made < 20) << made;
}

TEST_F(DataFolder, PartitionsAreCreatedListedAndDeleted) {
  auto directory = must_open();
  ASSERT_TRUE(directory->create_partition("my-topic.x", PartitionIndex(3), Uuid{1, 1}).has_value());
  ASSERT_TRUE(directory->create_partition("b", PartitionIndex(0), Uuid{2, 2}).has_value());
  EXPECT_EQ(directory->create_partition("b", PartitionIndex(0), Uuid{3, 3}).error(), ErrorCode::already_exists);
  EXPECT_TRUE(directory->create_partition("b", PartitionIndex(0), Uuid{2, 2}).has_value()) << "once more";
  ASSERT_TRUE(directory->sync_names().ok());
  ASSERT_TRUE(files.create_directories("/a/data/__metadata").ok());

  directory = nullptr;
  files.crash(Unsynced::lost);
  directory = must_open();
  const auto partitions = directory->partitions();
  ASSERT_TRUE(partitions.has_value()) << partitions.error().to_string();
  ASSERT_EQ(partitions->size(), 2u);
  EXPECT_EQ((*partitions)[1].topic, "my-topic.x");
  EXPECT_EQ((*partitions)[1].partition, PartitionIndex(3));
  EXPECT_EQ((*partitions)[1].topic_id, (Uuid{1, 1}));

  EXPECT_EQ(directory->begin_deletion("b", PartitionIndex(0), Uuid{1, 1}).error(), ErrorCode::inconsistent_topic_id);
  EXPECT_EQ(directory->begin_deletion("c", PartitionIndex(0), Uuid{1, 1}).error(), ErrorCode::not_found);
  const auto aside = directory->begin_deletion("b", PartitionIndex(0), Uuid{2, 2});
  ASSERT_TRUE(aside.has_value());
  EXPECT_EQ(*aside, "/a/data/b-0.AAAAAAAAAAIAAAAAAAAAAg-delete");
  EXPECT_EQ(directory->partitions()->size(), 1u);
  ASSERT_TRUE(directory->create_partition("b", PartitionIndex(0), Uuid{4, 4}).has_value()) << "the name is free";
  ASSERT_TRUE(directory->finish_deletion(*aside).ok());
  EXPECT_EQ(directory->partitions()->size(), 2u);
}

TEST_F(DataFolder, LongTopicNamesCanBeDeleted) {
  const auto directory = must_open();
  const std::string topic(249, 'x');
  ASSERT_TRUE(directory->create_partition(topic, PartitionIndex(12345), Uuid{1, 1}).has_value());
  const auto aside = directory->begin_deletion(topic, PartitionIndex(12345), Uuid{1, 1});
  ASSERT_TRUE(aside.has_value());
  EXPECT_LE(aside->size() - std::string("/a/data/").size(), 255u);
}

TEST_F(DataFolder, CreationAndDeletionLeaveNothingHalfDoneWhereverTheyCrash) {
  for (uint64_t step = 0;; ++step) {
    SimulatedRandom dice(step);
    SimulatedFileSystem disk(dice);
    bool created = false, deleting = false, finished = false;
    {
      auto directory = LogDirectory::open(disk, "/data", BrokerId(1), dice);
      ASSERT_TRUE(directory.has_value());
      disk.die_after(step);
      created = (*directory)->create_partition("t", PartitionIndex(0), Uuid{1, 1}).has_value() &&
                (*directory)->sync_names().ok();
      if (created) {
        deleting = true;
        const auto aside = (*directory)->begin_deletion("t", PartitionIndex(0), Uuid{1, 1});
        finished = aside && (*directory)->sync_names().ok() && (*directory)->finish_deletion(*aside).ok();
      }
    }
    disk.crash();
    auto directory = LogDirectory::open(disk, "/data", BrokerId(1), dice);
    ASSERT_TRUE(directory.has_value()) << directory.error().to_string();
    const auto partitions = (*directory)->partitions();
    ASSERT_TRUE(partitions.has_value()) << step << ": " << partitions.error().to_string();
    if (created && !deleting) EXPECT_EQ(partitions->size(), 1u);
    if (finished) EXPECT_EQ(partitions->size(), 0u);
    for (const DirectoryEntry& entry : *disk.list("/data")) {
      EXPECT_FALSE(entry.name.ends_with("-new") || entry.name.ends_with("-delete")) << entry.name;
    }
    if (finished) break;
  }
}

TEST(PartitionFolderName, HasOneSpelling) {
  EXPECT_EQ(parse_partition_folder_name("a-b-12"), std::pair(std::string("a-b"), PartitionIndex(12)));
  for (const char* name : {"", "a", "-1", "a-", "a-01", "a--1", "a-+1", "a-1x", "a-99999999999", "__metadata"}) {
    const auto parsed = parse_partition_folder_name(name);
    if (std::string(name) == "a--1") {
      EXPECT_EQ(parsed, std::pair(std::string("a-"), PartitionIndex(1))) << "a topic that ends in a dash";
    } else {
      EXPECT_EQ(parsed, std::nullopt) << name;
    }
  }
}

}  // namespace
}  // namespace naru
