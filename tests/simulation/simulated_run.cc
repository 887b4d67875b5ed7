#include "simulation/simulated_run.h"

#include <utility>
#include <vector>

#include "async/task_group.h"
#include "foundation/assert.h"
#include "foundation/log.h"
#include "platform/simulated/simulated_world.h"
#include "simulation/bounds_watch.h"
#include "simulation/broker_watch.h"
#include "simulation/coordinator_watch.h"
#include "simulation/fault_plan.h"
#include "simulation/history.h"
#include "simulation/nemesis.h"
#include "simulation/producer_watch.h"
#include "simulation/simulated_cluster.h"
#include "simulation/store_watch.h"
#include "simulation/workload.h"

namespace naru::simulation {
namespace {

constexpr Duration kLongestRun = 24h;

// The longest time between one look into the brokers and the next.
constexpr Duration kLooks = 200ms;

// How long healed brokers may take until every replica is in sync again.
constexpr Duration kConvergence = 60s;

// Not drawn, so that the other seeds have the runs that they had before there were upgrades.
RunPlan plan_of(uint64_t seed, RunPlan drawn) {
  drawn.faults.upgrades = seed % 5 == 2;
  return drawn;
}

class Run {
 public:
  Run(uint64_t seed, Shape shape)
      : seed_(seed),
        world_(seed),
        plan_(plan_of(seed, draw_plan(world_.random(), shape))),
        history_(plan_.promise, plan_.cleanup),
        harness_(world_.add_node(kHarnessHost).start()),
        cluster_(world_, harness_->seams(), plan_),
        workload_(harness_->seams(), cluster_.addresses(), plan_, history_),
        atlas_(cluster_, store_),
        brokers_(cluster_, store_, atlas_, history_, harness_->seams().clock),
        coordinators_(cluster_, store_),
        producers_(cluster_, store_, plan_),
        bounds_(cluster_, harness_->seams()),
        nemesis_({world_, harness_->seams(), cluster_, plan_, store_, atlas_, workload_}) {
    set_log_clock([this] { return std::chrono::duration_cast<Milliseconds>(world_.now().time_since_epoch()).count(); });
  }
  ~Run() { set_log_clock(nullptr); }

  RunResult run() {
    TaskGroup task;
    task.spawn(whole_run());
    const bool ended =
        world_.run_until([this, &task] { return looked_at_store() && task.running() == 0; }, kLongestRun);
    NARU_ASSERT(ended, "seed {} has not ended within its limit of virtual time: {}", seed_, plan_.to_string());
    RunResult result{.plan = plan_.to_string(),
                     .trace_hash = world_.trace_hash(),
                     .events = world_.events_run(),
                     .acknowledged = history_.acknowledged_count(),
                     .seen = history_.seen_count(),
                     .faults = nemesis_.faults(),
                     .refused_logs = workload_.refused_logs(),
                     .repeated_batches = workload_.repeated_batches(),
                     .group_assignments = workload_.groups().assignments(),
                     .group_commits = workload_.groups().commits(),
                     .group_conversions = workload_.groups().conversions(),
                     .transactions_committed = workload_.chain().history().commits(),
                     .coordinators_compared = coordinators_.compared(),
                     .problem = history_.violation()};
    for (const std::optional<std::string>* other : std::initializer_list<const std::optional<std::string>*>{
             &store_.violation(), &brokers_.violation(), &coordinators_.violation(), &producers_.violation(),
             &bounds_.violation(), &workload_.problem(), &workload_.chain().history().violation(),
             &workload_.groups().violation(), &nemesis_.problem(), &problem_}) {
      if (!result.problem) result.problem = *other;
    }
    return result;
  }

 private:
  Random& random() { return world_.random(); }
  Seams harness() { return harness_->seams(); }

  Task<void> sleep(Duration longest) {
    const Duration length(static_cast<int64_t>(1 + random().below(static_cast<uint64_t>(longest.count()))));
    ignore(co_await sleep_until(harness().scheduler, harness().clock.now() + length));
  }

  // After each event. True: always.
  bool looked_at_store() {
    const uint64_t blocking_jobs = world_.queue().blocking_jobs_run();
    bounds_.took(meter_.passed(std::exchange(seen_blocking_jobs_, blocking_jobs) == blocking_jobs));
    if (SimulatedBroker* broker = nemesis_.watched_closely()) coordinators_.look_for_outdated(*broker);
    const uint64_t revision = cluster_.coordination().revision();
    if (std::exchange(seen_revision_, revision) == revision) return true;
    store_.look(cluster_.coordination().state());
    nemesis_.store_changed();
    if (!stopping_) looks_.spawn(brokers_.look());
    return true;
  }

  Task<void> watch() {
    while (!stopping_) {
      bounds_.look();
      if (!cluster_.is_alone()) co_await brokers_.look();
      if (plan_.cleanup == Cleanup::compact) co_await brokers_.look_at_compaction();
      co_await coordinators_.look();
      co_await producers_.look();
      co_await sleep(kLooks);
    }
  }

  Task<void> wait_for_repairs() {
    const MonotonicTime deadline = harness().clock.now() + kConvergence;
    while (atlas_.any_damage() && harness().clock.now() < deadline) co_await sleep(200ms);
    if (atlas_.any_damage()) problem_ = "damage was not repaired although everything is healed";
    if (plan_.faults.bit_flips) co_await workload_.wait_for_full_isr(kConvergence);
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
      if (plan_.copy_stages > 0) {
        clients.spawn(workload_.chain().write_sources());
        clients.spawn(workload_.chain().read());
        for (int i = 0; i < plan_.copy_stages; ++i) clients.spawn(workload_.chain().copy(i));
      }
      clients.spawn(watch());
      co_await nemesis_.run();
      workload_.stop();
      stopping_ = true;
      co_await clients.join();
    }
    nemesis_.heal();
    // Once more through a crash or a clean stop, so that what is read below comes from the disk.
    co_await nemesis_.end_all();
    co_await sleep(500ms);
    co_await cluster_.start_all();
    if (!cluster_.is_alone()) co_await workload_.wait_for_full_isr(kConvergence);
    co_await wait_for_repairs();
    co_await workload_.check_liveness();
    co_await workload_.read_everything();
    co_await workload_.check_groups();
    co_await workload_.chain().finish(kConvergence);
    co_await coordinators_.look_anew();
    co_await producers_.look();
    if (!cluster_.is_alone()) {
      co_await brokers_.look();
      co_await brokers_.compare_replicas();
    }
    co_await bounds_.look_without_clients();
    const Status stopped = co_await cluster_.stop_all();
    bounds_.look_at_stops();
    if (!stopped.ok()) problem_ = "a clean shutdown failed: " + stopped.to_string();
    co_await cluster_.wait_for_remains();
  }

  const uint64_t seed_;
  SimulatedWorld world_;
  const RunPlan plan_;
  History history_;
  std::unique_ptr<SimulatedProcess> harness_;
  SimulatedCluster cluster_;
  Workload workload_;
  StoreWatch store_;
  FaultAtlas atlas_;
  BrokerWatch brokers_;
  CoordinatorWatch coordinators_;
  ProducerWatch producers_;
  BoundsWatch bounds_;
  Nemesis nemesis_;
  EventMeter meter_{EventMeter::real_clocks()};
  uint64_t seen_blocking_jobs_ = 0;
  uint64_t seen_revision_ = 0;  // of the coordination service
  bool stopping_ = false;
  TaskGroup looks_;
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
