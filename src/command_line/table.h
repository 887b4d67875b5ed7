// Aligned columns for a terminal.
#pragma once

#include <string>
#include <vector>

namespace naru::command_line {

class Table {
 public:
  enum class Align : uint8_t { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns. Cells may come from a broker: they are made printable.
  void add(std::vector<std::string> cells);

  // A line of titles and one per row, without blanks at the ends.
  std::string render() const;

 private:
  std::vector<size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace naru::command_line
