// `naru server`: one broker in this process, until SIGTERM, SIGINT or SIGHUP.
#pragma once

#include <string_view>

#include "command_line/arguments.h"

namespace naru {

// The exit code: 0 after a clean shutdown (also of one that had not started yet), 1 when the broker could not start or
// not stop in order, 2 for wrong flags.
int run_server(const command_line::ServerFlags& flags, const command_line::Environment& environment,
               std::string_view version);

}  // namespace naru
