// For tests: commands as a person types them, against a real broker in a simulated world.
#pragma once

#include <memory>
#include <utility>

#include "broker/broker.h"
#include "command_line/command_runner_testing.h"
#include "foundation/log.h"

namespace naru::command_line {

class CommandsTest : public CommandRunnerTest {
 protected:
  CommandsTest() : CommandRunnerTest("broker:9092") {
    silence_log();
    world_.run_task(start());
  }
  ~CommandsTest() override { world_.run_task(stop()); }

  SimulatedNode& node_ = world_.add_node("broker");
  std::unique_ptr<SimulatedProcess> process_ = node_.start();
  std::unique_ptr<Broker> broker_;

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
};

}  // namespace naru::command_line
