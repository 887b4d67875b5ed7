// `naru consume`: the records of a topic to standard output.
#pragma once

#include "command_line/command_context.h"

namespace naru::command_line {

Task<ExitCode> consume(CommandContext& context, ConsumeFlags flags);

}  // namespace naru::command_line
