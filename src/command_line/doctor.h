// `naru doctor`: connects as a client would, looks at this machine, and says what to do about what it finds.
#pragma once

#include "command_line/command_context.h"

namespace naru::command_line {

// failed if any check fails; warnings do not count.
Task<ExitCode> doctor(CommandContext& context, DoctorFlags flags);

}  // namespace naru::command_line
