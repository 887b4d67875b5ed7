// The brokers that are fuzzed, in a simulated world, and the bounds of what they may use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/task_group.h"
#include "coordination_store/simulated/simulated_coordination.h"
#include "fuzzing/fuzz_plan.h"
#include "fuzzing/fuzz_problem.h"
#include "fuzzing/fuzz_report.h"
#include "platform/simulated/simulated_world.h"
#include "simulation/kafka_client.h"
#include "simulation/simulated_broker.h"

namespace naru::fuzzing {

class FuzzWorld {
 public:
  FuzzWorld(uint64_t seed, int brokers, const FuzzPlan& plan, Problems& problems, FuzzReport& report);
  ~FuzzWorld();

  // Starts the brokers and makes the topics "orders", "compacted", "segmented" and "empty", with records in all but the
  // last; and the transactional ids and groups of the plan.
  void begin();
  // Ends what runs in the background, and stops the brokers.
  void end();
  // After the clients have left: nothing of theirs may be left.
  void check_leftovers();

  // What one broker may hold of groups and transactions.
  uint64_t state_max() const { return plan_.memory_budget() / 4 * 2 + (4 << 20); }

  void run_for(Duration length);
  // False: it did not come true.
  bool run_until(const std::function<bool()>& done, Duration limit);

  // A clean stop, or a kill, and a start; one at a time, in the background.
  void restart_one();
  bool is_restarting() const { return background_.running() > 0; }

  SimulatedWorld& world() { return world_; }
  Seams seams() { return harness_->seams(); }
  std::vector<std::unique_ptr<simulation::SimulatedBroker>>& brokers() { return brokers_; }
  simulation::SimulatedBroker* find(BrokerId id);

 private:
  void step();
  void run_task(Task<void> task, Duration limit);
  Task<void> start_brokers();
  Task<void> make_topics();
  Task<void> write_records();
  Task<void> make_crowd(size_t count);
  Task<void> make_groups(size_t count);
  Task<void> make_groups_between(size_t first, size_t end);
  Task<void> write(std::string topic, int32_t partitions, int count);
  Task<void> stop_brokers();
  Task<void> restart(simulation::SimulatedBroker& broker, bool cleanly);
  Task<void> stop(simulation::SimulatedBroker& broker);
  void check_use();
  void check_answers();
  void check_state();
  uint64_t metric(simulation::SimulatedBroker& broker, std::string_view name);
  uint64_t memory_used(simulation::SimulatedBroker& broker);
  uint64_t heap_limit() const;
  uint64_t bytes_on_disks();

  const FuzzPlan plan_;
  Problems& problems_;
  FuzzReport& report_;
  SimulatedWorld world_;
  std::unique_ptr<SimulatedProcess> harness_;
  SimulatedCoordination coordination_;
  std::vector<std::unique_ptr<simulation::SimulatedBroker>> brokers_;
  TaskGroup background_;
  uint64_t heap_at_rest_ = 0;
  uint64_t bytes_on_disks_ = 0;  // when it was last looked at; they are in memory
  uint64_t steps_ = 0;
  bool all_stopped_ = false;
};

}  // namespace naru::fuzzing
