#include "simulation/simulated_cluster.h"

#include "async/task_group.h"
#include "foundation/log.h"

namespace naru::simulation {
namespace {

std::string host_of(int number) {
  return fmt::format("broker-{}", number);
}

BrokerConfig broker_config(const RunPlan& plan, int number) {
  std::string folders = "/data";
  for (int folder = 2; folder <= plan.data_folders; ++folder) folders += fmt::format(",/data{}", folder);
  ConfigOverrides values{{"log.dirs", folders},
                         {"node.id", fmt::format("{}", number)},
                         {"listeners", fmt::format("PLAINTEXT://{}:{}", host_of(number), SimulatedBroker::kPort)},
                         {"naru.admin.listener", ""}};
  values.emplace("log.retention.check.interval.ms", "300");
  values.emplace("log.cleaner.backoff.ms", "200");
  values.emplace("log.cleaner.dedupe.buffer.size", "1024");  // not all keys at once
  values.emplace("offsets.topic.num.partitions", "3");
  values.emplace("offsets.topic.segment.bytes", "8192");
  values.emplace("transaction.state.log.num.partitions", "2");
  values.emplace("transaction.state.log.segment.bytes", "8192");
  values.emplace("group.initial.rebalance.delay.ms", "100");
  values.emplace("group.min.session.timeout.ms", "100");
  values.emplace("group.consumer.session.timeout.ms", "700");
  values.emplace("group.consumer.heartbeat.interval.ms", "100");
  values.emplace("offsets.retention.check.interval.ms", "500");
  values.emplace("naru.journal.enable", plan.journal_bytes > 0 ? "true" : "false");
  if (plan.journal_bytes > 0) values.emplace("naru.journal.bytes", fmt::format("{}", plan.journal_bytes));
  values.emplace("naru.journal.batch.max.bytes", fmt::format("{}", plan.journal_batch_max_bytes));
  if (plan.brokers > 1) {
    values.emplace("naru.coordination.session.timeout.ms", "1500");
    values.emplace("replica.lag.time.max.ms", "1500");
    values.emplace("naru.log.verify.interval.ms", fmt::format("{}", plan.verify_interval_ms));
    values.emplace("replica.fetch.wait.max.ms", "200");
    values.emplace("replica.fetch.backoff.ms", "100");
  }
  return make_broker_config(values).value();
}

}  // namespace

SimulatedCluster::SimulatedCluster(SimulatedWorld& world, Seams harness, const RunPlan& plan)
    : world_(world), coordination_(world) {
  for (int number = 1; number <= plan.brokers; ++number) {
    brokers_.push_back(std::make_unique<SimulatedBroker>(world.add_node(host_of(number)), harness,
                                                         broker_config(plan, number),
                                                         plan.brokers == 1 ? nullptr : &coordination_));
    brokers_.back()->node().disk().set_reorders_names(plan.faults.reordered_names);
    brokers_.back()->set_always_upgraded(plan.faults.upgrades);
  }
}

std::vector<Endpoint> SimulatedCluster::addresses() const {
  std::vector<Endpoint> addresses;
  for (const auto& broker : brokers_) addresses.push_back(broker->address());
  return addresses;
}

SimulatedBroker& SimulatedCluster::random_broker() {
  return *brokers_[world_.random().below(brokers_.size())];
}

Task<void> SimulatedCluster::start_all() {
  TaskGroup starts;
  for (const auto& broker : brokers_) {
    if (!broker->running()) starts.spawn(broker->start());
  }
  co_await starts.join();
}

Task<Status> SimulatedCluster::stop_all() {
  Status problem;
  for (const auto& broker : brokers_) {
    const Status stopped = co_await broker->stop_cleanly();
    log_debug("server", "{} has stopped", broker->node().host());
    if (problem.ok()) problem = stopped;
  }
  co_return problem;
}

Task<void> SimulatedCluster::wait_for_remains() {
  for (const auto& broker : brokers_) {
    co_await broker->wait_for_remains();
    log_debug("server", "{} rests", broker->node().host());
  }
}

}  // namespace naru::simulation
