#include "command_line/table.h"

#include <algorithm>

#include "command_line/units.h"
#include "foundation/assert.h"

namespace naru::command_line {
namespace {

constexpr size_t kGap = 2;

// Characters, not bytes: continuation bytes of UTF-8 take no room.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  NARU_ASSERT(cells.size() == columns_.size(), "{} cells for {} columns", cells.size(), columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::widths() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = width_of(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
  }
  return widths;
}

std::string Table::render() const {
  const std::vector<size_t> all_widths = widths();
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string padding(all_widths[i] - width_of(cell), ' ');
      line += columns_[i].align == Align::right ? padding + cell : cell + padding;
      line.append(kGap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) add_line([&](size_t i) -> const std::string& { return row[i]; });
  return text;
}

}  // namespace naru::command_line
