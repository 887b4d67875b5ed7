#include "command_line/line_splitter.h"

#include <gtest/gtest.h>

#include <vector>

namespace naru::command_line {
namespace {

using Lines = std::vector<std::string>;

Lines split(const std::string& text, size_t chunk) {
  LineSplitter splitter(100);
  Lines lines;
  const auto take = [&] {
    while (auto line = splitter.next().value()) lines.emplace_back(*line);
  };
  for (size_t at = 0; at < text.size(); at += chunk) {
    splitter.add(std::string_view(text).substr(at, chunk));
    take();
  }
  splitter.end();
  take();
  EXPECT_EQ(splitter.lines(), lines.size());
  return lines;
}

TEST(LineSplitter, HoweverTheBytesArrive) {
  for (size_t chunk = 1; chunk < 20; ++chunk) {
    EXPECT_EQ(split("one\ntwo\n\nfour", chunk), (Lines{"one", "two", "", "four"})) << chunk;
    EXPECT_EQ(split("one\n", chunk), Lines{"one"}) << chunk;
  }
  EXPECT_EQ(split("", 1), Lines{});
  EXPECT_EQ(split("\n", 1), Lines{""});
}

TEST(LineSplitter, ALineThatNeverEndsIsRefused) {
  LineSplitter splitter(10);
  splitter.add("ok\n" + std::string(11, 'x'));
  EXPECT_EQ(splitter.next().value(), "ok");
  const auto refused = splitter.next();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "line 2 is longer than 10 bytes");
}

}  // namespace
}  // namespace naru::command_line
