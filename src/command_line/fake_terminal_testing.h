// For tests: a terminal in memory.
#pragma once

#include <algorithm>
#include <string>

#include "command_line/terminal.h"

namespace naru::command_line {

class FakeTerminal final : public Terminal {
 public:
  std::string input, output, error;
  bool output_closed = false;
  bool interactive = false;

  Status write_output(std::string_view text) override {
    if (output_closed) return Status(ErrorCode::io_error, "closed");
    output += text;
    return {};
  }
  void write_error(std::string_view text) override { error += text; }
  bool output_is_closed() override { return output_closed; }

  Result<size_t> read_input(MutableBytesView to) override {
    const size_t count = std::min(to.size(), input.size());
    std::ranges::copy(as_bytes(input).first(count), to.begin());
    input.erase(0, count);
    return count;
  }
  void interrupt_input() override { input.clear(); }
  bool is_interactive(Channel) const override { return interactive; }
};

}  // namespace naru::command_line
