#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "command_line/arguments.h"
#include "server_main/client_command.h"
#include "server_main/server_command.h"
#include "server_main/standard_streams.h"

extern char** environ;

namespace {

naru::command_line::Environment environment() {
  naru::command_line::Environment variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace

int main(int argc, char** argv) {
  naru::occupy_standard_streams();
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const auto variables = environment();
  auto arguments = naru::command_line::parse_arguments(words, variables, NARU_VERSION);
  if (!arguments) {
    fmt::print(stdout, "{}", arguments.error().output);
    fmt::print(stderr, "{}", arguments.error().error);
    return arguments.error().code;
  }
  if (const auto* server = std::get_if<naru::command_line::ServerFlags>(&arguments->command))
    return naru::run_server(*server, variables, NARU_VERSION);
  return naru::run_client_command(std::move(*arguments), variables, NARU_VERSION);
}
