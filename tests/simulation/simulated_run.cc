#include "simulation/simulated_run.h"

#include <map>
#include <vector>

#include "async/task_group.h"
#include "foundation/log.h"
#include "platform/simulated/simulated_world.h"
#include "simulation/fault_plan.h"
#include "simulation/history.h"
#include "simulation/simulated_cluster.h"
#include "simulation/workload.h"

namespace naru::simulation {
namespace {

constexpr Duration kLongestRun = 24h;
constexpr const char* kHarnessHost = "harness";

// How long healed brokers may take until every replica is in sync again.
constexpr Duration kConvergence = 60s;

class Run {
 public:
  Run(uint64_t seed, Shape shape)
      : world_(seed),
        plan_(draw_plan(world_.random(), shape)),
        history_(plan_.promise, plan_.cleanup),
        harness_(world_.add_node(kHarnessHost).start()),
        cluster_(world_, harness_->seams(), plan_),
        workload_(harness_->seams(), cluster_.addresses(), plan_, history_) {}

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
    co_await cluster_.start_all();
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
    heal();
    // Once more through a crash or a clean stop, so that what is read below comes from the disk.
    const uint64_t how = random().below(3);
    for (const auto& broker : cluster_.brokers()) co_await end(*broker, how);
    co_await sleep(500ms);
    co_await cluster_.start_all();
    if (!cluster_.is_alone()) co_await workload_.wait_for_full_isr(kConvergence);
    co_await workload_.check_liveness();
    co_await workload_.read_everything();
    co_await workload_.check_groups();
    const Status stopped = co_await cluster_.stop_all();
    if (!stopped.ok()) problem_ = "a clean shutdown failed: " + stopped.to_string();
    co_await cluster_.wait_for_remains();
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
    if (cluster_.is_alone()) return menu;
    add(faults.power_cuts, &Run::power_cut_everywhere);
    add(faults.cut_links, &Run::cut_links);
    add(faults.isolation, &Run::isolate);
    add(faults.pauses, &Run::pause_a_broker);
    add(faults.coordination, &Run::disturb_coordination);
    return menu;
  }

  Task<void> power_cut() { return restart(cluster_.random_broker(), 0); }
  Task<void> kill() { return restart(cluster_.random_broker(), 1); }
  Task<void> clean_restart() { return restart(cluster_.random_broker(), 2); }

  Task<void> restart(SimulatedBroker& broker, uint64_t how) {
    co_await end(broker, how);
    co_await sleep(cluster_.is_alone() || random().one_in(2) ? 500ms : 4s);
    co_await broker.start();
  }

  Task<void> power_cut_everywhere() {
    for (const auto& broker : cluster_.brokers()) co_await end(*broker, 0);
    co_await sleep(3s);
    co_await cluster_.start_all();
  }

  // By a power cut, a kill or in order.
  Task<void> end(SimulatedBroker& broker, uint64_t how) {
    switch (how) {
      case 0:
        broker.cut_power();
        workload_.power_was_cut();
        break;
      case 1:
        broker.kill();
        break;
      default: {
        const Status stopped = co_await broker.stop_cleanly();
        if (!stopped.ok() && !disk_was_faulty_) problem_ = "a clean shutdown failed: " + stopped.to_string();
      }
    }
  }

  // --- Faults of a cluster -------------------------------------------------------------------------------------------

  // Some links between brokers, each in one direction.
  Task<void> cut_links() {
    for (const auto& from : cluster_.brokers()) {
      for (const auto& to : cluster_.brokers()) {
        if (from != to && random().one_in(3)) world_.network().block(from->node().host(), to->node().host());
      }
    }
    co_await sleep(5s);
    world_.network().unblock_all();
  }

  // One broker hears nobody, or nobody hears it, or both; clients and the coordination service, each or not.
  Task<void> isolate() {
    const std::string host = cluster_.random_broker().node().host();
    const bool mute = random().one_in(2);
    const bool deaf = !mute || random().one_in(2);
    std::vector<std::string> others;
    for (const auto& other : cluster_.brokers()) {
      if (other->node().host() != host) others.push_back(other->node().host());
    }
    if (random().one_in(2)) others.push_back(kHarnessHost);
    for (const std::string& other : others) {
      if (mute) world_.network().block(host, other);
      if (deaf) world_.network().block(other, host);
    }
    if (random().one_in(2)) {
      if (mute) cluster_.coordination().set_requests_arrive(host, false);
      if (deaf) cluster_.coordination().set_answers_arrive(host, false);
    }
    co_await sleep(6s);
    world_.network().unblock_all();
    cluster_.coordination().set_reachable(host, true);
  }

