#include "network/output_buffer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace naru {
namespace {

// Takes everything, and notes in which pieces.
class NotingStream final : public Stream {
 public:
  std::vector<std::string> pieces;

  IoResult write_some(std::span<const BytesView> parts, bool more_follows) override {
    size_t bytes = 0;
    for (const BytesView part : parts) bytes += part.size();
    pieces.push_back(fmt::format("{} bytes{}", bytes, more_follows ? " and more" : ""));
    return {.kind = IoResult::Kind::progress, .bytes = bytes};
  }
  IoResult send_file(const File&, uint64_t position, size_t length) override {
    pieces.push_back(fmt::format("{} of the file from {}", length, position));
    return {.kind = IoResult::Kind::progress, .bytes = length};
  }

  IoResult read_some(MutableBytesView) override { return {}; }
  void start(StreamObserver*) override {}
  void want_readable(bool) override {}
  void want_writable() override {}
  void close() override {}
  void run_on_loop(UniqueFunction<void()> work) override { work(); }
  const Endpoint& peer() const override { return nobody_; }
  const Endpoint& local() const override { return nobody_; }

 private:
  Endpoint nobody_;
};

class NoFile final : public File {
 public:
  const std::string& path() const override { return path_; }
  Result<size_t> read_at(uint64_t, MutableBytesView) const override { return 0; }
  Status write_at(uint64_t, std::span<const BytesView>) override { return Status(); }
  Result<uint64_t> size() const override { return 0; }
  Status truncate(uint64_t) override { return Status(); }
  Result<WallTimeMs> modified_ms() const override { return 0; }
  Status set_modified_ms(WallTimeMs) override { return Status(); }
  Status sync_data() override { return Status(); }
  bool is_cached(uint64_t, uint64_t) const override { return true; }
  void warm(uint64_t, uint64_t) const override {}
  int descriptor() const override { return -1; }

 private:
  std::string path_;
};

Response bytes_only(size_t bytes) {
  return Response(Bytes(bytes));
}

TEST(OutputBuffer, SendsBytesBeforeAFileAsTheBeginOfMoreAndTheLastOnesAtOnce) {
  OutputBuffer output;
  NotingStream stream;
  Response response = bytes_only(60);
  response.chunks.emplace_back(FileRange{.file = std::make_shared<NoFile>(), .position = 7, .length = 1000});
  response.chunks.emplace_back(Bytes(3));
  output.push(std::move(response));
  EXPECT_EQ(output.drain_into(stream).kind, IoResult::Kind::progress);
  EXPECT_TRUE(output.empty());
  EXPECT_EQ(stream.pieces, (std::vector<std::string>{"60 bytes and more", "1000 of the file from 7", "3 bytes"}));
}

TEST(OutputBuffer, SendsSeveralAnswersWithoutFilesInOneWriteThatNothingFollows) {
  OutputBuffer output;
  NotingStream stream;
  output.push(bytes_only(10));
  output.push(bytes_only(20));
  EXPECT_EQ(output.drain_into(stream).kind, IoResult::Kind::progress);
  EXPECT_EQ(stream.pieces, std::vector<std::string>{"30 bytes"});
}

}  // namespace
}  // namespace naru
