#include "command_line/table.h"

#include <gtest/gtest.h>

namespace naru::command_line {
namespace {

TEST(Table, AlignsColumns) {
  Table table({{"TOPIC"}, {"PARTITIONS", Table::Align::right}, {"HEALTH"}});
  table.add({"orders", "4", "ok"});
  table.add({"\xc3\xa4", "1000", ""});
  EXPECT_EQ(table.render(),
            "TOPIC   PARTITIONS  HEALTH\n"
            "orders           4  ok\n"
            "\xc3\xa4             1000\n");
}

TEST(Table, WithoutRowsThereAreTitles) {
  EXPECT_EQ(Table({{"A"}, {"B"}}).render(), "A  B\n");
}

TEST(Table, CellsCannotBreakOut) {
  Table table({{"A"}});
  table.add({"x\ny\x1b"});
  EXPECT_EQ(table.render(), "A\nx\\x0ay\\x1b\n");
}

}  // namespace
}  // namespace naru::command_line
