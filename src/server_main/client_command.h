// Runs a command that talks to a cluster, on a small platform of its own.
#pragma once

#include <string_view>

#include "command_line/arguments.h"

namespace naru {

// The exit code: 0 done, 1 failed, 2 wrong words.
int run_client_command(command_line::Arguments arguments, const command_line::Environment& environment,
                       std::string_view version);

}  // namespace naru
