// For tests: commands as a person types them, in a simulated world.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command_line/fake_terminal_testing.h"
#include "command_line/run_command.h"
#include "platform/simulated/simulated_world.h"

namespace naru::command_line {

// Whoever derives from this puts brokers into the world.
class CommandRunnerTest : public testing::Test {
 protected:
  explicit CommandRunnerTest(std::string bootstrap) : bootstrap_(std::move(bootstrap)) {}

  struct Outcome {
    int exit_code = 0;
    std::string output, error;
  };

  // As `naru WORDS < input`. `interrupt_after`: Ctrl-C after that time.
  Outcome naru(std::vector<std::string> words, std::string input = "", std::optional<Duration> interrupt_after = {}) {
    words.insert(words.end(), {"--bootstrap", bootstrap_, "--timeout", "5s"});
    const auto arguments = parse_arguments(words, {}, "1.2.3");
    if (!arguments) return {arguments.error().code, arguments.error().output, arguments.error().error};
    terminal_.input = std::move(input);
    terminal_.output.clear();
    terminal_.error.clear();
    Outcome outcome;
    world_.run_task(run(*arguments, interrupt_after, outcome.exit_code));
    outcome.output = terminal_.output;
    outcome.error = terminal_.error;
    return outcome;
  }

  Seams seams() { return client_->seams(); }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> client_ = world_.add_node("client").start();
  FakeTerminal terminal_;

 private:
  Task<void> run(const Arguments& arguments, std::optional<Duration> interrupt_after, int& exit_code) {
    CancelSource interrupted;
    CommandContext context{.seams = seams(),
                           .terminal = terminal_,
                           .common = arguments.common,
                           .interrupted = interrupted.token(),
                           .version = "1.2.3",
                           .system_facts = [] { return SystemFacts{.open_files = 100'000}; }};
    std::optional<Scheduler::TimerId> timer;
    if (interrupt_after) {
      timer = seams().scheduler.start_timer(seams().clock.now() + *interrupt_after,
                                            [&interrupted] { interrupted.cancel(); });
    }
    exit_code = static_cast<int>(co_await run_command(context, arguments.command));
    if (timer) seams().scheduler.cancel_timer(*timer);
  }

  const std::string bootstrap_;
};

}  // namespace naru::command_line
