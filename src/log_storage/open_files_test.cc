#include "log_storage/open_files.h"

#include <gtest/gtest.h>

#include "platform/simulated/simulated_world.h"

namespace naru {
namespace {

class OpenFilesTest : public testing::Test {
 protected:
  std::shared_ptr<File> open(const std::string& path) { return *open_files_.open(path, OpenMode::create); }

  SimulatedWorld world_{1};
  SimulatedFileSystem& disk_ = world_.add_node("broker").disk();
  OpenFiles open_files_{disk_, 2};
};

TEST_F(OpenFilesTest, WhatWasUsedLastStaysOpen) {
  const File* first = open("/a").get();
  open("/b");
  EXPECT_EQ(open("/a").get(), first);
  open("/c");
  EXPECT_EQ(open_files_.size(), 2U);
  EXPECT_EQ(open("/a").get(), first);
}

TEST_F(OpenFilesTest, AFileIsClosedWhenAWholeIntervalPassesWithoutItsUse) {
  open("/a");
  open_files_.close_unused();
  EXPECT_EQ(open_files_.size(), 1U);
  open("/b");
  open_files_.close_unused();
  EXPECT_EQ(open_files_.size(), 1U);
  open("/b");
  open_files_.close_unused();
  EXPECT_EQ(open_files_.size(), 1U);
  open_files_.close_unused();
  EXPECT_EQ(open_files_.size(), 0U);
}

TEST_F(OpenFilesTest, AFileThatIsReadStaysOpenForItsReader) {
  const auto reader = open("/a");
  open_files_.close_unused();
  open_files_.close_unused();
  EXPECT_EQ(open_files_.size(), 0U);
  EXPECT_TRUE(reader->size());
}

}  // namespace
}  // namespace naru
