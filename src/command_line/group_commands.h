// `naru group ...`. Each command in its own file.
#pragma once

#include "command_line/command_context.h"

namespace naru::command_line {

Task<ExitCode> group_list(CommandContext& context, GroupListFlags flags);
Task<ExitCode> group_describe(CommandContext& context, GroupDescribeFlags flags);
Task<ExitCode> group_reset(CommandContext& context, GroupResetFlags flags);
Task<ExitCode> group_delete(CommandContext& context, GroupDeleteFlags flags);
Task<ExitCode> group_why(CommandContext& context, GroupWhyFlags flags);

}  // namespace naru::command_line
