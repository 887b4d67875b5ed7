#include "simulation/nemesis.h"

#include <iterator>
#include <utility>

#include "async/task_group.h"
#include "broker/transaction_coordinators.h"

namespace naru::simulation {
namespace {
constexpr Duration kCalm = 2s;
}

class Nemesis::Held {
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

Task<void> Nemesis::sleep(Duration longest) {
  const Duration length(static_cast<int64_t>(1 + random().below(static_cast<uint64_t>(longest.count()))));
  ignore(co_await sleep_until(parts_.harness.scheduler, parts_.harness.clock.now() + length));
}

Task<void> Nemesis::run() {
  for (int round = 0; round < parts_.plan.faults.rounds; ++round) {
    co_await sleep(1s);
    const auto faults = menu();
    if (faults.empty()) continue;
    TaskGroup at_once;
    const int count = !parts_.cluster.is_alone() && random().one_in(3) ? 2 : 1;
    alone_ = count == 1;
    for (int i = 0; i < count; ++i) {
      ++faults_;
      at_once.spawn((this->*faults[random().below(faults.size())])());
    }
    co_await at_once.join();
  }
  co_await sleep(500ms);
}

std::vector<Nemesis::Fault> Nemesis::menu() const {
  const FaultPlan& faults = parts_.plan.faults;
  std::vector<Fault> menu;
  const auto add = [&menu](bool on, Fault fault) {
    if (on) menu.push_back(fault);
  };
  add(faults.power_cuts, &Nemesis::power_cut);
  add(faults.kills, &Nemesis::kill);
  add(faults.clean_restarts, &Nemesis::clean_restart);
  add(faults.io_errors, &Nemesis::io_errors);
  add(faults.full_disk, &Nemesis::full_disk);
  add(faults.slow_disk, &Nemesis::slow_disk);
  add(faults.cut_connections, &Nemesis::cut_connections);
  add(faults.clock_steps, &Nemesis::clock_step);
  if (parts_.cluster.is_alone()) return menu;
  add(faults.power_cuts && parts_.plan.synced_acks, &Nemesis::power_cut_everywhere);
  add(faults.wiped_disks, &Nemesis::wiped_disk);
  add(faults.wiped_disks, &Nemesis::wiped_while_joining);
  add(faults.kills && faults.slow_links, &Nemesis::ended_while_joining);
  // Twice as often as others: what it aims at lasts for milliseconds.
  const bool copies = (faults.kills || faults.power_cuts) && parts_.plan.copy_stages > 0;
  for (int i = 0; i < 2; ++i) add(copies, &Nemesis::ended_while_committing);
  add(faults.cut_links, &Nemesis::cut_links);
  add(faults.slow_links, &Nemesis::slow_links);
  add(faults.isolation, &Nemesis::isolate);
  add(faults.pauses, &Nemesis::pause_a_broker);
  add(faults.coordination, &Nemesis::disturb_coordination);
  return menu;
}

std::optional<Nemesis::Held> Nemesis::hold_a_broker() {
  std::vector<SimulatedBroker*> free;
  for (const auto& broker : parts_.cluster.brokers()) {
    if (broker->running() && !held_.contains(broker->id())) free.push_back(broker.get());
  }
  if (free.empty()) return std::nullopt;
  return Held(*this, *free[random().below(free.size())]);
}

std::optional<Nemesis::Held> Nemesis::hold_coordinator_of(const std::string& transactional_id) {
  for (const auto& broker : parts_.cluster.brokers()) {
    if (!broker->running() || held_.contains(broker->id())) continue;
    if (broker->broker().transactions().coordinator_of(transactional_id) == broker->id()) return Held(*this, *broker);
  }
  return std::nullopt;
}

// --- Ends ------------------------------------------------------------------------------------------------------------

// While a broker is gone and the controller has not noticed, the loss of another one's session may leave the set with
// nobody but the one who has lost its data.
Task<void> Nemesis::calm() {
  ignore(co_await sleep_until(parts_.harness.scheduler, parts_.harness.clock.now() + kCalm));
}

Task<void> Nemesis::power_cut() {
  may_lose_ = alone_;
  if (may_lose_ && !parts_.cluster.is_alone() && !parts_.plan.synced_acks) co_await calm();
  if (const auto broker = hold_a_broker()) co_await restart(**broker, End::power_cut);
  may_lose_ = false;
}
Task<void> Nemesis::kill() {
  if (const auto broker = hold_a_broker()) co_await restart(**broker, End::kill);
}
Task<void> Nemesis::clean_restart() {
  if (const auto broker = hold_a_broker()) co_await restart(**broker, End::in_order);
}

Task<void> Nemesis::restart(SimulatedBroker& broker, End how) {
  co_await end(broker, how);
  if (broker.running()) co_return;
  if (!parts_.cluster.is_alone() && random().one_in(3)) co_return co_await start_at_once(broker);
  co_await sleep(parts_.cluster.is_alone() || random().one_in(2) ? 500ms : 4s);
  co_await broker.start();
}

Task<void> Nemesis::start_at_once(SimulatedBroker& broker) {
  parts_.cluster.coordination().set_faults({.watch_delay_max = 2s});
  co_await broker.start();
  parts_.cluster.coordination().set_faults({});
}

// What the atlas does not allow is left.
Task<void> Nemesis::end(SimulatedBroker& broker, End how) {
  const bool clusters_loose = !parts_.cluster.is_alone() && !parts_.plan.synced_acks;
  if (clusters_loose && how == End::power_cut && !(may_lose_ && atlas_.may_lose_data(broker.id()))) how = End::kill;
  if (clusters_loose && how == End::kill && !atlas_.may_end_uncleanly()) co_return;
  switch (how) {
    case End::power_cut:
      atlas_.ended(broker.id(), clusters_loose ? FaultAtlas::End::lossy : FaultAtlas::End::unclean);
      broker.cut_power();
      parts_.workload.power_was_cut();
      break;
    case End::kill:
      atlas_.ended(broker.id(), FaultAtlas::End::unclean);
      broker.kill();
      break;
    case End::in_order: {
      const Status stopped = co_await broker.stop_cleanly();
      if (!stopped.ok() && !faulty_disks_.contains(broker.id())) {
        problem_ = "a clean shutdown failed: " + stopped.to_string();
      }
    }
  }
}

Task<void> Nemesis::end_all() {
  const auto how = static_cast<End>(random().below(3));
  const bool may_cut = parts_.cluster.is_alone() || parts_.plan.synced_acks;
  for (const auto& broker : parts_.cluster.brokers()) {
    if (broker->running()) co_await end(*broker, how == End::power_cut && !may_cut ? End::kill : how);
  }
}

Task<void> Nemesis::power_cut_everywhere() {
  std::vector<Held> all;
  while (auto broker = hold_a_broker()) all.push_back(std::move(*broker));
  if (random().one_in(2)) co_await slow_disks_everywhere();
  for (const Held& broker : all) co_await end(*broker, End::power_cut);
  co_await sleep(3s);
  TaskGroup starts;
  for (const Held& broker : all) starts.spawn(broker->start());
  co_await starts.join();
}

// So that much is written, and little is synced, when the power goes.
Task<void> Nemesis::slow_disks_everywhere() {
  for (const auto& broker : parts_.cluster.brokers()) {
    if (broker->running()) broker->process().scheduler().set_disk_timing({.usual_min = 20ms, .usual_max = 300ms});
  }
  co_await sleep(1s);
}

// Its process dies with it, and comes back on an empty one.
Task<void> Nemesis::wiped_disk() {
  if (alone_) co_await calm();
  const auto broker = hold_a_broker();
  if (!broker) co_return;
  if (!alone_) {
    // Others may go at the same time: only what nobody needs is wiped.
    co_await end(**broker, End::in_order);
    co_await wait_until_out_of_sync((*broker)->id());
    co_await (*broker)->start();
    // A topic may have been made meanwhile, and its other replicas may be about to end.
    if (atlas_.is_in_sync((*broker)->id())) co_return;
  }
  if (!atlas_.may_lose_data((*broker)->id())) co_return;
  atlas_.ended((*broker)->id(), FaultAtlas::End::lossy);
  (*broker)->wipe();
  if (random().one_in(2)) co_return co_await start_at_once(**broker);
  co_await sleep(4s);
  co_await (*broker)->start();
}

Task<void> Nemesis::wait_until_out_of_sync(BrokerId id) {
  for (int tries = 0; tries < 50 && atlas_.is_in_sync(id); ++tries) co_await sleep(200ms);
}

// The disk is swapped after leaders have asked for the broker to be in sync, and before the controller hears of it.
Task<void> Nemesis::wiped_while_joining() {
  if (!alone_) co_return;
  co_await calm();
  const auto held = hold_a_broker();
  const BrokerId controller = parts_.store.image().cluster().controller_id;
  if (!held || (*held)->id() == controller) co_return;
  SimulatedBroker& joining = **held;
  co_await end(joining, End::in_order);
  co_await wait_until_out_of_sync(joining.id());
  co_await joining.start();
  for (const auto& other : parts_.cluster.brokers()) {
    if (other->id() == controller || other->id() == joining.id()) continue;
    for (const auto& to : parts_.cluster.brokers()) {
      if (to->id() == controller) network().block(other->node().host(), to->node().host());
    }
  }
  co_await sleep(1s);
  if (atlas_.may_lose_data(joining.id())) {
    atlas_.ended(joining.id(), FaultAtlas::End::lossy);
    joining.wipe();
    for (const auto& other : parts_.cluster.brokers()) {
      if (other->id() != controller && other->id() != joining.id()) {
        network().block(joining.node().host(), other->node().host());
      }
    }
    co_await joining.start();
  }
  network().unblock_all();
}

// A leader ends while a replica that it could not get into the set yet is just behind it, and its successor knows of
// less than was promised: what the replica has may lie in between.
Task<void> Nemesis::ended_while_joining() {
  if (!alone_) co_return;
  const auto held = hold_a_broker();
  const BrokerId controller = parts_.store.image().cluster().controller_id;
  if (!held || (*held)->id() == controller) co_return;
  SimulatedBroker& joining = **held;
  co_await end(joining, End::in_order);
  co_await wait_until_out_of_sync(joining.id());
  slow_down_links();
  for (const auto& other : parts_.cluster.brokers()) {
    for (const auto& to : parts_.cluster.brokers()) {
      const bool is_leader = other->id() != controller && other->id() != joining.id();
      if (is_leader && to->id() == controller) network().block(other->node().host(), to->node().host());
    }
  }
  co_await joining.start();
  co_await sleep(2s);
  const auto ended = hold_a_broker();
  if (ended && (*ended)->id() != controller) co_await end(**ended, End::kill);
  network().unblock_all();
  co_await sleep(4s);
  network().heal_slow_links();
  if (ended && !(*ended)->running()) co_await (*ended)->start();
}

// The coordinator ends just when it is asked to commit: what it has decided may be in its own log alone, and so may be
// the markers in partitions that it leads.
Task<void> Nemesis::ended_while_committing() {
  const bool has_slow_links = alone_ && parts_.plan.faults.slow_links;
  if (has_slow_links) slow_down_links();
  const auto& committing = parts_.workload.chain().committing();
  for (int tries = 0; tries < 2000 && committing.empty(); ++tries) co_await sleep(2ms);
  if (!committing.empty()) {
    const auto coordinator = hold_coordinator_of(*committing.begin());
    co_await sleep(has_slow_links ? 50ms : 5ms);
    if (coordinator) co_await restart(**coordinator, parts_.plan.faults.kills ? End::kill : End::power_cut);
  }
  if (has_slow_links) network().heal_slow_links();
}

// --- Faults of a cluster ---------------------------------------------------------------------------------------------

// Some links between brokers, each in one direction.
Task<void> Nemesis::cut_links() {
  for (const auto& from : parts_.cluster.brokers()) {
    for (const auto& to : parts_.cluster.brokers()) {
      if (from != to && random().one_in(3)) network().block(from->node().host(), to->node().host());
    }
  }
  co_await sleep(5s);
  network().unblock_all();
}

Task<void> Nemesis::slow_links() {
  slow_down_links();
  co_await sleep(5s);
  network().heal_slow_links();
}

void Nemesis::slow_down_links() {
  for (const auto& from : parts_.cluster.brokers()) {
    for (const auto& to : parts_.cluster.brokers()) {
      if (from != to && random().one_in(3)) {
        network().slow_down(from->node().host(), to->node().host(), Milliseconds(1 + random().below(500)));
      }
    }
  }
}

// One broker hears nobody, or nobody hears it, or both; clients and the coordination service, each or not.
Task<void> Nemesis::isolate() {
  const auto broker = hold_a_broker();
  if (!broker) co_return;
  const std::string host = (*broker)->node().host();
  const bool mute = random().one_in(2);
  const bool deaf = !mute || random().one_in(2);
  std::vector<std::string> others;
  for (const auto& other : parts_.cluster.brokers()) {
    if (other->node().host() != host) others.push_back(other->node().host());
  }
  if (random().one_in(2)) others.emplace_back(kHarnessHost);
  for (const std::string& other : others) {
    if (mute) network().block(host, other);
    if (deaf) network().block(other, host);
  }
  if (random().one_in(2)) {
    if (mute) parts_.cluster.coordination().set_requests_arrive(host, false);
    if (deaf) parts_.cluster.coordination().set_answers_arrive(host, false);
  }
  co_await sleep(6s);
  network().unblock_all();
  parts_.cluster.coordination().set_reachable(host, true);
}

// For longer than its session, now and then: it wakes up as somebody who does not know what has happened.
Task<void> Nemesis::pause_a_broker() {
  const auto broker = hold_a_broker();
  if (!broker) co_return;
  const auto milliseconds = static_cast<int64_t>(100 + random().below(5000));
  (*broker)->process().pause(Milliseconds(milliseconds));
  co_await sleep(Milliseconds(milliseconds) + 1s);
}

Task<void> Nemesis::disturb_coordination() {
  SimulatedCoordination& coordination = parts_.cluster.coordination();
  switch (random().below(3)) {
    case 0:
      coordination.set_down(true);
      break;
    case 1:
      coordination.expire(parts_.cluster.random_broker().node().host());
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

// --- Faults of one machine -------------------------------------------------------------------------------------------

// A disk that fails may take logs offline for good, so the broker is restarted afterwards, as an operator would.
Task<void> Nemesis::io_errors() {
  const auto broker = hold_a_broker();
  if (!broker) co_return;
  SimulatedFileSystem& disk = (*broker)->node().disk();
  faulty_disks_.insert((*broker)->id());
  const FileOperation kinds[] = {FileOperation::read,           FileOperation::write,  FileOperation::sync_data,
                                 FileOperation::sync_directory, FileOperation::create, FileOperation::rename};
  disk.set_fault_rate(kinds[random().below(std::size(kinds))], 2 + random().below(30));
  co_await sleep(2s);
  disk.clear_faults();
  co_await restart(**broker, random().one_in(2) ? End::power_cut : End::kill);
  faulty_disks_.erase((*broker)->id());
}

Task<void> Nemesis::full_disk() {
  const auto broker = hold_a_broker();
  if (!broker) co_return;
  SimulatedFileSystem& disk = (*broker)->node().disk();
  faulty_disks_.insert((*broker)->id());
  const auto space = disk.space("/");
  disk.set_capacity((space ? space->total_bytes - space->free_bytes : 0) + random().below(4096));
  co_await sleep(2s);
  disk.set_capacity(UINT64_MAX);
  // Logs survive a full disk; the store of the metadata may have gone offline.
  co_await restart(**broker, random().one_in(2) ? End::power_cut : End::kill);
  faulty_disks_.erase((*broker)->id());
}

Task<void> Nemesis::slow_disk() {
  const auto broker = hold_a_broker();
  if (!broker) co_return;
  (*broker)->process().scheduler().set_disk_timing(
      {.usual_min = 1ms, .usual_max = 80ms, .stall_one_in = 20, .stall_max = 5s});
  co_await sleep(3s);
  // Now and then it ends with what was not synced in time.
  if (!parts_.cluster.is_alone() && random().one_in(3)) co_return co_await restart(**broker, End::power_cut);
  (*broker)->process().scheduler().set_disk_timing({});
}

Task<void> Nemesis::cut_connections() {
  network().options.cut_one_in = random().one_in(2) ? 0 : 20 + random().below(200);
  network().cut_all();
  co_await sleep(1s);
  network().options.cut_one_in = 0;
}

Task<void> Nemesis::clock_step() {
  const auto minutes = static_cast<int64_t>(random().below(120)) - 60;
  step_clock(parts_.cluster.random_broker().node(), Milliseconds(minutes * 60'000));
  co_return;
}

void Nemesis::step_clock(SimulatedNode& node, Milliseconds by) {
  node.clock().step_wall(by);
  clock_offsets_[node.host()] += by;
}

void Nemesis::heal() {
  for (const auto& broker : parts_.cluster.brokers()) {
    SimulatedNode& node = broker->node();
    step_clock(node, -clock_offsets_[node.host()]);  // else records of today may be too far in the broker's future
    node.disk().clear_faults();
    node.disk().set_capacity(UINT64_MAX);
  }
  network().options.cut_one_in = 0;
  network().unblock_all();
  network().heal_slow_links();
  parts_.cluster.coordination().heal();
}

}  // namespace naru::simulation
