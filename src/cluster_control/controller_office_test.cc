// Several brokers' controllers on one coordination service, with the faults that such a service allows.
#include "cluster_control/controller_office.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cluster_control/controller_shell.h"
#include "cluster_control/internal_topics.h"
#include "cluster_control/metadata_image_builder.h"
#include "cluster_control/metadata_keys.h"
#include "coordination_store/simulated/run_in_world.h"
#include "coordination_store/simulated/simulated_coordination.h"
#include "foundation/log.h"
#include "foundation/sanitized_testing.h"

namespace naru {
namespace {

constexpr Duration kTimeout = 6s;

// One broker's machine, and what runs on it of the controller.
struct OfficeBroker {
  BrokerId id;
  SimulatedNode* node = nullptr;
  std::unique_ptr<SimulatedProcess> process;
  std::unique_ptr<CoordinationStore> store;
  std::unique_ptr<MetadataPublisher> publisher;
  std::unique_ptr<MetricsRegistry> metrics;
  std::unique_ptr<ControllerShell> shell;
  std::vector<Uuid> directories;
  bool clean = true;
};

class OfficeCluster {
 public:
  explicit OfficeCluster(uint64_t seed, int32_t count = 3) : world_(seed), service_(world_) {
    for (int32_t id = 1; id <= count; ++id) {
      auto& broker = brokers_[id];
      broker.id = BrokerId(id);
      broker.node = &world_.add_node(host(id));
      broker.directories = {{40, static_cast<uint64_t>(id)}};
    }
  }
  ~OfficeCluster() {
    service_.heal();
    for (auto& [id, broker] : brokers_) stop(id);
  }

  static std::string host(int32_t id) { return "broker-" + std::to_string(id); }

  Status start(int32_t id) {
    prepare(id);
    return run(brokers_[id].shell->start(registration(id)));
  }
  void start_all() {
    for (auto& [id, broker] : brokers_) ASSERT_TRUE(start(id).ok());
    world_.run_for(1s);
  }
  // A process with everything but a registration.
  void prepare(int32_t id) {
    OfficeBroker& broker = brokers_[id];
    broker.process = broker.node->start();
    const Seams seams = broker.process->seams();
    broker.store = service_.connect(seams, host(id), kTimeout);
    broker.publisher = std::make_unique<MetadataPublisher>();
    broker.metrics = std::make_unique<MetricsRegistry>();
    broker.shell = std::make_unique<ControllerShell>(ControllerShell::Parts{
        .store = *broker.store,
        .publisher = *broker.publisher,
        .metrics = *broker.metrics,
        .config = config_,
        .clock = seams.clock,
        .random = seams.random,
        .scheduler = seams.scheduler,
        .session_timeout = kTimeout,
        .reopen_store = [this, id, seams] { return reopen(id, seams); },
    });
  }
  BrokerRegistration registration(int32_t id) {
    OfficeBroker& broker = brokers_[id];
    std::vector<DataFolder> folders;
    for (const Uuid& directory : broker.directories) folders.push_back({directory});
    return {.id = broker.id,
            .incarnation = broker.process->seams().random.uuid(),
            .listeners = {{"PLAINTEXT", host(id), 9092, 0}},
            .clean_shutdown = broker.clean,
            .folders = std::move(folders)};
  }
  Task<Result<std::unique_ptr<CoordinationStore>>> reopen(int32_t id, Seams seams) {
    co_return service_.connect(seams, host(id), kTimeout);
  }

  // In an orderly way: its session ends at once.
  void stop(int32_t id) {
    OfficeBroker& broker = brokers_[id];
    if (!broker.process) return;
    world_.run_task(broker.shell->stop());
    ignore(run(broker.store->close()));
    bury(broker);
  }
  // The session goes on until it times out.
  void kill(int32_t id) {
    OfficeBroker& broker = brokers_[id];
    broker.node->kill();
    world_.run_task(broker.shell->stop());
    bury(broker);
  }

