// Three brokers and a client, for tests that know what happens and when: one fault, and what must come of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/task_group.h"
#include "client/cluster_client.h"
#include "platform/simulated/simulated_world.h"
#include "simulation/simulated_cluster.h"
#include "simulation/store_watch.h"

namespace naru::simulation {

class ClusterScenario {
 public:
  explicit ClusterScenario(uint64_t seed, int data_folders = 1);

  // Starts the brokers, runs `story()` (a coroutine, as a lambda that outlives it), and stops everything.
  template <class Story>
  void run(Story story) {
    run_and_watch(whole(story));
  }

  SimulatedWorld& world() { return world_; }
  Seams seams() { return harness_->seams(); }
  SimulatedCluster& cluster() { return cluster_; }
  SimulatedBroker& broker(BrokerId id);
  client::ClusterClient& client() { return *client_; }

  Task<void> pause(Duration length);
  // Looks again and again; false when it did not become true in that time.
  Task<bool> comes_true(std::function<bool()> condition, Duration within);

  // With as many replicas as there are brokers, all of them in sync when it returns.
  Task<void> create_topic(std::string name, int32_t partitions,
                          std::vector<std::pair<std::string, std::string>> configs = {});
  // What comes of it does not matter.
  Task<void> ask_for_topic(std::string name);
  Task<void> ask_for_deletion(std::string name);
  // What the coordination service says.
  const MetadataImage& stored();
  const PartitionState& stored(const std::string& topic, int32_t partition = 0);
  BrokerId controller() { return stored().cluster().controller_id; }
  // Whether the broker leads it, and knows that.
  bool leads(BrokerId id, const std::string& topic, int32_t partition = 0);
  bool in_sync(BrokerId id, const std::string& topic, int32_t partition = 0);

  // acks=all, one record after the other, until stop_producing(); all must be acknowledged.
  void start_producing(std::string topic);
  Task<void> stop_producing();
  int delivered() const { return delivered_; }
  int failed() const { return failed_; }
  // Values in the order of the partition; fails the test when they cannot be read.
  Task<std::vector<std::string>> read_all(std::string topic, int32_t partition = 0);

 private:
  template <class Story>
  Task<void> whole(Story& story) {
    co_await begin();
    co_await story();
    co_await end();
  }
  // Looks at every change in the coordination service.
  void run_and_watch(Task<void> task);
  Task<void> begin();
  Task<void> end();
  Task<void> produce(std::string topic);

  SimulatedWorld world_;
  std::unique_ptr<SimulatedProcess> harness_;
  SimulatedCluster cluster_;
  StoreWatch store_;
  std::unique_ptr<client::ClusterClient> client_;
  TaskGroup background_;
  bool producing_ = false;
  int delivered_ = 0;
  int failed_ = 0;
};

}  // namespace naru::simulation
