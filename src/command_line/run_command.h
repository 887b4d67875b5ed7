// From parsed arguments to the command. Everything but `naru server`, which is not a client.
#pragma once

#include "command_line/command_context.h"

namespace naru::command_line {

Task<ExitCode> run_command(CommandContext& context, Command command);

// Whether Ctrl-C is an ordinary end of the command, which finishes what it began; the others just die.
bool ends_in_order(const Command& command);

}  // namespace naru::command_line
