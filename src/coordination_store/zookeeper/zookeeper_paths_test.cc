#include "coordination_store/zookeeper/zookeeper_paths.h"

#include <gtest/gtest.h>

namespace naru {
namespace {

TEST(ZooKeeperPaths, ValuesAndFoldersAreDifferentNodes) {
  const ZooKeeperPaths paths("/naru");
  EXPECT_EQ(paths.value_node("topics"), "/naru/topics=");
  EXPECT_EQ(paths.value_node("topics/a/deep"), "/naru/topics:/a:/deep=");
  EXPECT_EQ(paths.folder_node(""), "/naru");
  EXPECT_EQ(paths.folder_node("topics/a/"), "/naru/topics:/a:");
}

TEST(ZooKeeperPaths, EveryNodeTellsItsKeyOrFolder) {
  const ZooKeeperPaths paths("/some/root");
  for (const char* key : {"a", "a/b", "a=/b:", "=", ":", "../.", "zookeeper", "a/=/:"}) {
    EXPECT_EQ(paths.subject_of(paths.value_node(key)), key);
  }
  for (const char* folder : {"", "a/", "a/b/", "a=/b:/", ":/", "=/"}) {
    EXPECT_EQ(paths.subject_of(paths.folder_node(folder)), folder);
  }
}

TEST(ZooKeeperPaths, NodesOfOthersHaveNoKey) {
  const ZooKeeperPaths paths("/naru");
  for (const char* node : {"/other/a=", "/naru2/a=", "/naru/a", "/naru/a=/b=", "/naru/=", "/naru/", "/naru//a="}) {
    EXPECT_EQ(paths.subject_of(node), std::nullopt) << node;
  }
}

TEST(ZooKeeperPaths, FoldersAndRootsAreNamedOutermostFirst) {
  EXPECT_EQ(ZooKeeperPaths::folders_of("a/b/c"), (std::vector<std::string>{"a/", "a/b/"}));
  EXPECT_TRUE(ZooKeeperPaths::folders_of("a").empty());
  EXPECT_EQ(ZooKeeperPaths("/a/b/c").root_nodes(), (std::vector<std::string>{"/a", "/a/b", "/a/b/c"}));
}

}  // namespace
}  // namespace naru
