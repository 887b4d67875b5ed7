// Does to the brokers of a run what its plan allows: one fault per round, now and then two at once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platform/simulated/simulated_world.h"
#include "replication/partition.h"
#include "simulation/fault_atlas.h"
#include "simulation/simulated_cluster.h"
#include "simulation/workload.h"

namespace naru::simulation {

inline constexpr const char* kHarnessHost = "harness";

class Nemesis {
 public:
  struct Parts {
    SimulatedWorld& world;
    Seams harness;
    SimulatedCluster& cluster;
    const RunPlan& plan;
    const StoreWatch& store;
    FaultAtlas& atlas;
    Workload& workload;
  };
  explicit Nemesis(const Parts& parts) : parts_(parts), atlas_(parts.atlas) {}

  Task<void> run();
  // Everything works again; brokers that are down stay so.
  void heal();
  // Every broker ends, by a power cut, a kill or in order.
  Task<void> end_all();

  // After each change of the coordination store.
  void store_changed();

  // What happens to it now lasts for moments: it has to be looked at after each event. Null: no broker.
  SimulatedBroker* watched_closely() const { return watched_closely_; }

  int faults() const { return faults_; }
  const std::optional<std::string>& problem() const { return problem_; }

 private:
  enum class End : uint8_t { power_cut, kill, in_order };
  using Fault = Task<void> (Nemesis::*)();
  // A broker that one fault has, and no other.
  class Held {
   public:
    Held(Nemesis& nemesis, SimulatedBroker& broker) : nemesis_(&nemesis), broker_(&broker) {
      nemesis.held_.insert(broker.id());
    }
    Held(Held&& other) noexcept : nemesis_(std::exchange(other.nemesis_, nullptr)), broker_(other.broker_) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (nemesis_ != nullptr) nemesis_->held_.erase(broker_->id());
    }
    SimulatedBroker& operator*() const { return *broker_; }
    SimulatedBroker* operator->() const { return broker_; }

   private:
    Nemesis* nemesis_;
    SimulatedBroker* broker_;
  };

  Random& random() { return parts_.world.random(); }
  SimulatedNetwork& network() { return parts_.world.network(); }
  Task<void> sleep(Duration longest);
  Task<void> pause(Duration length);
  std::vector<Fault> menu() const;
  std::optional<Held> hold_a_broker();
  std::optional<Held> hold(BrokerId id);
  SimulatedBroker* find(BrokerId id);
  std::string host_of(BrokerId id);
  BrokerId controller() const { return parts_.store.image().cluster().controller_id; }
  std::optional<Held> hold_coordinator_of(const std::string& transactional_id);

  // --- nemesis.cc
  Task<void> power_cut();
  Task<void> kill();
  Task<void> clean_restart();
  Task<void> power_cut_everywhere();
  Task<void> wiped_disk();
  Task<void> cut_connections();
  Task<void> clock_step();
  Task<void> day_step();
  Task<void> cut_links();
  Task<void> slow_links();
  Task<void> isolate();
  Task<void> pause_a_broker();
  Task<void> disturb_coordination();

  // --- nemesis_aimed.cc: what needs several things to come together.
  Task<void> wiped_while_joining();
  Task<void> ended_while_joining();
  Task<void> ended_while_committing();
  Task<void> restarted_before_a_member_fetches();
  Task<void> lost_answer();
  Task<void> cut_off_for_long(BrokerId leader);
  Task<void> late_proposal();
  Task<void> late_fetch();
  Task<void> there_and_back();
  Task<void> ended_while_removing();

  // --- nemesis_coordinators.cc: likewise.
  struct LoneTransaction;
  Task<void> led_again_at_once();
  Task<void> ended_while_verified();
  const PartitionState* coordinated_beside_controller() const;
  Task<std::string> create_passing_topic();
  template <class Response, class Request, class ErrorOf>
  Task<std::optional<Response>> ask(std::shared_ptr<KafkaClient> client, Request request, int16_t version,
                                    ErrorOf error_of);
  Task<bool> begin_transaction(LoneTransaction& transaction);
  Task<std::optional<Offset>> produce_one(const LoneTransaction& transaction);
  Task<std::optional<Offset>> end_by_force(const LoneTransaction& transaction);
  Task<void> end_transaction(const LoneTransaction& transaction);

  // --- nemesis_disks.cc
  Task<void> io_errors();
  Task<void> full_disk();
  Task<void> no_room_for_files();
  Task<void> slow_disk();
  Task<void> faulty_start();
  Task<void> lost_folder();
  Task<void> old_snapshot();
  Task<void> old_snapshot_of_a_partition(SimulatedBroker& broker);
  Task<void> bit_flip();
  struct ClosedSegment {
    Uuid topic_id;
    PartitionIndex index;
    std::string path;
  };
  std::optional<ClosedSegment> closed_segment(SimulatedBroker& broker);
  void flip_a_bit(BrokerId id, const ClosedSegment& segment);

  Task<void> restart(SimulatedBroker& broker, End end);
  // Long enough for every session that is about to end.
  Task<void> calm();
  Task<void> wait_until_out_of_sync(BrokerId id);
  void slow_down_links();
  Task<void> slow_disks_everywhere();
  // A broker that comes back at once is there again before the controller has heard that it was gone.
  Task<void> start_despite_cuts(SimulatedBroker& broker);
  Task<void> start_at_once(SimulatedBroker& broker);
  Task<void> end(SimulatedBroker& broker, End end);
  static Task<std::vector<Offset>> log_starts(SimulatedBroker& broker);
  // Where the loose rule lets a power cut take what was not synced.
  Task<History::SyncedEnds> synced_ends(SimulatedBroker& broker);
  void step_clock(SimulatedNode& node, Milliseconds by);
  // Stops a follower in order and starts it when it is in sync nowhere; false: it could not be done.
  Task<bool> let_rejoin(SimulatedBroker& follower);
  // A replica of a partition of the workload that follows another broker than the controller; null: there is none.
  const PartitionState* led_elsewhere(BrokerId follower) const;
  const PartitionState* led_by_preferred() const;
  const PartitionState* now(const PartitionState& state) const;
  Task<void> elect_preferred_leaders();
  void block_both_ways(BrokerId one, BrokerId other);
  // A broker that may lose data goes, and comes back with what `change` has made of its disk.
  Task<void> change_disk(SimulatedBroker& broker, UniqueFunction<void(SimulatedFileSystem&)> change);
  static std::string folder_of(SimulatedBroker& broker, const Partition& partition);
  static Task<std::optional<Offset>> durable_end(std::weak_ptr<Partition> weak);
  // Of its partitions.
  static std::vector<std::string> folders_on(SimulatedBroker& broker);

  Parts parts_;
  FaultAtlas& atlas_;
  bool alone_ = true;      // one fault in this round
  bool may_lose_ = false;  // the present fault has seen to it that a loss does no harm
  int faults_ = 0;
  int passing_topics_ = 0;
  SimulatedBroker* watched_closely_ = nullptr;
  std::set<BrokerId> held_;
  std::set<BrokerId> faulty_disks_;
  std::map<std::string, Milliseconds> clock_offsets_;  // by machine
  // Called with each follower that comes into an in-sync set, at that very moment, until it returns true.
  UniqueFunction<bool(const StoreWatch::Joined&)> trap_;
  std::optional<std::string> problem_;
};

}  // namespace naru::simulation