  template <class T>
  T run(Task<T> task) {
    return run_in(world_, std::move(task));
  }
  void run_for(Duration duration) { world_.run_for(duration); }
  OfficeBroker& broker(int32_t id) { return brokers_[id]; }
  ControllerShell& shell(int32_t id) { return *brokers_[id].shell; }
  SimulatedCoordination& service() { return service_; }
  SimulatedWorld& world() { return world_; }
  uint64_t fenced(int32_t id) {
    const std::string text = brokers_[id].metrics->render_prometheus();
    const std::string name = "\nnaru_controller_fenced_total ";
    return std::stoull(text.substr(text.find(name) + name.size()));
  }

  // 0: nobody.
  int32_t in_office() {
    int32_t found = 0;
    for (auto& [id, broker] : brokers_) {
      if (broker.shell && broker.shell->is_in_office()) {
        EXPECT_EQ(found, 0) << "two controllers";
        found = id;
      }
    }
    return found;
  }
  // The truth, from the service itself.
  MetadataImagePtr stored() const {
    const MetadataImage nothing;
    MetadataImageBuilder builder(nothing);
    for (const auto& [key, entry] : service_.state().entries()) {
      EXPECT_TRUE(builder.put(key, entry.value.view(), entry.version).ok());
    }
    auto image = builder.build();
    EXPECT_TRUE(image) << image.error().to_string();
    return image ? *image : nullptr;
  }
  Status create(int32_t through, std::string name, int32_t partitions = 6) {
    CreateTopicsRequest request;
    request.topics.push_back({.name = std::move(name), .partition_count = partitions});
    return run(shell(through).create_topics(std::move(request))).front().status;
  }

 private:
  void bury(OfficeBroker& broker) {
    broker.shell.reset();
    broker.store.reset();
    broker.publisher.reset();
    broker.metrics.reset();
    broker.process.reset();
  }

