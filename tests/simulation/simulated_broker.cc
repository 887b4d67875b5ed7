#include "simulation/simulated_broker.h"

#include <algorithm>
#include <utility>

#include "foundation/assert.h"
#include "foundation/log.h"
#include "simulation/earlier_version.h"

namespace naru::simulation {
namespace {
constexpr int kMaxAttempts = 10'000;
}

Task<void> SimulatedBroker::start() {
  NARU_ASSERT(!running(), "a running broker is started");
  if (always_upgraded_) rename_as_earlier_version(node_.disk());
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    process_ = node_.start();
    auto started = co_await start_once();
    starting_ = nullptr;
    if (started) {
      broker_ = std::move(*started);
      co_return;
    }
    log_info("server", "{} does not start: {}", node_.host(), started.error().to_string());
    node_.kill();
    remains_.push_back({std::move(process_), nullptr});
    ignore(co_await sleep_until(harness_.scheduler, harness_.clock.now() + 100ms));
  }
  NARU_ASSERT(false, "the broker did not start in {} attempts", kMaxAttempts);
}

Task<Result<std::unique_ptr<Broker>>> SimulatedBroker::start_once() {
  if (coordination_ == nullptr) return Broker::start(process_->seams(), config_);
  return Broker::start(process_->seams(), config_,
                       Broker::Overrides{.open_store = [this, seams = process_->seams()] { return connect(seams); },
                                         .begun = [this](const Broker& broker) { starting_ = &broker; }});
}

Task<Result<std::unique_ptr<CoordinationStore>>> SimulatedBroker::connect(Seams seams) {
  co_return coordination_->connect(seams, node_.host(), config_.coordination_session_timeout);
}

Task<Status> SimulatedBroker::stop_cleanly() {
  const MonotonicTime begun = harness_.clock.now();
  Status stopped = co_await broker_->stop();
  longest_stop_ = std::max(longest_stop_, harness_.clock.now() - begun);
  node_.kill();  // the process has nothing more to do
  remains_.push_back({std::move(process_), std::move(broker_)});
  co_return stopped;
}

void SimulatedBroker::kill() {
  node_.kill();
  bury();
}

void SimulatedBroker::cut_power() {
  node_.crash();
  bury();
}

void SimulatedBroker::wipe() {
  node_.kill();
  node_.disk().wipe();
  bury();
}

// The objects of a dead broker still exist; they are shut down so that nothing leaks. Nobody sees what they do.
void SimulatedBroker::bury() {
  burials_.spawn(come_to_rest(*broker_));
  remains_.push_back({std::move(process_), std::move(broker_)});
}

Task<void> SimulatedBroker::come_to_rest(Broker& broker) {
  ignore(co_await broker.stop());
}

Task<void> SimulatedBroker::wait_for_remains() {
  // A task group is joined once, and brokers may die again.
  while (burials_.running() > 0) {
    ignore(co_await sleep_until(harness_.scheduler, harness_.clock.now() + 1ms));
  }
  co_await to_loop(harness_.scheduler);  // not from inside an event of what is destroyed here
  remains_.clear();
}

}  // namespace naru::simulation
