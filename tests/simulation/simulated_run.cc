#include "simulation/simulated_run.h"

#include <vector>

#include "async/task_group.h"
#include "foundation/log.h"
#include "platform/simulated/simulated_world.h"
#include "simulation/fault_plan.h"
#include "simulation/history.h"
#include "simulation/simulated_broker.h"
#include "simulation/workload.h"

namespace naru::simulation {
namespace {

constexpr Duration kLongestRun = 24h;

BrokerConfig broker_config(const RunPlan& plan) {
  ConfigOverrides values{{"log.dirs", "/data"}, {"listeners", "PLAINTEXT://broker:9092"}, {"naru.admin.listener", ""}};
  values.emplace("log.retention.check.interval.ms", "300");
  values.emplace("log.cleaner.backoff.ms", "200");
  values.emplace("log.cleaner.dedupe.buffer.size", "1024");  // not all keys at once
  values.emplace("offsets.topic.num.partitions", "3");
  values.emplace("offsets.topic.segment.bytes", "8192");
  values.emplace("group.initial.rebalance.delay.ms", "100");
  values.emplace("group.min.session.timeout.ms", "100");
  values.emplace("group.consumer.session.timeout.ms", "700");
  values.emplace("group.consumer.heartbeat.interval.ms", "100");
  values.emplace("offsets.retention.check.interval.ms", "500");
  values.emplace("naru.journal.enable", plan.journal_bytes > 0 ? "true" : "false");
  if (plan.journal_bytes > 0) values.emplace("naru.journal.bytes", fmt::format("{}", plan.journal_bytes));
  values.emplace("naru.journal.batch.max.bytes", fmt::format("{}", plan.journal_batch_max_bytes));
  return make_broker_config(values).value();
}

class Run {
 public:
  explicit Run(uint64_t seed)
      : world_(seed),
        plan_(draw_plan(world_.random())),
        history_(plan_.promise, plan_.cleanup),
        harness_(world_.add_node("harness").start()),
        broker_(world_.add_node("broker"), harness_->seams(), broker_config(plan_)),
        workload_(harness_->seams(), broker_.address(), plan_, history_) {}

  RunResult run() {
    world_.run_task(whole_run(), kLongestRun);
    RunResult result{.plan = plan_.to_string(),
                     .trace_hash = world_.trace_hash(),
                     .events = world_.events_run(),
                     .acknowledged = history_.acknowledged_count(),
                     .seen = history_.seen_count(),
                     .faults = faults_,
                     .refused_logs = workload_.refused_logs(),
                     .repeated_batches = workload_.repeated_batches(),
                     .group_assignments = workload_.groups().assignments(),
                     .group_commits = workload_.groups().commits(),
                     .group_conversions = workload_.groups().conversions(),
                     .problem = history_.violation()};
    if (!result.problem) result.problem = workload_.problem();
    if (!result.problem) result.problem = workload_.groups().violation();
    if (!result.problem) result.problem = problem_;
    return result;
  }

 private:
  Random& random() { return world_.random(); }
  Seams harness() { return harness_->seams(); }

  Task<void> sleep(Duration longest) {
    const Duration length(static_cast<int64_t>(1 + random().below(static_cast<uint64_t>(longest.count()))));
    ignore(co_await sleep_until(harness().scheduler, harness().clock.now() + length));
  }

  Task<void> whole_run() {
    co_await broker_.start();
    co_await workload_.create_topics();
    {
      TaskGroup clients;
      for (int i = 0; i < plan_.producers; ++i) clients.spawn(workload_.produce(i + 1));
      for (int i = 0; i < plan_.idempotent_producers; ++i) clients.spawn(workload_.produce_idempotently(i + 101));
      for (int i = 0; i < plan_.consumers; ++i) clients.spawn(workload_.consume());
      clients.spawn(workload_.administrate());
      for (int i = 0; i < plan_.group_members; ++i) clients.spawn(workload_.be_in_a_group(i));
      for (int i = 0; i < plan_.consumer_members; ++i) clients.spawn(workload_.be_in_a_consumer_group(i));
      for (int i = 0; i < plan_.mixed_members; ++i) clients.spawn(workload_.be_in_a_mixed_group(i));
      co_await be_a_nemesis();
      workload_.stop();
      co_await clients.join();
    }
    // Once more through a crash or a clean stop, so that what is read below comes from the disk.
    heal();
    co_await restart(random().below(3));
    co_await workload_.check_liveness();
    co_await workload_.read_everything();
    co_await workload_.check_groups();
    co_await stop_in_order();
    co_await broker_.wait_for_remains();
  }