  const BrokerConfig config_ = *make_broker_config({});
  SimulatedWorld world_;
  SimulatedCoordination service_;
  std::map<int32_t, OfficeBroker> brokers_;
};

class ControllerOfficeTest : public testing::Test {
 protected:
  ControllerOfficeTest() { set_log_level(LogLevel::error); }
  ~ControllerOfficeTest() override { set_log_level(LogLevel::info); }
};

TEST_F(ControllerOfficeTest, TheFirstBrokerTakesOfficeAndAllKnowIt) {
  OfficeCluster cluster(1);
  cluster.start_all();
  EXPECT_EQ(cluster.in_office(), 1);
  for (const int32_t id : {1, 2, 3}) {
    const ControllerView view = cluster.shell(id).controller();
    EXPECT_EQ(view.id, BrokerId(1));
    EXPECT_EQ(view.epoch, 1);
    EXPECT_EQ(view.here, id == 1);
    EXPECT_EQ(view.listeners.empty(), id == 1) << "the others have to know where it is";
  }
  EXPECT_EQ(cluster.broker(1).publisher->current()->brokers().size(), 3u);
  for (const int32_t id : {1, 2, 3}) EXPECT_TRUE(cluster.stored()->is_settled(BrokerId(id)));
  EXPECT_EQ(cluster.create(2, "elsewhere").code(), ErrorCode::not_controller);
  EXPECT_EQ(cluster.broker(2).publisher->current()->cluster().generation, 0);  // publishes nothing
}

TEST_F(ControllerOfficeTest, TopicsGetThreeReplicasOnThreeBrokers) {
  OfficeCluster cluster(2);
  cluster.start_all();
  ASSERT_TRUE(cluster.create(1, "orders").ok());
  EXPECT_EQ(cluster.stored()->find_topic("orders")->replication_factor(), 3);
}

TEST_F(ControllerOfficeTest, WhenTheControllerDiesAnotherTakesOverAndElectsNewLeaders) {
  OfficeCluster cluster(3);
  cluster.start_all();
  ASSERT_TRUE(cluster.create(1, "orders").ok());
  cluster.kill(1);
  cluster.run_for(kTimeout + 2s);
  const int32_t next = cluster.in_office();
  ASSERT_NE(next, 0);
  EXPECT_EQ(cluster.shell(next).controller().epoch, 2);
  const MetadataImagePtr image = cluster.broker(next).publisher->current();
  for (const PartitionStatePtr& state : image->find_topic("orders")->partitions) {
    EXPECT_NE(state->leader, BrokerId(1));
    EXPECT_NE(state->leader, kNoBroker);
    EXPECT_EQ(state->isr.size(), 2u);
  }
  EXPECT_TRUE(*image == *cluster.stored());
}

TEST_F(ControllerOfficeTest, AControllerThatStopsGivesWayAtOnce) {
  OfficeCluster cluster(4);
  cluster.start_all();
  cluster.stop(1);
  cluster.run_for(1s);
  EXPECT_NE(cluster.in_office(), 0);
}

TEST_F(ControllerOfficeTest, LogsThatAreToldToBeOfflineAreLedByOthersUntilTheyAreToldToBeWell) {
  OfficeCluster cluster(44);
  cluster.start_all();
  ASSERT_TRUE(cluster.create(1, "orders").ok());
  const auto led_by_two = [&cluster] {
    PartitionIds led;
    for (const PartitionStatePtr& state : cluster.stored()->find_topic("orders")->partitions) {
      if (state->leader == BrokerId(2)) led.emplace(state->topic_id, state->index);
    }
    return led;
  };
  const PartitionIds before = led_by_two();
  ASSERT_FALSE(before.empty());
  const int64_t epoch = cluster.shell(2).broker_epoch();
  const auto tell = [&](int64_t told_epoch, const PartitionIds& logs) {
    return cluster.run(cluster.shell(1).report_offline_logs(BrokerId(2), told_epoch, logs)).code();
  };
  EXPECT_EQ(tell(epoch - 1, before), ErrorCode::stale_broker_epoch);
  EXPECT_EQ(led_by_two(), before);
  EXPECT_EQ(tell(epoch, before), ErrorCode::none);
  EXPECT_TRUE(led_by_two().empty());
  std::vector<TopicPartition> partitions;
  for (const auto& [topic, index] : before) partitions.push_back({"orders", index});
  for (const auto& result : cluster.run(cluster.shell(1).elect_leaders(ElectionType::preferred, partitions))) {
    EXPECT_EQ(result.status.code(), ErrorCode::preferred_leader_not_available);
  }
  const auto leader_of_first = [&] {
    return cluster.stored()->find_topic("orders")->partition(before.begin()->second)->leader;
  };
  // The last one in sync leads, and then only the offline one is left.
  cluster.kill(3);
  cluster.run_for(kTimeout + 2s);
  EXPECT_EQ(leader_of_first(), BrokerId(1));
  EXPECT_EQ(tell(epoch, {}), ErrorCode::none);
  EXPECT_EQ(leader_of_first(), BrokerId(1)) << "it is not in sync any more";
}

// The controller that was told dies; the next one settles everything before anybody can tell it anything.
TEST_F(ControllerOfficeTest, TheNextControllerKnowsWhichLogsAreOffline) {
  OfficeCluster cluster(45);
  cluster.start_all();
  ASSERT_TRUE(cluster.create(1, "orders").ok());
  PartitionIds all;
  for (const PartitionStatePtr& state : cluster.stored()->find_topic("orders")->partitions) {
    all.emplace(state->topic_id, state->index);
  }
  const int64_t epoch = cluster.shell(2).broker_epoch();
  ASSERT_TRUE(cluster.run(cluster.shell(1).report_offline_logs(BrokerId(2), epoch, all)).ok());
  cluster.kill(1);
  cluster.kill(3);
  cluster.run_for(kTimeout + 5s);
  ASSERT_TRUE(cluster.shell(2).is_in_office());
  for (const PartitionStatePtr& state : cluster.stored()->find_topic("orders")->partitions) {
    EXPECT_NE(state->leader, BrokerId(2));
    EXPECT_EQ(std::ranges::count(state->isr, BrokerId(2)), 0);
  }
}

// Its session ends while it cannot be reached; the other takes over; when it is back it has no effect, and says so.
TEST_F(ControllerOfficeTest, AControllerThatWakesUpAfterItsSessionChangesNothing) {
  OfficeCluster cluster(5);
  cluster.start_all();
  ASSERT_TRUE(cluster.create(1, "before").ok());
  const int64_t epoch_before = cluster.shell(1).broker_epoch();
  cluster.service().set_reachable(OfficeCluster::host(1), false);
  EXPECT_EQ(cluster.create(1, "while-cut-off").code(), ErrorCode::unavailable);
  cluster.run_for(kTimeout + 2s);
  EXPECT_TRUE(cluster.shell(2).is_in_office() || cluster.shell(3).is_in_office());
  ASSERT_EQ(cluster.stored()->cluster().controller_epoch, 2);
  cluster.service().set_reachable(OfficeCluster::host(1), true);
  const Status refused = cluster.create(1, "after");
  EXPECT_TRUE(refused.code() == ErrorCode::unavailable || refused.code() == ErrorCode::not_controller);
  cluster.run_for(3s);
  EXPECT_EQ(cluster.stored()->find_topic("while-cut-off"), nullptr);
  EXPECT_EQ(cluster.stored()->find_topic("after"), nullptr);
  EXPECT_NE(cluster.in_office(), 1);
  EXPECT_GE(cluster.fenced(1), 1u);
  // It belongs to the cluster again, as somebody new.
  EXPECT_GT(cluster.shell(1).broker_epoch(), epoch_before);
  EXPECT_TRUE(cluster.stored()->is_settled(BrokerId(1)));
  EXPECT_EQ(cluster.shell(1).controller().epoch, 2);
}

// As with a store that does not tie permanent keys to the session: only the epoch stands in the way.
TEST_F(ControllerOfficeTest, AnOfficeThatWasTakenByAnotherIsNoticedByTheRefusedTransaction) {
  OfficeCluster cluster(6);
  cluster.start_all();
  cluster.service().set_faults({.watch_delay_max = 10s});  // so that it does not hear of it before
  const auto usurper = cluster.service().connect(cluster.broker(3).process->seams(), OfficeCluster::host(3), kTimeout);
  ClaimControllerPlanner claim(BrokerId(9), {1, 1}, {2, 2});
  Transaction transaction = *claim.plan(*cluster.stored());
  transaction.compares.pop_back();  // that nobody holds the office
  ASSERT_TRUE(cluster.run(usurper->commit(transaction)));
  EXPECT_EQ(cluster.create(1, "late").code(), ErrorCode::not_controller);
  EXPECT_EQ(cluster.stored()->find_topic("late"), nullptr);
  EXPECT_EQ(cluster.fenced(1), 1u);
}

TEST_F(ControllerOfficeTest, ARestartWaitsUntilTheSessionOfTheProcessBeforeHasEnded) {
  OfficeCluster cluster(7);
  cluster.start_all();
  const int64_t epoch_before = cluster.shell(2).broker_epoch();
  cluster.kill(2);
  const MonotonicTime killed = cluster.world().now();
  ASSERT_TRUE(cluster.start(2).ok());
  EXPECT_GT(cluster.world().now() - killed, 2s);
  EXPECT_LT(cluster.world().now() - killed, kTimeout + 3s);
  EXPECT_GT(cluster.shell(2).broker_epoch(), epoch_before);
}

// Silent for so long that its session has expired; or from the beginning.
TEST_F(ControllerOfficeTest, ABrokerThatStartsWaitsForASilentService) {
  for (const bool from_the_beginning : {true, false}) {
    OfficeCluster cluster(11, 1);
    cluster.prepare(1);
    if (!from_the_beginning) cluster.world().run_for(1s);
    cluster.service().set_reachable(OfficeCluster::host(1), false);
    const MonotonicTime begun = cluster.world().now();
    cluster.broker(1).process->seams().scheduler.start_timer(
        begun + 25s, [&] { cluster.service().set_reachable(OfficeCluster::host(1), true); });
    const Status started = cluster.run(cluster.shell(1).start(cluster.registration(1)));
    EXPECT_TRUE(started.ok()) << started.to_string();
    EXPECT_GE(cluster.world().now() - begun, 25s);
    cluster.world().run_for(10s);  // the session may have been suspended once more
    EXPECT_TRUE(cluster.shell(1).is_in_office());
  }
}

TEST_F(ControllerOfficeTest, ABrokerThatStartsGivesUpWhenTheTimeIsOverOrItIsCancelled) {
  for (const bool cancels : {true, false}) {
    OfficeCluster cluster(12, 1);
    cluster.prepare(1);
    cluster.service().set_reachable(OfficeCluster::host(1), false);
    const MonotonicTime begun = cluster.world().now();
    CancelSource source;
    if (cancels) {
      cluster.broker(1).process->seams().scheduler.start_timer(begun + 20s, [&source] { source.cancel(); });
    }
    const Status started = cluster.run(cluster.shell(1).start(cluster.registration(1), source.token()));
    EXPECT_EQ(started.code(), cancels ? ErrorCode::cancelled : ErrorCode::unavailable);
    const Duration took = cluster.world().now() - begun;
    EXPECT_GE(took, cancels ? 20s : 60s);
    EXPECT_LT(took, cancels ? 27s : 80s);
  }
}

TEST_F(ControllerOfficeTest, AnotherProcessWithTheSameIdIsRefusedAtOnce) {
  OfficeCluster cluster(8, 2);
  cluster.start_all();
  cluster.kill(2);
  cluster.broker(2).directories = {{66, 66}};
  const MonotonicTime before = cluster.world().now();
  EXPECT_EQ(cluster.start(2).code(), ErrorCode::already_exists);
  EXPECT_LT(cluster.world().now() - before, 1s);
}

TEST_F(ControllerOfficeTest, ABrokerThatIsStillRegisteredAfterItsTimeIsRefusedWithWhatToDo) {
  OfficeCluster cluster(9, 1);
  const auto outsider = [&] {
    cluster.prepare(1);
    return cluster.registration(1);
  }();
  RegisterBrokerPlanner planner(outsider);
  const auto transaction = planner.plan(MetadataImage());
  const auto holder = cluster.service().connect(cluster.broker(1).process->seams(), OfficeCluster::host(1), kTimeout);
  ASSERT_TRUE(cluster.run(holder->commit(*transaction)));
  const Status status = cluster.run(cluster.shell(1).start(cluster.registration(1)));
  EXPECT_EQ(status.code(), ErrorCode::already_exists);
  EXPECT_NE(status.message().find("still registered"), std::string::npos) << status.message();
}

TEST_F(ControllerOfficeTest, ALeaderGetsAnotherIsrAndAStoppedBrokerLeadsNothing) {
  OfficeCluster cluster(10);
  cluster.start_all();
  ASSERT_TRUE(cluster.create(1, "orders").ok());
  ControllerShell& controller = cluster.shell(1);
  const int64_t epoch_2 = cluster.shell(2).broker_epoch();
  const auto left = cluster.run(controller.controlled_shutdown(BrokerId(2), epoch_2));
  ASSERT_TRUE(left) << left.error().to_string();
  EXPECT_TRUE(left->empty());
  for (const PartitionStatePtr& state : cluster.stored()->find_topic("orders")->partitions) {
    ASSERT_NE(state->leader, BrokerId(2));
    ASSERT_EQ(state->isr.size(), 2u);
  }
  EXPECT_EQ(cluster.run(controller.controlled_shutdown(BrokerId(2), epoch_2 - 1)).error().code(),
            ErrorCode::stale_broker_epoch);
  EXPECT_EQ(cluster.run(controller.controlled_shutdown(BrokerId(9), 1)).error().code(),
            ErrorCode::broker_id_not_registered);

  const PartitionState state = *cluster.stored()->find_topic("orders")->partitions.front();
  std::vector<IsrMember> members;
  for (const BrokerId id : state.replicas) members.push_back({id, cluster.shell(id.value()).broker_epoch()});
  const int64_t leader_epoch = cluster.shell(state.leader.value()).broker_epoch();
  const auto with_stopping = cluster.run(controller.alter_partitions(
      state.leader, leader_epoch, {{state.topic_id, state.index, state.leader_epoch, state.partition_epoch, members}}));
  EXPECT_EQ(with_stopping->front().status.code(), ErrorCode::ineligible_replica);

  std::erase_if(members, [&](const IsrMember& member) { return member.id != state.leader; });
  const auto alone = cluster.run(controller.alter_partitions(
      state.leader, leader_epoch, {{state.topic_id, state.index, state.leader_epoch, state.partition_epoch, members}}));
  ASSERT_TRUE(alone->front().status.ok()) << alone->front().status.to_string();
  EXPECT_EQ(alone->front().now.isr, std::vector<BrokerId>{state.leader});
}

Task<void> announce_stop(ControllerShell& controller, BrokerId id, int64_t epoch) {
  EXPECT_TRUE((co_await controller.controlled_shutdown(id, epoch)).has_value());
}

TEST_F(ControllerOfficeTest, BrokersThatStopTogetherHandOverToThoseThatStay) {
  OfficeCluster cluster(11);
  cluster.start_all();
  ASSERT_TRUE(cluster.create(1, "orders", 12).ok());
  const auto before = cluster.stored()->find_topic("orders")->partitions;
  ControllerShell& controller = cluster.shell(1);
  EXPECT_FALSE(controller.all_others_stop(BrokerId(1)));
  TaskGroup stops;
  for (const int32_t id : {2, 3})
    stops.spawn(announce_stop(controller, BrokerId(id), cluster.shell(id).broker_epoch()));
  cluster.world().run_task(stops.join());
  EXPECT_TRUE(controller.all_others_stop(BrokerId(1)));
  const auto after = cluster.stored()->find_topic("orders")->partitions;
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i]->leader, BrokerId(1));
    // Not by way of the other one.
    const int32_t moves = before[i]->leader == BrokerId(1) ? 0 : 1;
    EXPECT_EQ(after[i]->leader_epoch, before[i]->leader_epoch + moves) << i;
  }
}

