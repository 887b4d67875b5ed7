// `naru cluster status`.
#pragma once

#include "command_line/command_context.h"

namespace naru::command_line {

Task<ExitCode> cluster_status(CommandContext& context, ClusterStatusFlags flags);

}  // namespace naru::command_line
