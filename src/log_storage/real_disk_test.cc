// The same log on the operating system's file system.
#include <gtest/gtest.h>

#include "log_storage/log_directory.h"
#include "log_storage/log_storage_testing.h"
#include "platform/real/posix_file_system.h"

namespace naru {
namespace {

TEST(LogOnARealDisk, LivesThroughCleanAndUncleanRestarts) {
  PosixFileSystem files;
  SimulatedRandom random(1);
  const std::string root = testing::TempDir() + "/naru_log_on_a_real_disk";
  if (files.exists(root).value()) ASSERT_TRUE(remove_recursively(files, root).ok());
  std::vector<TestBatch> batches;
  for (const bool clean : {false, false, true}) {
    auto directory = LogDirectory::open(files, root, BrokerId(1), random);
    ASSERT_TRUE(directory.has_value()) << directory.error().to_string();
    if (batches.empty()) {
      ASSERT_TRUE((*directory)->create_partition("t", PartitionIndex(0), kTestTopic).has_value());
    }
    EXPECT_EQ((*directory)->was_clean_shutdown(), clean);
    const auto partitions = (*directory)->partitions();
    ASSERT_TRUE(partitions.has_value() && partitions->size() == 1);
    OpenFiles open_files(files, 8);
    const auto opened = PartitionLog::open(files, open_files, partitions->front().path, LogOnDisk::small_segments(),
                                           {.topic_id = kTestTopic, .clean_shutdown = clean, .now = 0});
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    const auto found = read_all(*opened->log);
    ASSERT_TRUE(found.has_value()) << found.error().to_string();
    EXPECT_EQ(found->size(), batches.size());
    EXPECT_TRUE(is_prefix(*found, batches));
    for (int i = 0; i < 20; ++i) {
      batches.push_back(numbered_batch(static_cast<int>(batches.size())));
      ASSERT_TRUE(append(*opened->log, batches.back()).has_value());
    }
    if (batches.size() == 40) {
      ASSERT_TRUE(opened->log->close().ok());
      ASSERT_TRUE((*directory)->mark_clean_shutdown().ok());
    }
  }
  ASSERT_TRUE(remove_recursively(files, root).ok());
}

}  // namespace
}  // namespace naru
