#include "network/frame_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "foundation/byte_writer.h"
#include "network/line_framing_testing.h"

namespace naru {
namespace {

Bytes framed(std::string_view content) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.write_int<int32_t>(static_cast<int32_t>(content.size()));
  writer.write_bytes(as_bytes(content));
  return bytes;
}

// Feeds the stream in pieces and returns the frames.
std::vector<SharedBytes> read_all(FrameReader& reader, BytesView stream, auto piece_size) {
  std::vector<SharedBytes> frames;
  while (!stream.empty()) {
    const MutableBytesView space = reader.space();
    const size_t bytes = std::min({space.size(), stream.size(), static_cast<size_t>(piece_size())});
    std::ranges::copy(stream.first(bytes), space.begin());
    reader.received(bytes);
    stream = stream.subspan(bytes);
    for (auto next = reader.next(); next.frame; next = reader.next()) {
      frames.push_back(std::move(*next.frame));
      if (piece_size() % 4 == 0) reader.rest();  // also with whole frames left
    }
    if (piece_size() % 2 == 0) reader.rest();
  }
  return frames;
}

TEST(FrameReader, GivesTheSameFramesHoweverTheStreamIsCut) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Bytes stream;
    std::vector<std::string> expected;
    for (int i = 0; i < 30; ++i) {
      const size_t largest = random() % 8 == 0 ? 100'000 : 300;
      expected.emplace_back(random() % largest, static_cast<char>('a' + i % 26));
      append_bytes(stream, framed(expected.back()));
    }
    FrameReader reader(1 << 20);
    const size_t largest_piece = 1 + random() % (seed % 2 == 0 ? 64 : 50'000);
    const auto frames = read_all(reader, stream, [&] { return 1 + random() % largest_piece; });
    ASSERT_EQ(frames.size(), expected.size());
    for (size_t i = 0; i < frames.size(); ++i) ASSERT_EQ(as_text(frames[i].view()), expected[i]) << i;
  }
}

TEST(FrameReader, FindsFramesThatDoNotTellTheirSizeBeforehand) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::string stream;
    std::vector<std::string> expected;
    for (int i = 0; i < 30; ++i) {
      const size_t largest = random() % 8 == 0 ? 100'000 : 300;
      expected.emplace_back(random() % largest, static_cast<char>('a' + i % 26));
      stream += expected.back() + "\n";
    }
    FrameReader reader(1 << 20, std::make_unique<LineFraming>());
    const size_t largest_piece = 1 + random() % (seed % 2 == 0 ? 64 : 50'000);
    const auto frames = read_all(reader, as_bytes(stream), [&] { return 1 + random() % largest_piece; });
    ASSERT_EQ(frames.size(), expected.size());
    for (size_t i = 0; i < frames.size(); ++i) ASSERT_EQ(as_text(frames[i].view()), expected[i]) << i;
  }
}

TEST(FrameReader, RefusesAFrameWithoutAnEndBeforeItIsLargerThanTheLimit) {
  constexpr size_t kLimit = 40'000;
  FrameReader reader(kLimit, std::make_unique<LineFraming>());
  size_t sent = 0;
  while (reader.next().error.ok()) {
    ASSERT_LE(sent, kLimit + FrameReader::kBlockSize);
    const MutableBytesView space = reader.space();
    ASSERT_LE(space.size(), 2 * (sent + FrameReader::kBlockSize)) << "memory grows with what has come";
    const size_t bytes = std::min<size_t>(space.size(), 1'000);
    std::ranges::fill(space.first(bytes), std::byte{'x'});
    reader.received(bytes);
    sent += bytes;
    if (sent > FrameReader::kBlockSize && reader.next().error.ok()) {
      EXPECT_GE(reader.pending_frame_bytes().value_or(0), sent) << "what is held is paid for";
    }
  }
}

TEST(FrameReader, RefusesNegativeAndOversizeLengthsBeforeAnythingIsAllocated) {
  for (const int32_t size : {-1, INT32_MIN, 1001, INT32_MAX}) {
    FrameReader reader(1000);
    Bytes header;
    ByteWriter(header).write_int(size);
    std::ranges::copy(header, reader.space().begin());
    reader.received(header.size());
    EXPECT_EQ(reader.next().error.code(), ErrorCode::malformed_request) << size;
  }
}

TEST(FrameReader, HoldsNoBlockBetweenReadsAndNoneForSmallFrames) {
  FrameReader reader(1 << 20);
  const Bytes bytes = framed("small");
  MutableBytesView space = reader.space();
  const std::byte* const block = space.data();
  std::ranges::copy(bytes, space.begin());
  reader.received(bytes.size());
  const auto frame = reader.next().frame;
  reader.rest();

  FrameReader other(1 << 20);  // of the same thread
  space = other.space();
  EXPECT_EQ(space.data(), block) << "the block was given back";
  std::ranges::fill(space, std::byte{0});
  EXPECT_EQ(as_text(frame->view()), "small");
}

TEST(FrameReader, NeverGivesBackABlockThatALargerFrameStillUses) {
  FrameReader reader(1 << 20);
  const std::string content(FrameReader::kCopiedFrameMax + 1, 'x');
  const auto frames = read_all(reader, framed(content), [] { return 1 << 20; });
  reader.rest();
  FrameReader other(1 << 20);
  std::ranges::fill(other.space(), std::byte{0});
  EXPECT_EQ(as_text(frames.at(0).view()), content);
}

TEST(FrameReader, TellsTheSizeOfAFrameThatHasBegun) {
  FrameReader reader(1 << 20);
  const Bytes bytes = framed(std::string(100'000, 'x'));
  EXPECT_EQ(reader.pending_frame_bytes(), std::nullopt);
  std::ranges::copy(BytesView(bytes).first(10), reader.space().begin());
  reader.received(10);
  EXPECT_FALSE(reader.next().frame);
  EXPECT_EQ(reader.pending_frame_bytes(), sizeof(int32_t) + 100'000u);
  EXPECT_EQ(reader.space().size(), 100'000u - 6) << "exactly the rest of the frame";
}

}  // namespace
}  // namespace naru
