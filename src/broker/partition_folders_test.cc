#include "broker/partition_folders.h"

#include <gtest/gtest.h>

#include "platform/simulated/simulated_world.h"

namespace naru {
namespace {

class Folders : public testing::Test {
 protected:
  Folders() {
    for (const char* path : {"/a", "/b"}) {
      directories.push_back(LogDirectory::open(node.disk(), path, BrokerId(1), process->seams().random).value());
    }
  }
  static PartitionIdentity identity(Uuid topic_id, int index) { return {"t", topic_id, PartitionIndex(index)}; }

  SimulatedWorld world{1};
  SimulatedNode& node = world.add_node("broker");
  std::unique_ptr<SimulatedProcess> process = node.start();
  MetricsRegistry registry;
  FolderJournals journals{process->seams(), {{"/a"}, {"/b"}}, JournalSettings{.enabled = false}, registry};
  std::vector<std::unique_ptr<LogDirectory>> directories;
  PartitionFolders folders{directories, journals};
};

TEST_F(Folders, WhoseNamesCouldNotBeMadeDurableAreKnownAndCanBeDeleted) {
  const Uuid first{1, 1};
  const Uuid second{2, 2};
  ASSERT_TRUE(folders.create(identity(first, 0)).ok());
  node.disk().fail_nth(FileOperation::sync_directory, 1);
  EXPECT_FALSE(folders.sync_names().ok());
  const auto found = folders.find(first, PartitionIndex(0));
  ASSERT_TRUE(found.has_value()) << "else another attempt might choose another data folder";
  EXPECT_FALSE(found->durable);

  const DeletedTopic topic{.id = first, .name = "t", .partition_count = 1};
  ASSERT_TRUE(folders.rename_for_deletion(topic, PartitionIndex(0)).ok());
  ASSERT_TRUE(folders.sync_names().ok());
  ASSERT_TRUE(folders.remove(topic, PartitionIndex(0)).ok());
  EXPECT_FALSE(folders.find(first, PartitionIndex(0)).has_value());
  const Status again = folders.create(identity(second, 0));
  EXPECT_TRUE(again.ok()) << again.to_string();
}

TEST_F(Folders, ThatAreListedAndNotThereAreMissing) {
  const Uuid topic{1, 1};
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(folders.create(identity(topic, i)).ok());
  EXPECT_TRUE(directories[0]->listed().empty()) << "the name comes first";
  ASSERT_TRUE(folders.sync_names().ok());
  EXPECT_EQ(directories[0]->listed().size(), 2u);
  ASSERT_TRUE(remove_recursively(node.disk(), "/a/t-0").ok());
  // Moved by hand, which is allowed.
  ASSERT_TRUE(remove_recursively(node.disk(), "/b/t-1").ok());
  ASSERT_TRUE(directories[0]->create_partition("t", PartitionIndex(1), topic).has_value());
  PartitionFolders again(directories, journals);
  ASSERT_TRUE(again.list().ok());
  EXPECT_EQ(again.missing(),
            (std::map<PartitionFolders::PartitionKey, std::string>{{{topic, PartitionIndex(0)}, "/a/t-0"}}));
  EXPECT_EQ(directories[0]->listed().size(), 3u);
  EXPECT_EQ(directories[1]->listed().size(), 1u);
  ASSERT_TRUE(again.forget_missing(topic, PartitionIndex(0)).ok());
  EXPECT_FALSE(again.missing_path(topic, PartitionIndex(0)).has_value());
  EXPECT_EQ(directories[0]->listed().size(), 2u);
  ASSERT_TRUE(again.unlist({.id = topic, .name = "t", .partition_count = 4}).ok());
  EXPECT_TRUE(directories[0]->listed().empty() && directories[1]->listed().empty());
}

// A data folder of a version without manifest, and a crash before a new folder was listed.
TEST_F(Folders, ThatAreThereAndNotListedAreListed) {
  ASSERT_TRUE(directories[1]->create_partition("t", PartitionIndex(5), {1, 1}).has_value());
  ASSERT_TRUE(folders.list().ok());
  EXPECT_TRUE(folders.missing().empty());
  EXPECT_EQ(directories[1]->listed(), (ListedPartitions{{{{1, 1}, PartitionIndex(5)}, "t"}}));
}

TEST_F(Folders, AreUsedOnceTheirNamesAreDurable) {
  const Uuid topic{1, 1};
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(folders.create(identity(topic, i)).ok());
  ASSERT_TRUE(folders.sync_names().ok());
  std::map<std::string, int> counts;
  for (int i = 0; i < 4; ++i) {
    folders.made_durable(identity(topic, i));
    const auto found = folders.find(topic, PartitionIndex(i));
    EXPECT_TRUE(found->durable);
    ++counts[found->directory->path()];
  }
  EXPECT_EQ(counts, (std::map<std::string, int>{{"/a", 2}, {"/b", 2}}));
}

}  // namespace
}  // namespace naru