TEST_F(ControllerOfficeTest, PreferredLeadersComeBackByThemselvesAfterAWhile) {
  OfficeCluster cluster(11);
  cluster.start_all();
  ASSERT_TRUE(cluster.create(1, "orders").ok());
  cluster.stop(3);
  cluster.run_for(1s);
  ASSERT_TRUE(cluster.start(3).ok());
  cluster.run_for(1s);
  // Broker 3 catches up.
  for (const PartitionStatePtr& state : cluster.stored()->find_topic("orders")->partitions) {
    std::vector<IsrMember> members;
    for (const BrokerId id : state->replicas) members.push_back({id, cluster.shell(id.value()).broker_epoch()});
    const auto joined = cluster.run(cluster.shell(1).alter_partitions(
        state->leader, cluster.shell(state->leader.value()).broker_epoch(),
        {{state->topic_id, state->index, state->leader_epoch, state->partition_epoch, members}}));
    ASSERT_TRUE(joined->front().status.ok()) << joined->front().status.to_string();
  }
  const auto led_by_3 = [&] {
    int count = 0;
    for (const PartitionStatePtr& state : cluster.stored()->find_topic("orders")->partitions) {
      count += state->leader == BrokerId(3) ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(led_by_3(), 0);
  cluster.run_for(301s);
  EXPECT_EQ(led_by_3(), 2);
}

TEST_F(ControllerOfficeTest, InternalTopicsGetMoreReplicasAsBrokersJoin) {
  OfficeCluster cluster(12);
  ASSERT_TRUE(cluster.start(1).ok());
  CreateTopicsRequest request;
  request.topics.push_back({.name = std::string(kOffsetsTopic), .partition_count = 4, .internal = true});
  ASSERT_TRUE(cluster.run(cluster.shell(1).create_topics(std::move(request))).front().status.ok());
  EXPECT_EQ(cluster.stored()->find_topic(kOffsetsTopic)->replication_factor(), 1);
  ASSERT_TRUE(cluster.start(2).ok());
  ASSERT_TRUE(cluster.start(3).ok());
  cluster.run_for(2s);
  EXPECT_EQ(cluster.stored()->find_topic(kOffsetsTopic)->replication_factor(), 3);
}

TEST_F(ControllerOfficeTest, AllowingUncleanElectionsGivesLeaderlessPartitionsALeader) {
  OfficeCluster cluster(13, 2);
  cluster.start_all();
  ASSERT_TRUE(cluster.create(1, "orders", 2).ok());
  ControllerShell& controller = cluster.shell(1);
  for (const PartitionStatePtr& state : cluster.stored()->find_topic("orders")->partitions) {
    if (state->leader != BrokerId(2)) continue;
    const int64_t epoch = cluster.shell(2).broker_epoch();
    ASSERT_TRUE(
        cluster
            .run(controller.alter_partitions(
                BrokerId(2), epoch,
                {{state->topic_id, state->index, state->leader_epoch, state->partition_epoch, {{BrokerId(2), epoch}}}}))
            ->front()
            .status.ok());
  }
  const auto leaderless = [&] {
    int count = 0;
    for (const auto& state : cluster.stored()->find_topic("orders")->partitions) count += state->leader == kNoBroker;
    return count;
  };
  cluster.stop(2);
  cluster.run_for(1s);
  EXPECT_EQ(leaderless(), 1);
  EXPECT_NE(cluster.broker(1).metrics->render_prometheus().find("naru_controller_offline_partitions 1\n"),
            std::string::npos);
  const auto altered = cluster.run(controller.alter_configs(
      {{ConfigResource::topic, "orders", {{"unclean.leader.election.enable", "true"}}}}, false));
  ASSERT_TRUE(altered.front().status.ok());
  cluster.run_for(1s);
  EXPECT_EQ(leaderless(), 0);
}

// Brokers die, are cut off, lose their sessions, and the service answers wrongly wherever it may.
class OfficeStorm {
 public:
  explicit OfficeStorm(uint64_t seed) : random_(seed), cluster_(seed) {}

  void run(int steps) {
    cluster_.start_all();
    cluster_.service().set_faults({.watch_delay_max = 500ms,
                                   .lost_request_one_in = 20,
                                   .lost_answer_one_in = 20,
                                   .late_commit_one_in = 20,
                                   .stale_read_one_in = 4,
                                   .torn_list_one_in = 4});
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      do_something(step);
      look();
    }
    calm_down();
  }

 private:
  void do_something(int step) {
    const auto id = static_cast<int32_t>(1 + random_.below(3));
    switch (random_.below(9)) {
      case 0:
        cluster_.service().set_reachable(OfficeCluster::host(id), false);
        break;
      case 1:
        for (const int32_t other : {1, 2, 3}) cluster_.service().set_reachable(OfficeCluster::host(other), true);
        break;
      case 2:
        cluster_.service().expire(OfficeCluster::host(id));
        break;
      case 3:
        cluster_.service().set_answers_arrive(OfficeCluster::host(id), random_.one_in(2));
        break;
      default:
        return create(id, "topic-" + std::to_string(step));
    }
    cluster_.run_for(Milliseconds(random_.below(9000)));
  }

  void create(int32_t id, const std::string& name) {
    if (cluster_.create(id, name, 3).ok()) created_.insert(name);
  }

  // Several may believe to be in office for a while, but never in the same epoch.
  void look() {
    std::map<int32_t, int32_t> holders;
    for (const int32_t id : {1, 2, 3}) {
      const ControllerView view = cluster_.shell(id).controller();
      if (!view.here) continue;
      EXPECT_TRUE(holders.emplace(view.epoch, id).second) << "two controllers of epoch " << view.epoch;
    }
    const MetadataImagePtr stored = cluster_.stored();
    for (const std::string& name : created_) {
      EXPECT_NE(stored->find_topic(std::string_view(name)), nullptr) << name;
    }
  }

  void calm_down() {
    cluster_.service().set_faults({});
    cluster_.service().heal();
    cluster_.run_for(kTimeout + 20s);
    const int32_t id = cluster_.in_office();
    ASSERT_NE(id, 0);
    ASSERT_TRUE(cluster_.create(id, "calm").ok());
    const MetadataImagePtr stored = cluster_.stored();
    EXPECT_TRUE(*cluster_.broker(id).publisher->current() == *stored);
    EXPECT_EQ(stored->brokers().size(), 3u);
    for (const auto& [broker, unused] : stored->brokers()) EXPECT_TRUE(stored->is_settled(broker));
    for (const TopicMetadataPtr& topic : stored->topics()) {
      for (const PartitionStatePtr& state : topic->partitions) EXPECT_NE(state->leader, kNoBroker);
    }
    follow_feed(id, *stored);
  }

  void follow_feed(int32_t id, const MetadataImage& expected) {
    MetadataFollower follower;
    const auto answer = cluster_.shell(id).feed().changes_since(follower.position());
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->full);
    ASSERT_TRUE(follower.apply(follower.position(), *answer));
    EXPECT_TRUE(*follower.image() == expected);
  }

  SimulatedRandom random_;
  OfficeCluster cluster_;
  std::set<std::string> created_;
};

TEST_F(ControllerOfficeTest, OneControllerIsEffectiveUnderEveryFaultOfTheService) {
  const uint64_t seeds = kSanitized ? 10 : 100;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    OfficeStorm(seed).run(80);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace naru
