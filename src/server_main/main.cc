#include <CLI/CLI.hpp>

#include "server_main/server_command.h"

extern char** environ;

namespace {

std::vector<std::pair<std::string, std::string>> environment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Naru: a durable, ordered log that Kafka clients use as a Kafka."};
  app.set_version_flag("--version", "naru " NARU_VERSION);
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help for every command");

  naru::ServerFlags flags;
  const auto last_wins = [](CLI::Option* option) { option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast); };
  CLI::App* server = app.add_subcommand("server", "Run a broker until SIGTERM or Ctrl-C");
  last_wins(server->add_option("--config", flags.config_file, "Properties file with Kafka's key names"));
  last_wins(server->add_option("--data", flags.data, "Data folder, or several separated by commas (log.dirs)"));
  last_wins(server->add_option("--kafka", flags.kafka, "HOST:PORT to listen on for Kafka clients (listeners)"));
  last_wins(server->add_option("--advertise", flags.advertise,
                               "HOST:PORT that clients are told to use (advertised.listeners)"));
  last_wins(server->add_option("--node-id", flags.node_id, "Number of this broker (node.id)"));
  server->add_option("--set", flags.set, "Any configuration key: key=value; may be repeated")->take_all();
  server->footer("Every key is also an environment variable: node.id is NARU_NODE_ID. All keys: docs/configuration.md");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 2;  // 0: help or version was asked for
  }
  flags.environment = environment();
  return naru::run_server(flags, NARU_VERSION);
}
