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