  Task<void> be_a_nemesis() {
    for (int round = 0; round < plan_.faults.rounds; ++round) {
      co_await sleep(1s);
      const auto menu = faults_on_the_menu();
      if (!menu.empty()) {
        ++faults_;
        co_await (this->*menu[random().below(menu.size())])();
      }
    }
    co_await sleep(500ms);
  }

  using Fault = Task<void> (Run::*)();
  std::vector<Fault> faults_on_the_menu() const {
    const FaultPlan& faults = plan_.faults;
    std::vector<Fault> menu;
    const auto add = [&menu](bool on, Fault fault) {
      if (on) menu.push_back(fault);
    };
    add(faults.power_cuts, &Run::power_cut);
    add(faults.kills, &Run::kill);
    add(faults.clean_restarts, &Run::clean_restart);
    add(faults.io_errors, &Run::io_errors);
    add(faults.full_disk, &Run::full_disk);
    add(faults.slow_disk, &Run::slow_disk);
    add(faults.cut_connections, &Run::cut_connections);
    add(faults.clock_steps, &Run::clock_step);
    return menu;
  }

  Task<void> power_cut() { return restart(0); }
  Task<void> kill() { return restart(1); }
  Task<void> clean_restart() { return restart(2); }

  Task<void> restart(uint64_t how) {
    switch (how) {
      case 0:
        broker_.cut_power();
        workload_.power_was_cut();
        break;
      case 1:
        broker_.kill();
        break;
      default:
        co_await stop_in_order();
        break;
    }
    co_await sleep(500ms);
    co_await broker_.start();
  }

  Task<void> stop_in_order() {
    const Status stopped = co_await broker_.stop_cleanly();
    if (!stopped.ok() && !disk_was_faulty_) problem_ = "a clean shutdown failed: " + stopped.to_string();
  }

  // A disk that fails may take logs offline for good, so the broker is restarted afterwards, as an operator would.
  Task<void> io_errors() {
    disk_was_faulty_ = true;
    SimulatedFileSystem& disk = broker_.node().disk();
    const FileOperation kinds[] = {FileOperation::read,           FileOperation::write,  FileOperation::sync_data,
                                   FileOperation::sync_directory, FileOperation::create, FileOperation::rename};
    disk.set_fault_rate(kinds[random().below(std::size(kinds))], 2 + random().below(30));
    co_await sleep(2s);
    disk.clear_faults();
    co_await restart(random().below(2));
    disk_was_faulty_ = false;
  }

  Task<void> full_disk() {
    disk_was_faulty_ = true;
    SimulatedFileSystem& disk = broker_.node().disk();
    disk.set_capacity(disk_used() + random().below(4096));
    co_await sleep(2s);
    disk.set_capacity(UINT64_MAX);
    // Logs survive a full disk; the store of the metadata may have gone offline.
    co_await restart(random().below(2));
    disk_was_faulty_ = false;
  }

  uint64_t disk_used() {
    const auto space = broker_.node().disk().space("/");
    return space ? space->total_bytes - space->free_bytes : 0;
  }

  Task<void> slow_disk() {
    broker_.process().scheduler().set_disk_timing(
        {.usual_min = 1ms, .usual_max = 80ms, .stall_one_in = 20, .stall_max = 5s});
    co_await sleep(3s);
    broker_.process().scheduler().set_disk_timing({});
  }

  Task<void> cut_connections() {
    world_.network().options.cut_one_in = random().one_in(2) ? 0 : 20 + random().below(200);
    world_.network().cut_all();
    co_await sleep(1s);
    world_.network().options.cut_one_in = 0;
  }

  Task<void> clock_step() {
    const auto minutes = static_cast<int64_t>(random().below(120)) - 60;
    step_clock(Milliseconds(minutes * 60'000));
    co_return;
  }

  void step_clock(Milliseconds by) {
    broker_.node().clock().step_wall(by);
    clock_offset_ += by;
  }

  void heal() {
    step_clock(-clock_offset_);  // else records of today may be too far in the broker's future
    broker_.node().disk().clear_faults();
    broker_.node().disk().set_capacity(UINT64_MAX);
    world_.network().options.cut_one_in = 0;
  }

  SimulatedWorld world_;
  const RunPlan plan_;
  History history_;
  std::unique_ptr<SimulatedProcess> harness_;
  SimulatedBroker broker_;
  Workload workload_;
  int faults_ = 0;
  Milliseconds clock_offset_{0};
  bool disk_was_faulty_ = false;
  std::optional<std::string> problem_;
};

}  // namespace

RunResult run_seed(uint64_t seed, RunLog log) {
  if (log == RunLog::silent) silence_log();
  return Run(seed).run();
}

}  // namespace naru::simulation
