// What needs several things to come together: chance alone would take too many seeds.
#include <algorithm>
#include <utility>

#include "broker/hosted_partitions.h"
#include "broker/transaction_coordinators.h"
#include "kafka_protocol/messages/alter_partition_request.h"
#include "kafka_protocol/messages/alter_partition_response.h"
#include "kafka_protocol/messages/elect_leaders_request.h"
#include "kafka_protocol/messages/elect_leaders_response.h"
#include "kafka_protocol/messages/fetch_request.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "simulation/kafka_client.h"
#include "simulation/nemesis.h"

namespace naru::simulation {
namespace {

constexpr int16_t kAlterPartitionVersion = 3, kFetchVersion = 15, kElectLeadersVersion = 2;
constexpr Duration kCallTimeout = 10s;
// Followers that fetch nothing for so long are out of sync, and a little more.
constexpr Duration kLagTime = 2s;
constexpr Duration kLongerThanWithoutContact = 30s;
constexpr Duration kAnswerTime = 200ms;  // of a broker that can be reached

bool holds(const std::vector<BrokerId>& brokers, BrokerId id) {
  return std::ranges::find(brokers, id) != brokers.end();
}

}  // namespace

void Nemesis::store_changed() {
  for (const StoreWatch::Joined& joined : parts_.store.joined()) {
    if (trap_ && trap_(joined)) trap_ = {};
  }
}

void Nemesis::block_both_ways(BrokerId one, BrokerId other) {
  network().block(host_of(one), host_of(other));
  network().block(host_of(other), host_of(one));
}

Task<bool> Nemesis::let_rejoin(SimulatedBroker& follower) {
  if (!follower.running()) co_return false;
  co_await end(follower, End::in_order);
  if (follower.running()) co_return false;
  co_await wait_until_out_of_sync(follower.id());
  co_await start_despite_cuts(follower);
  co_return true;
}

const PartitionState* Nemesis::led_elsewhere(BrokerId follower) const {
  std::vector<const PartitionState*> found;
  for (const TopicMetadataPtr& topic : parts_.store.image().topics()) {
    if (!topic->name.starts_with("topic-")) continue;
    for (const PartitionStatePtr& state : topic->partitions) {
      const bool fits = state->leader != kNoBroker && state->leader != follower && state->leader != controller();
      if (fits && holds(state->replicas, follower)) found.push_back(state.get());
    }
  }
  return found.empty() ? nullptr : found[parts_.world.random().below(found.size())];
}

const PartitionState* Nemesis::now(const PartitionState& state) const {
  const TopicMetadata* topic = parts_.store.image().find_topic(state.topic_id);
  return topic == nullptr ? nullptr : topic->partition(state.index);
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
  co_await start_despite_cuts(joining);
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
    co_await start_despite_cuts(joining);
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
  co_await start_despite_cuts(joining);
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

// A leader comes back before it is missed, and leads on with what it has; what it knew of the others is gone. A replica
// that is far behind fetches before those do that are in sync.
Task<void> Nemesis::restarted_before_a_member_fetches() {
  if (!alone_) co_return;
  const auto held = hold_a_broker();
  const PartitionState* found = held ? led_elsewhere((*held)->id()) : nullptr;
  if (found == nullptr || found->isr.size() < 3) co_return;
  const PartitionState state = *found;
  SimulatedBroker& behind = **held;
  const auto leader = hold(state.leader);
  if (!leader) co_return;
  block_both_ways(state.leader, behind.id());
  if (co_await let_rejoin(behind)) {
    co_await pause(500ms);
    for (const BrokerId id : state.replicas) {
      if (id != state.leader && id != behind.id()) network().slow_down(host_of(id), host_of(state.leader), 3s);
    }
    co_await end(**leader, parts_.plan.faults.kills ? End::kill : End::power_cut);
    network().unblock_all();
    if (!(*leader)->running()) co_await start_at_once(**leader);
    co_await pause(1s);
  }
  network().unblock_all();
  network().heal_slow_links();
}

// The in-sync set has grown, and the leader does not hear of it: the controller's answer is lost on its way, or the
// service's on its way to the controller. The new member fetches no more.
Task<void> Nemesis::lost_answer() {
  if (!alone_) co_return;
  const auto held = hold_a_broker();
  if (!held || (*held)->id() == controller()) co_return;
  const BrokerId joining = (*held)->id();
  const bool by_service = random().one_in(2);
  std::optional<BrokerId> unaware;  // the leader, once the trap is sprung
  trap_ = [this, joining, by_service, &unaware](const StoreWatch::Joined& joined) {
    if (joined.broker != joining || (!by_service && joined.leader == controller())) return false;
    if (!by_service) {
      network().block(host_of(controller()), host_of(joined.leader));
      network().cut_between(host_of(controller()), host_of(joined.leader));
    }
    // It neither hears that the change is committed nor may look: it can tell the leader nothing but an error.
    if (by_service && !random().one_in(3)) parts_.cluster.coordination().expire(host_of(controller()));
    network().block(host_of(joining), host_of(joined.leader));
    unaware = joined.leader;
    return true;
  };
  for (const auto& leader : parts_.cluster.brokers()) {  // nobody joins before all is prepared
    if (leader->id() != joining) network().block(leader->node().host(), host_of(controller()));
  }
  if (co_await let_rejoin(**held)) {
    if (by_service) parts_.cluster.coordination().set_faults({.watch_delay_max = 5s, .lost_answer_one_in = 2});
    network().unblock_all();
    for (int tries = 0; tries < 40 && !unaware; ++tries) co_await sleep(100ms);
    if (unaware && !random().one_in(3)) {
      co_await cut_off_for_long(*unaware);
    } else if (unaware) {
      co_await pause(kLagTime + 1s);
    }
  }
  trap_ = {};
  network().unblock_all();
  parts_.cluster.coordination().set_faults({});
}

// For longer than a leader without contact may go on. Its clients still reach it.
Task<void> Nemesis::cut_off_for_long(BrokerId leader) {
  const std::string host = host_of(leader);
  for (const auto& other : parts_.cluster.brokers()) {
    if (other->id() != leader) block_both_ways(leader, other->id());
  }
  parts_.cluster.coordination().set_reachable(host, false);
  co_await pause(kLongerThanWithoutContact);
  parts_.cluster.coordination().set_reachable(host, true);
}

// A leader's request for a larger in-sync set comes once more when the set has grown and shrunk again.
Task<void> Nemesis::late_proposal() {
  if (!alone_) co_return;
  const auto held = hold_a_broker();
  if (!held || (*held)->id() == controller()) co_return;
  const BrokerId joining = (*held)->id();
  if (!co_await let_rejoin(**held)) co_return;
  co_await pause(kLagTime / 2);
  const PartitionState* found = led_elsewhere(joining);
  if (found == nullptr || !holds(found->isr, joining)) co_return;
  const PartitionState grown = *found;
  kafka::AlterPartitionRequest request;
  request.broker_id = grown.leader;
  request.topics.push_back({.topic_id = grown.topic_id});
  auto& asked = request.topics.back().partitions.emplace_back();
  asked.partition_index = grown.index;
  asked.leader_epoch = grown.leader_epoch;
  asked.partition_epoch = grown.partition_epoch - 1;
  const MetadataImage& image = parts_.store.image();
  for (const BrokerId id : grown.isr) {
    if (image.find_broker(id) == nullptr) co_return;
    asked.new_isr_with_epochs.push_back({.broker_id = id, .broker_epoch = image.find_broker(id)->epoch});
  }
  request.broker_epoch = image.find_broker(grown.leader)->epoch;
  network().block(host_of(joining), host_of(grown.leader));
  const auto is_out = [&] { return now(grown) == nullptr || !holds(now(grown)->isr, joining); };
  for (int tries = 0; tries < 120 && !is_out(); ++tries) co_await sleep(100ms);
  co_await pause(500ms);
  if (SimulatedBroker* at = find(controller()); at != nullptr && is_out()) {
    const auto client = co_await KafkaClient::connect(parts_.harness, at->address());
    if (client) {
      static_cast<void>(co_await (*client)->call<kafka::AlterPartitionResponse>(std::move(request),
                                                                                kAlterPartitionVersion, kCallTimeout));
      (*client)->close();
    }
  }
  co_await pause(300ms);
  network().unblock_all();
}

// A follower's fetch waits at its leader, is left there by a follower that ends, and comes to its end after the next
// incarnation of that follower was heard of: it says nothing of that one.
Task<void> Nemesis::late_fetch() {
  if (!alone_) co_return;
  const auto held = hold_a_broker();
  if (!held) co_return;
  SimulatedBroker& follower = **held;
  const PartitionState* found = led_elsewhere(follower.id());
  const BrokerMetadata* registered = parts_.store.image().find_broker(follower.id());
  if (found == nullptr || registered == nullptr) co_return;
  const PartitionState state = *found;
  const int64_t epoch = registered->epoch;
  SimulatedBroker* leader = find(state.leader);
  const auto partition = follower.broker().partitions().find(state.topic_id, state.index).partition;
  if (leader == nullptr || !leader->running() || !partition) co_return;
  const FollowerPosition had = co_await partition->follower_position();
  if (!had.status.ok() || had.leader_epoch != state.leader_epoch) co_return;

  const auto client = co_await KafkaClient::connect(parts_.harness, leader->address());
  if (!client) co_return;
  kafka::FetchRequest request{.max_wait_ms = 5000, .min_bytes = 1 << 20};
  request.replica_state = {.replica_id = follower.id(), .replica_epoch = epoch};
  request.topics.push_back({.topic_id = state.topic_id});
  request.topics.back().partitions.push_back({.partition = state.index,
                                              .current_leader_epoch = state.leader_epoch,
                                              .fetch_offset = had.offset,
                                              .last_fetched_epoch = had.last_fetched_epoch,
                                              .log_start_offset = had.log_start,
                                              .partition_max_bytes = 1 << 20,
                                              .flushed_offset = had.flushed_end});
  bool answered = false;
  std::optional<MonotonicTime> later_heard;
  TaskGroup tasks;
  const auto fetch = [&]() -> Task<void> {
    const auto response =
        co_await (*client)->call<kafka::FetchResponse>(std::move(request), kFetchVersion, kCallTimeout);
    answered = true;
    if (!response || response->error_code != ErrorCode::none || response->responses.empty()) co_return;
    // The answer was on its way for a moment.
    const bool is_later = later_heard && parts_.harness.clock.now() - *later_heard > kAnswerTime;
    // Where the logs part is told to everybody, and counts for nothing.
    const auto& answer = response->responses[0].partitions.at(0);
    const bool counted = answer.error_code == ErrorCode::none && answer.diverging_epoch.end_offset < Offset(0);
    if (counted && is_later) {
      problem_ =
          fmt::format("a fetch of an earlier incarnation of broker {} counts after one of a later", follower.id());
    }
  };
  tasks.spawn(fetch());
  co_await sleep(20ms);
  // What it has got until its end it has after its start, and that says nothing of the leader.
  const Offset kept = follower.running() ? (co_await partition->follower_position()).offset : had.offset;
  co_await end(follower, parts_.plan.faults.kills ? End::kill : End::power_cut);
  if (!follower.running()) co_await start_at_once(follower);
  while (!answered && !later_heard && follower.running()) {
    const auto hosted = follower.broker().partitions().find(state.topic_id, state.index).partition;
    const FollowerPosition has = hosted ? co_await hosted->follower_position() : FollowerPosition();
    // It has got something from this leader.
    const bool heard = hosted && has.status.ok() && has.leader_epoch == state.leader_epoch && has.offset > kept;
    if (heard) later_heard = parts_.harness.clock.now();
    co_await sleep(20ms);
  }
  co_await tasks.join();
  (*client)->close();
}

// Leadership goes to the preferred replica and back, each time before the in-sync set has what was written last: the
// first leader has records of its epoch that nobody else has, and a follower has those of the leader in between.
Task<void> Nemesis::there_and_back() {
  const PartitionState* found = alone_ ? led_by_preferred() : nullptr;
  if (found == nullptr) co_return;
  const PartitionState first = *found;
  const auto held = hold(first.leader);
  if (!held) co_return;
  SimulatedBroker& preferred = **held;
  if (!co_await let_rejoin(preferred)) co_return;
  const BrokerId second = first.replicas[1];
  const auto is_ready = [&] { return now(first)->leader == second && now(first)->isr.size() == first.replicas.size(); };
  for (int tries = 0; tries < 100 && now(first) != nullptr && !is_ready(); ++tries) co_await sleep(100ms);
  if (now(first) == nullptr || !is_ready()) co_return;
  for (const BrokerId id : first.replicas) network().block(host_of(second), host_of(id));
  // Either of the two may write more, so that its records reach behind the other's.
  const bool second_has_more = random().one_in(2);
  co_await pause(second_has_more ? 900ms : 400ms);
  co_await elect_preferred_leaders();
  const auto leads = [&] {
    const HostedPartition hosted = preferred.broker().partitions().find(first.topic_id, first.index);
    return hosted && hosted.partition->is_leader();
  };
  for (int tries = 0; tries < 50 && !leads(); ++tries) co_await sleep(20ms);
  network().block(host_of(preferred.id()), host_of(second));
  network().block(host_of(preferred.id()), host_of(controller()));  // the set stays as it is
  co_await pause(second_has_more ? 300ms : 600ms);
  co_await end(preferred, parts_.plan.faults.kills ? End::kill : End::power_cut);
  co_await calm();
  network().unblock_all();
  if (!preferred.running()) co_await start_despite_cuts(preferred);
}

// The start of a log has moved, and what is below is about to be removed, with all that it says of producers.
Task<void> Nemesis::ended_while_removing() {
  const auto held = hold_a_broker();
  if (!held) co_return;
  SimulatedBroker& broker = **held;
  broker.process().scheduler().set_disk_timing({.usual_min = 10ms, .usual_max = 100ms});
  const std::vector<Offset> before = co_await log_starts(broker);
  for (int tries = 0; tries < 400 && broker.running() && co_await log_starts(broker) == before; ++tries) {
    co_await pause(10ms);
  }
  co_await restart(broker, parts_.plan.faults.kills ? End::kill : End::power_cut);
}

Task<std::vector<Offset>> Nemesis::log_starts(SimulatedBroker& broker) {
  std::vector<Offset> starts;
  for (const auto& partition : broker.broker().partitions().all()) {
    starts.push_back((co_await partition->look(kNoLeaderEpoch)).log_start_offset);
  }
  co_return starts;
}

// Of three replicas or more, with another one than the controller to take its place.
const PartitionState* Nemesis::led_by_preferred() const {
  std::vector<const PartitionState*> found;
  for (const TopicMetadataPtr& topic : parts_.store.image().topics()) {
    if (!topic->name.starts_with("topic-")) continue;
    for (const PartitionStatePtr& state : topic->partitions) {
      const bool fits = state->replicas.size() > 2 && state->replicas.front() == state->leader;
      if (fits && controller() != state->leader && controller() != state->replicas[1]) found.push_back(state.get());
    }
  }
  return found.empty() ? nullptr : found[parts_.world.random().below(found.size())];
}

Task<void> Nemesis::elect_preferred_leaders() {
  SimulatedBroker* at = find(controller());
  if (at == nullptr) co_return;
  const auto client = co_await KafkaClient::connect(parts_.harness, at->address());
  if (!client) co_return;
  kafka::ElectLeadersRequest request{.timeout_ms = 1000};
  request.topic_partitions.reset();
  static_cast<void>(co_await (*client)->call<kafka::ElectLeadersResponse>(request, kElectLeadersVersion, kCallTimeout));
  (*client)->close();
}

}  // namespace naru::simulation
