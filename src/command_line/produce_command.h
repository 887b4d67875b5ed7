// `naru produce`: lines or generated records to a topic.
#pragma once

#include "command_line/command_context.h"

namespace naru::command_line {

Task<ExitCode> produce(CommandContext& context, ProduceFlags flags);

}  // namespace naru::command_line