  // For longer than its session, now and then: it wakes up as somebody who does not know what has happened.
  Task<void> pause_a_broker() {
    const auto milliseconds = static_cast<int64_t>(100 + random().below(5000));
    cluster_.random_broker().process().pause(Milliseconds(milliseconds));
    co_await sleep(Milliseconds(milliseconds) + 1s);
  }

  Task<void> disturb_coordination() {
    SimulatedCoordination& coordination = cluster_.coordination();
    switch (random().below(3)) {
      case 0:
        coordination.set_down(true);
        break;
      case 1:
        coordination.expire(cluster_.random_broker().node().host());
        break;
      default:
        coordination.set_faults({.lost_request_one_in = 10,
                                 .lost_answer_one_in = 10,
                                 .late_commit_one_in = 10,
                                 .stale_read_one_in = 3,
                                 .torn_list_one_in = 3});
        break;
    }
    co_await sleep(5s);
    coordination.heal();
  }

  // --- Faults of one machine -----------------------------------------------------------------------------------------

  // A disk that fails may take logs offline for good, so the broker is restarted afterwards, as an operator would.
  Task<void> io_errors() {
    disk_was_faulty_ = true;
    SimulatedBroker& broker = cluster_.random_broker();
    SimulatedFileSystem& disk = broker.node().disk();
    const FileOperation kinds[] = {FileOperation::read,           FileOperation::write,  FileOperation::sync_data,
                                   FileOperation::sync_directory, FileOperation::create, FileOperation::rename};
    disk.set_fault_rate(kinds[random().below(std::size(kinds))], 2 + random().below(30));
    co_await sleep(2s);
    disk.clear_faults();
    co_await restart(broker, random().below(2));
    disk_was_faulty_ = false;
  }

  Task<void> full_disk() {
    disk_was_faulty_ = true;
    SimulatedBroker& broker = cluster_.random_broker();
    SimulatedFileSystem& disk = broker.node().disk();
    disk.set_capacity(disk_used(disk) + random().below(4096));
    co_await sleep(2s);
    disk.set_capacity(UINT64_MAX);
    // Logs survive a full disk; the store of the metadata may have gone offline.
    co_await restart(broker, random().below(2));
    disk_was_faulty_ = false;
  }

  static uint64_t disk_used(SimulatedFileSystem& disk) {
    const auto space = disk.space("/");
    return space ? space->total_bytes - space->free_bytes : 0;
  }

  Task<void> slow_disk() {
    SimulatedBroker& broker = cluster_.random_broker();
    broker.process().scheduler().set_disk_timing(
        {.usual_min = 1ms, .usual_max = 80ms, .stall_one_in = 20, .stall_max = 5s});
    co_await sleep(3s);
    broker.process().scheduler().set_disk_timing({});
  }

  Task<void> cut_connections() {
    world_.network().options.cut_one_in = random().one_in(2) ? 0 : 20 + random().below(200);
    world_.network().cut_all();
    co_await sleep(1s);
    world_.network().options.cut_one_in = 0;
  }

  Task<void> clock_step() {
    const auto minutes = static_cast<int64_t>(random().below(120)) - 60;
    step_clock(cluster_.random_broker().node(), Milliseconds(minutes * 60'000));
    co_return;
  }

  void step_clock(SimulatedNode& node, Milliseconds by) {
    node.clock().step_wall(by);
    clock_offsets_[node.host()] += by;
  }

  void heal() {
    for (const auto& broker : cluster_.brokers()) {
      SimulatedNode& node = broker->node();
      step_clock(node, -clock_offsets_[node.host()]);  // else records of today may be too far in the broker's future
      node.disk().clear_faults();
      node.disk().set_capacity(UINT64_MAX);
    }
    world_.network().options.cut_one_in = 0;
    world_.network().unblock_all();
    cluster_.coordination().heal();
  }

  SimulatedWorld world_;
  const RunPlan plan_;
  History history_;
  std::unique_ptr<SimulatedProcess> harness_;
  SimulatedCluster cluster_;
  Workload workload_;
  int faults_ = 0;
  std::map<std::string, Milliseconds> clock_offsets_;  // by machine
  bool disk_was_faulty_ = false;
  std::optional<std::string> problem_;
};

}  // namespace

RunResult run_seed(uint64_t seed, Shape shape, RunLog log) {
  if (log == RunLog::silent) {
    silence_log();
  } else {
    set_log_level(LogLevel::debug);
  }
  return Run(seed, shape).run();
}

}  // namespace naru::simulation
