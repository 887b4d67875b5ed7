#include "command_line/units.h"

#include <gtest/gtest.h>

namespace naru::command_line {
namespace {

TEST(Units, DurationsAsPeopleWriteThem) {
  EXPECT_EQ(parse_duration("500ms"), Duration(500ms));
  EXPECT_EQ(parse_duration("1.5h"), Duration(90min));
  EXPECT_EQ(parse_duration("2d"), Duration(48h));
  for (const char* wrong : {"", "5", "s", "-1s", "0s", "1e9s", "5 s", "99999d", "nans", "1sec"})
    EXPECT_FALSE(parse_duration(wrong)) << wrong;
}

TEST(Units, SizesAsPeopleWriteThem) {
  EXPECT_EQ(parse_size("100"), 100u);
  EXPECT_EQ(parse_size("1KB"), 1000u);
  EXPECT_EQ(parse_size("64KiB"), 65536u);
  EXPECT_EQ(parse_size("1.5MiB"), 1572864u);
  for (const char* wrong : {"", "x", "-1", "1 KB", "1kb", "99999999999GiB"}) EXPECT_FALSE(parse_size(wrong)) << wrong;
}

TEST(Units, TimesBothWays) {
  EXPECT_EQ(parse_time("1970-01-01"), 0);
  EXPECT_EQ(parse_time("2023-11-14T22:13:20Z"), 1'700'000'000'000);
  EXPECT_EQ(parse_time("2023-11-14T22:13:20.123Z"), 1'700'000'000'123);
  EXPECT_EQ(parse_time("2023-11-14T22:13"), 1'699'999'980'000);
  for (const char* wrong : {"", "today", "2023-02-30", "2023-11-14T25:00", "2023-11-14T22:13:20+01:00", "2023-11-14Z"})
    EXPECT_FALSE(parse_time(wrong)) << wrong;
  EXPECT_EQ(format_time(1'700'000'000'123), "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(format_time(-1), "1969-12-31T23:59:59.999Z");
}

TEST(Units, WhatPeopleRead) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(20u << 20), "20 MiB");
  EXPECT_EQ(format_count(7), "7");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_duration(1500us), "1.5 ms");
  EXPECT_EQ(format_duration(30s), "30 s");
  EXPECT_EQ(format_age(400ms), "0.4 s");
  EXPECT_EQ(format_age(45s), "45 s");
  EXPECT_EQ(format_age(12min + 59s), "12 min");
  EXPECT_EQ(format_age(185min), "3 h 5 min");
  EXPECT_EQ(format_age(52h), "2 d 4 h");
}

TEST(Units, NothingThatABrokerSendsReachesTheTerminalUnchecked) {
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"
                      "e"),
            "gr\xc3\xbc\xc3\x9f"
            "e");
  EXPECT_EQ(printable("\x1b[31mred\n"), "\\x1b[31mred\\x0a");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "a control character of two bytes";
  EXPECT_TRUE(is_utf8("\xe2\x82\xac"));
  for (const char* wrong : {"\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\x80"})
    EXPECT_FALSE(is_utf8(wrong));
}

}  // namespace
}  // namespace naru::command_line
