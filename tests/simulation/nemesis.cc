#include "simulation/nemesis.h"

#include <iterator>
#include <utility>

#include "async/task_group.h"
#include "broker/hosted_partitions.h"
#include "broker/transaction_coordinators.h"

namespace naru::simulation {
namespace {
constexpr Duration kCalm = 2s;
}  // namespace

Task<void> Nemesis::sleep(Duration longest) {
  const Duration length(static_cast<int64_t>(1 + random().below(static_cast<uint64_t>(longest.count()))));
  ignore(co_await sleep_until(parts_.harness.scheduler, parts_.harness.clock.now() + length));
}

Task<void> Nemesis::pause(Duration length) {
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
  add(faults.full_disk && !parts_.cluster.is_alone(), &Nemesis::no_room_for_files);
  add(faults.slow_disk, &Nemesis::slow_disk);
  add(faults.cut_connections, &Nemesis::cut_connections);
  add(faults.clock_steps, &Nemesis::clock_step);
  add(faults.day_steps, &Nemesis::day_step);
  add(faults.faulty_starts, &Nemesis::faulty_start);
  const bool removes = parts_.plan.cleanup == Cleanup::remove && (faults.kills || faults.power_cuts);
  add(removes && parts_.cluster.is_alone(), &Nemesis::ended_while_removing);
  if (parts_.cluster.is_alone()) return menu;
  add(faults.power_cuts && parts_.plan.synced_acks, &Nemesis::power_cut_everywhere);
  add(faults.wiped_disks, &Nemesis::wiped_disk);
  add(faults.wiped_disks, &Nemesis::wiped_while_joining);
  add(faults.kills && faults.slow_links, &Nemesis::ended_while_joining);
  const bool ends = faults.kills || (faults.power_cuts && parts_.plan.synced_acks);
  add(ends && faults.slow_links, &Nemesis::restarted_before_a_member_fetches);
  add(ends && faults.cut_connections, &Nemesis::late_fetch);
  add(faults.slow_links, &Nemesis::ended_while_verified);
  add(faults.cut_links, &Nemesis::led_again_at_once);
  add(faults.lost_answers, &Nemesis::late_proposal);
  add(faults.lost_folders, &Nemesis::lost_folder);
  add(faults.old_snapshots, &Nemesis::old_snapshot);
  add(faults.bit_flips, &Nemesis::bit_flip);
  // Twice as often as others: what they aim at lasts for milliseconds, or needs much to come together.
  const bool copies = (faults.kills || faults.power_cuts) && parts_.plan.copy_stages > 0;
  for (int i = 0; i < 2; ++i) {
    add(copies, &Nemesis::ended_while_committing);
    add(faults.lost_answers, &Nemesis::lost_answer);
    add(ends && faults.cut_links, &Nemesis::there_and_back);
  }
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

std::optional<Nemesis::Held> Nemesis::hold(BrokerId id) {
  SimulatedBroker* broker = find(id);
  if (broker == nullptr || !broker->running() || held_.contains(id)) return std::nullopt;
  return Held(*this, *broker);
}

SimulatedBroker* Nemesis::find(BrokerId id) {
  for (const auto& broker : parts_.cluster.brokers()) {
    if (broker->id() == id) return broker.get();
  }
  return nullptr;
}

std::string Nemesis::host_of(BrokerId id) {
  SimulatedBroker* broker = find(id);
  return broker == nullptr ? std::string() : broker->node().host();
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
  return pause(kCalm);
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

// A broker that is cut off from the controller does not start. It may have to: the controller may have moved behind a
// link that is cut until the start is over.
Task<void> Nemesis::start_despite_cuts(SimulatedBroker& broker) {
  TaskGroup starts;
  starts.spawn(broker.start());
  for (int looks = 0; looks < 300 && starts.running() > 0; ++looks) co_await pause(200ms);
  if (starts.running() > 0) network().unblock_all();
  co_await starts.join();
}

Task<void> Nemesis::start_at_once(SimulatedBroker& broker) {
  CoordinationFaults late{.watch_delay_max = 2s};
  if (random().one_in(2)) late.delay_max = 400ms;  // the controller knows of it, and takes its time
  parts_.cluster.coordination().set_faults(late);
  TaskGroup starts;
  starts.spawn(broker.start());
  for (int looks = 0; looks < 20 && starts.running() > 0; ++looks) co_await pause(100ms);
  parts_.cluster.coordination().set_faults({});
  co_await starts.join();
}

// What the atlas does not allow is left.
Task<void> Nemesis::end(SimulatedBroker& broker, End how) {
  const bool clusters_loose = !parts_.cluster.is_alone() && !parts_.plan.synced_acks;
  if (clusters_loose && how == End::power_cut && !(may_lose_ && atlas_.may_lose_data(broker.id()))) how = End::kill;
  if (clusters_loose && how == End::kill && !atlas_.may_end_uncleanly()) co_return;
  switch (how) {
    case End::power_cut: {
      const History::SyncedEnds synced = co_await synced_ends(broker);
      if (!broker.running()) co_return;
      atlas_.ended(broker.id(), clusters_loose ? FaultAtlas::End::lossy : FaultAtlas::End::unclean);
      broker.cut_power();
      parts_.workload.power_was_cut(synced);
      break;
    }
    case End::kill:
      atlas_.ended(broker.id(), FaultAtlas::End::unclean);
      broker.kill();
      break;
    case End::in_order: {
      const Status stopped = co_await broker.stop_cleanly();
      // A log that is offline because it is damaged is not closed in order either.
      const bool may_fail = faulty_disks_.contains(broker.id()) || parts_.plan.faults.bit_flips;
      if (!stopped.ok() && !may_fail) {
        problem_ = "a clean shutdown failed: " + stopped.to_string();
      }
    }
  }
}

Task<History::SyncedEnds> Nemesis::synced_ends(SimulatedBroker& broker) {
  History::SyncedEnds ends;
  if (parts_.plan.promise == Promise::durable) co_return ends;
  for (const auto& partition : broker.broker().partitions().all()) {
    const auto end =
        co_await partition->with_log([](const LogAccess& access) -> Result<Offset> { return access.log.synced_end(); });
    if (end) ends.emplace(PartitionName(partition->identity().topic, partition->identity().index), *end);
  }
  co_return ends;
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

// Forward: what is said to be younger than the broker's clock would be refused.
Task<void> Nemesis::day_step() {
  step_clock(parts_.cluster.random_broker().node(), Milliseconds(25 * 3'600'000));
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
    node.disk().set_room_for_files(true);
  }
  network().options.cut_one_in = 0;
  network().unblock_all();
  network().heal_slow_links();
  parts_.cluster.coordination().heal();
}

}  // namespace naru::simulation
