// The worked example of docs/formats/log.md: these bytes are written today, and must be readable for ever.
#include <gtest/gtest.h>

#include <map>

#include "log_storage/log_storage_testing.h"

namespace naru {
namespace {

std::string hex(BytesView bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

Bytes from_hex(std::string_view text) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

const std::map<std::string, std::string> kExample = {
    {"00000000000000000000.log",
     "0000000000000000000000390000000502ebf1884b00000000000000000000000003e800000000000003e8fffffffffffffffffffffffffff"
     "f00000001"
     "0e00000001026100"
     "0000000000000001000000390000000502364bcf3e0000000000000000000000000bb80000000000000bb8fffffffffffffffffffffffffff"
     "f00000001"
     "0e00000001026200"
     "00000000000000020000003900000005025e1f47b400000000000000000000000007d000000000000007d0fffffffffffffffffffffffffff"
     "f00000001"
     "0e00000001026300"},
    {"00000000000000000000.offset-index", "6e6172752e6964780000000100000008000000020000008a"},
    {"00000000000000000000.time-index", "6e6172752e74697800000001000000100000000000000bb800000001b2feefd2"},
    // "0\n1\n5 0\n"
    {"leader-epoch-checkpoint", "300a310a3520300a"},
};

TestBatch example_batch(WallTimeMs timestamp, std::string value) {
  return {.records = {{timestamp, std::move(value)}}, .epoch = LeaderEpoch(5)};
}

class LogFormat : public testing::Test {
 protected:
  LogFormat() { disk.config = {.segment_bytes = 1 << 20, .index_interval_bytes = 70}; }
  LogOnDisk disk{1};
};

TEST_F(LogFormat, WritesTheBytesOfTheExample) {
  const auto log = disk.must_open();
  ASSERT_TRUE(append(*log, example_batch(1000, "a")).has_value());
  ASSERT_TRUE(append(*log, example_batch(3000, "b")).has_value());
  ASSERT_TRUE(append(*log, example_batch(2000, "c")).has_value());
  ASSERT_TRUE(log->close().ok());
  for (const auto& [name, content] : kExample)
    EXPECT_EQ(hex(disk.files().content(LogOnDisk::path(name))), content) << name;
  EXPECT_EQ(hex(BytesView(disk.files().content(LogOnDisk::path("checkpoint"))).subspan(512, 32)),
            "6e61727500010000000000000000000400000000000000030000000000000000");
  EXPECT_EQ(as_text(disk.files().content(LogOnDisk::path("partition.metadata"))),
            "version: 0\ntopic_id: AAAAAAAAAAcAAAAAAAAACA\n");
}

TEST_F(LogFormat, ReadsTheBytesOfTheExample) {
  for (const auto& [name, content] : kExample) {
    const auto file = disk.files().open(LogOnDisk::path(name), OpenMode::create).value();
    ASSERT_TRUE(file->write_at(0, from_hex(content)).ok());
  }
  const auto opened = disk.open();
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  const auto found = read_all(*opened->log);
  ASSERT_TRUE(found.has_value()) << found.error().to_string();
  ASSERT_EQ(found->size(), 3u);
  EXPECT_TRUE((*found)[1].same_content(example_batch(3000, "b")));
  EXPECT_EQ(opened->log->find_first_at_or_after(1500, Offset(3)).value()->offset, Offset(1));
}

}  // namespace
}  // namespace naru
