#include "server_main/client_command.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "command_line/run_command.h"
#include "platform/real/real_platform.h"
#include "platform/real/system_facts.h"
#include "server_main/real_terminal.h"

namespace naru {
namespace {

using command_line::CommandContext;
using command_line::ExitCode;

constexpr int kKilledByInterrupt = 130;

RealPlatformOptions platform_options(Duration timeout) {
  RealPlatformOptions options{.loops = 1, .workers = 2, .connect_timeout = timeout, .watchdog = {}};
  options.watchdog.threshold = WatchdogOptions::kNever;
  return options;
}

bool wants_colours(const command_line::Terminal& terminal, const command_line::Environment& environment) {
  const auto refused = std::ranges::find(environment, "NO_COLOR", &command_line::KeyValue::first);
  return terminal.is_interactive(command_line::Terminal::Channel::output) &&
         (refused == environment.end() || refused->second.empty());
}

Task<void> run_and_keep(CommandContext& context, command_line::Command command, ExitCode& exit_code) {
  exit_code = co_await command_line::run_command(context, std::move(command));
}

}  // namespace

int run_client_command(command_line::Arguments arguments, const command_line::Environment& environment,
                       std::string_view version) {
  RealTerminal terminal;
  CancelSource interrupted;
  ExitCode exit_code = ExitCode::failed;
  RealPlatform platform(platform_options(arguments.common.timeout));
  CommandContext context{.seams = platform.seams(),
                         .terminal = terminal,
                         .common = std::move(arguments.common),
                         .interrupted = interrupted.token(),
                         .version = std::string(version),
                         .colours = wants_colours(terminal, environment),
                         .system_facts = read_system_facts};
  if (command_line::ends_in_order(arguments.command)) {
    platform.on_termination_signal([&interrupted, seen = false](int) mutable {
      if (std::exchange(seen, true)) ::_exit(kKilledByInterrupt);  // somebody is impatient
      interrupted.cancel();
    });
  }
  platform.run(run_and_keep(context, std::move(arguments.command), exit_code));
  // A script must not take half a file for the whole.
  if (!terminal.output_problem().ok()) exit_code = command_line::fail(context, terminal.output_problem());
  return static_cast<int>(exit_code);
}

}  // namespace naru
