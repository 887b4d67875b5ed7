// For tests: commands as a person types them, against a real broker in a simulated world.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/broker.h"
#include "command_line/fake_terminal_testing.h"
#include "command_line/run_command.h"
#include "foundation/log.h"
#include "platform/simulated/simulated_world.h"

namespace naru::command_line {

class CommandsTest : public testing::Test {
 protected:
  CommandsTest() {
    silence_log();
    world_.run_task(start());
  }
  ~CommandsTest() override { world_.run_task(stop()); }

  struct Outcome {
    int exit_code = 0;
    std::string output, error;
  };

  // As `naru WORDS < input`. `interrupt_after`: Ctrl-C after that time.
  Outcome naru(std::vector<std::string> words, std::string input = "", std::optional<Duration> interrupt_after = {}) {
    words.insert(words.end(), {"--bootstrap", "broker:9092", "--timeout", "5s"});
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
  SimulatedNode& node_ = world_.add_node("broker");
  std::unique_ptr<SimulatedProcess> process_ = node_.start();
  std::unique_ptr<Broker> broker_;
  FakeTerminal terminal_;

 private:
  Task<void> start() {
    auto config = make_broker_config({{"log.dirs", "/data"},
                                      {"listeners", "PLAINTEXT://broker:9092"},
                                      {"naru.journal.bytes", "131072"},
                                      {"group.initial.rebalance.delay.ms", "0"},
                                      {"naru.admin.listener", ""}});
    broker_ = std::move(co_await Broker::start(process_->seams(), *config)).value();
  }
  Task<void> stop() { ignore(co_await broker_->stop()); }

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
};

}  // namespace naru::command_line
