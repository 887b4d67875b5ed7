// Standard input, output and error of this process.
#pragma once

#include <atomic>

#include "command_line/terminal.h"
#include "platform/real/unique_descriptor.h"

namespace naru {

class RealTerminal final : public command_line::Terminal {
 public:
  RealTerminal();

  Status write_output(std::string_view text) override;
  void write_error(std::string_view text) override;
  bool output_is_closed() override;
  // Why output got lost although somebody wanted it: a full disk, say. Not that a pipe was closed.
  const Status& output_problem() const { return output_problem_; }
  Result<size_t> read_input(MutableBytesView to) override;
  void interrupt_input() override;
  bool is_interactive(Channel channel) const override;

 private:
  Status output_problem_;
  UniqueDescriptor wake_up_;  // readable from interrupt_input() on
};

}  // namespace naru
