#include "cluster_control/controller_shell.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "cluster_control/metadata_image_builder.h"
#include "cluster_control/metadata_keys.h"
#include "coordination_store/embedded/embedded_store.h"
#include "coordination_store/simulated/fault_injecting_store.h"
#include "coordination_store/simulated/run_in_world.h"
#include "foundation/log.h"

namespace naru {
namespace {

// One broker's process: store, fault injection, controller.
class ControllerWorld {
 public:
  explicit ControllerWorld(uint64_t seed = 1, ConfigOverrides config = {})
      : config_(*make_broker_config(config)), world_(seed), faults_random_(seed) {
    open_store();
  }
  ~ControllerWorld() { close_store(); }

  void open_store() {
    process_ = node_.start();
    const Seams seams = process_->seams();
    auto opened = run(EmbeddedStore::open(seams.files, seams.scheduler, seams.random, {.folder = "/metadata"}));
    embedded_ = std::move(*opened);
    store_ = std::make_unique<FaultInjectingStore>(*embedded_, faults_random_);
    publisher_ = std::make_unique<MetadataPublisher>();
    controller_ = make_controller(*publisher_);
  }
  void close_store() {
    stop(*controller_);
    ignore(run(embedded_->close()));
    controller_.reset();
    publisher_.reset();
    store_.reset();
    embedded_.reset();
    metrics_.clear();
    process_.reset();
  }
  std::unique_ptr<ControllerShell> make_controller(MetadataPublisher& publisher) {
    const Seams seams = process_->seams();
    MetricsRegistry& metrics = *metrics_.emplace_back(std::make_unique<MetricsRegistry>());
    return std::make_unique<ControllerShell>(
        ControllerShell::Parts{*store_, publisher, metrics, config_, seams.clock, seams.random, seams.scheduler});
  }
  void stop(ControllerShell& controller) { world_.run_task(controller.stop()); }
  BrokerRegistration registration(int32_t id = 1) {
    return {.id = BrokerId(id),
            .incarnation = process_->seams().random.uuid(),
            .listeners = {{"PLAINTEXT", "", 9092, 0}},
            .folders = {{.id = {9, static_cast<uint64_t>(id)}}}};
  }
  Status start() { return run(controller_->start(registration())); }

  template <class T>
  T run(Task<T> task) {
    return run_in(world_, std::move(task));
  }
  CreateTopicResult create(std::string name) {
    return run(controller_->create_topics({{{.name = std::move(name), .partition_count = 2}}, false})).front();
  }
  DeleteTopicResult remove(std::string name) {
    return run(controller_->delete_topics({{.name = std::move(name)}})).front();
  }

  ControllerShell& controller() { return *controller_; }
  FaultInjectingStore& store() { return *store_; }
  EmbeddedStore& embedded() { return *embedded_; }
  MetadataPublisher& publisher() { return *publisher_; }
  MetadataImagePtr image() { return publisher_->current(); }
  SimulatedWorld& world() { return world_; }
  SimulatedFileSystem& disk() { return node_.disk(); }

  // From the store itself, past the faults.
  MetadataImagePtr rebuilt_image() {
    const auto entries = run(embedded_->list(""));
    EXPECT_TRUE(entries);
    const MetadataImage nothing;
    MetadataImageBuilder builder(nothing);
    for (const KeyValue& entry : *entries) {
      EXPECT_TRUE(builder.put(entry.key, entry.value.view(), entry.version).ok());
    }
    auto image = builder.build();
    EXPECT_TRUE(image) << image.error().to_string();
    return image ? *image : nullptr;
  }

 private:
  BrokerConfig config_;
  SimulatedWorld world_;
  SimulatedRandom faults_random_;
  SimulatedNode& node_ = world_.add_node("broker");
  std::unique_ptr<SimulatedProcess> process_;
  std::unique_ptr<EmbeddedStore> embedded_;
  std::unique_ptr<FaultInjectingStore> store_;
  std::unique_ptr<MetadataPublisher> publisher_;
  std::vector<std::unique_ptr<MetricsRegistry>> metrics_;
  std::unique_ptr<ControllerShell> controller_;
};

TEST(ControllerShell, StartingClaimsOfficeNamesTheClusterAndRegistersTheBroker) {
  ControllerWorld world;
  ASSERT_TRUE(world.start().ok());
  const MetadataImagePtr image = world.image();
  EXPECT_EQ(image->cluster().controller_epoch, 1);
  EXPECT_EQ(image->cluster().controller_id, BrokerId(1));
  EXPECT_FALSE(image->cluster().cluster_id.is_zero());
  EXPECT_EQ(image->cluster().feature_level, kFeatureLevel);
  const BrokerMetadata* broker = image->find_broker(BrokerId(1));
  ASSERT_NE(broker, nullptr);
  EXPECT_EQ(broker->epoch, image->cluster().generation - 2);  // registered first, in office then, and settled
  EXPECT_TRUE(image->is_settled(BrokerId(1)));
  EXPECT_TRUE(world.controller().is_in_office());
  EXPECT_EQ(world.controller().controller().id, BrokerId(1));
  EXPECT_EQ(world.controller().controller().epoch, 1);
  EXPECT_EQ(world.controller().broker_epoch(), broker->epoch);
  EXPECT_EQ(broker->listeners.front().port, 9092);
}

TEST(ControllerShell, ARestartKeepsTheClusterAndItsTopicsAndRaisesTheEpochs) {
  ControllerWorld world;
  ASSERT_TRUE(world.start().ok());
  const auto created = world.create("orders");
  const ClusterMetadata before = world.image()->cluster();
  const int64_t broker_epoch = world.image()->find_broker(BrokerId(1))->epoch;
  world.close_store();
  world.open_store();
  ASSERT_TRUE(world.start().ok());
  EXPECT_EQ(world.image()->cluster().cluster_id, before.cluster_id);
  EXPECT_EQ(world.image()->cluster().controller_epoch, before.controller_epoch + 1);
  EXPECT_GT(world.image()->find_broker(BrokerId(1))->epoch, broker_epoch);
  EXPECT_EQ(world.image()->find_topic("orders")->id, created.topic_id);
}

TEST(ControllerShell, AnotherProcessWithTheSameIdIsRefusedAndChangesNothing) {
  ControllerWorld world;
  ASSERT_TRUE(world.start().ok());
  MetadataPublisher publisher;
  const auto second = world.make_controller(publisher);
  BrokerRegistration registration = world.registration();
  registration.folders = {{.id = {9, 99}}};
  const MonotonicTime before = world.world().now();
  EXPECT_EQ(world.run(second->start(registration)).code(), ErrorCode::already_exists);
  EXPECT_LT(world.world().now() - before, 100ms);
  EXPECT_TRUE(world.create("orders").status.ok());
  world.stop(*second);
}

TEST(ControllerShell, AResultArrivesWhenEverySubscriberHasTheTopic) {
  struct Subscriber {
    static Task<void> apply(Scheduler& scheduler, const Clock& clock, MetadataImagePtr image, int64_t& applied) {
      ignore(co_await sleep_until(scheduler, clock.now() + 1s));
      applied = image->cluster().generation;
    }
  };
  ControllerWorld world;
  SimulatedNode& other = world.world().add_node("other");
  const auto process = other.start();
  const Seams seams = process->seams();
  int64_t applied = 0;
  world.publisher().subscribe([&](MetadataImagePtr image) {
    return Subscriber::apply(seams.scheduler, seams.clock, std::move(image), applied);
  });
  ASSERT_TRUE(world.start().ok());
  ASSERT_TRUE(world.create("orders").status.ok());
  EXPECT_EQ(applied, world.image()->cluster().generation);
}

TEST(ControllerShell, AutoCreationUsesTheDefaultsAndAcceptsTopicsThatExist) {
  ControllerWorld world;
  ASSERT_TRUE(world.start().ok());
  const auto existing = world.create("old");
  const auto results = world.run(world.controller().auto_create_topics({"new", "old", "new", "not valid"}));
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0].status.ok());
  EXPECT_EQ(results[0].partition_count, 4);
  EXPECT_TRUE(results[1].status.ok());
  EXPECT_EQ(results[1].topic_id, existing.topic_id);
  EXPECT_EQ(results[2].status.code(), ErrorCode::invalid_topic_exception);
}

TEST(ControllerShell, WhatWasGivenUpIsNotDoneAndEachItemIsToldSo) {
  ControllerWorld world;
  ASSERT_TRUE(world.start().ok());
  const Status given_up(ErrorCode::request_timed_out, "no answer");
  const auto created =
      world.run(world.controller().create_topics({.topics = {{.name = "a"}, {.name = "b"}}}, given_up));
  ASSERT_EQ(created.size(), 2u);
  for (const auto& result : created) EXPECT_EQ(result.status, ErrorCode::request_timed_out) << result.name;
  EXPECT_EQ(world.image()->find_topic("a"), nullptr);
  const auto deleted = world.run(world.controller().delete_topics({{.name = "a"}}, given_up));
  EXPECT_EQ(deleted.at(0).status, ErrorCode::request_timed_out);
}

TEST(ControllerShell, AnUnregisteredBrokerIsGoneFromTheStoreToo) {
  ControllerWorld world;
  ASSERT_TRUE(world.start().ok());
  const auto registered = world.registration(2);
  RegisterBrokerPlanner other(registered);
  ASSERT_TRUE(world.run(world.embedded().commit(*other.plan(*world.image()))));
  ASSERT_TRUE(world.run(world.embedded().commit(Transaction{.deletes = {metadata_keys::broker(BrokerId(2))}})));
  EXPECT_EQ(world.run(world.controller().unregister_broker(BrokerId(1))).code(), ErrorCode::invalid_request);
  EXPECT_TRUE(world.run(world.controller().unregister_broker(BrokerId(2))).ok());
  EXPECT_FALSE(world.rebuilt_image()->known_brokers().contains(BrokerId(2)));
  EXPECT_TRUE(*world.rebuilt_image() == *world.image());
  EXPECT_EQ(world.run(world.controller().unregister_broker(BrokerId(2))).code(), ErrorCode::broker_id_not_registered);
}

TEST(ControllerShell, AutoCreationCanBeSwitchedOff) {
  ControllerWorld world(1, {{"auto.create.topics.enable", "false"}});
  ASSERT_TRUE(world.start().ok());
  const auto results = world.run(world.controller().auto_create_topics({"new"}));
  EXPECT_EQ(results[0].status.code(), ErrorCode::unknown_topic_or_partition);
}

TEST(ControllerShell, DataFoldersOfAnotherClusterAreRefusedAndChangeNothing) {
  ControllerWorld world;
  BrokerRegistration registration = world.registration();
  registration.cluster_id = {4, 4};
  EXPECT_EQ(world.run(world.controller().start(registration)).code(), ErrorCode::inconsistent_cluster_id);
  EXPECT_TRUE(world.rebuilt_image()->brokers().empty());
  world.close_store();
  world.open_store();
  ASSERT_TRUE(world.start().ok());
  world.close_store();
  world.open_store();
  EXPECT_EQ(world.run(world.controller().start(registration)).code(), ErrorCode::inconsistent_cluster_id);
}

// A transaction that a controller had in flight when it lost its office: refused by the store itself.
TEST(ControllerShell, ATransactionPlannedBeforeTheOfficeWasLostIsRefusedByTheStore) {
  ControllerWorld world;
  ASSERT_TRUE(world.start().ok());
  const BrokerConfig config = *make_broker_config({});
  CreateTopicsPlanner planner({{{.name = "late", .id = {3, 3}}}, false}, config, 0);
  const auto in_flight = planner.plan(*world.image());
  world.close_store();
  world.open_store();
  ASSERT_TRUE(world.start().ok());
  const auto refused = world.run(world.embedded().commit(*in_flight));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::version_conflict);
}

// Else what was answered could become untrue: the request may still be on its way to the store.
TEST(ControllerShell, AnAnswerWithoutATransactionWaitsUntilACommitInDoubtCannotHappenAnyMore) {
  ControllerWorld world;
  ASSERT_TRUE(world.start().ok());
  ASSERT_TRUE(world.create("there").status.ok());
  world.store().set_faults({.lost_request_one_in = 1});
  ASSERT_EQ(world.create("in-doubt").status.code(), ErrorCode::unavailable);
  world.store().set_faults({});
  const int64_t generation = world.image()->cluster().generation;
  EXPECT_EQ(world.create("there").status.code(), ErrorCode::topic_already_exists);
  EXPECT_EQ(world.image()->cluster().generation, generation + 1);
  EXPECT_EQ(world.create("there").status.code(), ErrorCode::topic_already_exists);
  EXPECT_EQ(world.image()->cluster().generation, generation + 1) << "once";
}

TEST(ControllerShell, AnswersUnavailableAtOnceWhenTheStoreIsOffline) {
  set_log_level(LogLevel::error);
  ControllerWorld world;
  ASSERT_TRUE(world.start().ok());
  world.disk().fail_nth(FileOperation::sync_data, 1);
  EXPECT_EQ(world.create("a").status.code(), ErrorCode::unavailable);
  const MonotonicTime before = world.world().now();
  EXPECT_EQ(world.create("b").status.code(), ErrorCode::unavailable);
  EXPECT_LT(world.world().now() - before, 100ms);
  set_log_level(LogLevel::info);
}

Task<void> create_one(ControllerShell& controller, std::string name, std::vector<CreateTopicResult>& results) {
  CreateTopicsRequest request;
  request.topics.push_back({.name = std::move(name), .partition_count = 1});
  auto created = co_await controller.create_topics(std::move(request));
  results.push_back(std::move(created.front()));
}

Task<std::vector<CreateTopicResult>> create_concurrently(ControllerShell& controller, int count) {
  std::vector<CreateTopicResult> results;
  TaskGroup group;
  for (int i = 0; i < count; ++i)
    group.spawn(create_one(controller, "topic" + std::to_string(i % (count / 2)), results));
  co_await group.join();
  co_return results;
}

TEST(ControllerShell, ConcurrentRequestsTakeTurnsAndEachTopicIsCreatedOnce) {
  ControllerWorld world;
  ASSERT_TRUE(world.start().ok());
  int created = 0;
  for (const auto& result : world.run(create_concurrently(world.controller(), 100))) {
    created += result.status.ok() ? 1 : 0;
    EXPECT_TRUE(result.status.ok() || result.status.code() == ErrorCode::topic_already_exists);
  }
  EXPECT_EQ(created, 50);
  EXPECT_EQ(world.image()->topics().size(), 50u);
}

TEST(ControllerShell, RequestsBeyondTheQueueAreRefusedAtOnce) {
  ControllerWorld world;
  ASSERT_TRUE(world.start().ok());
  int refused = 0;
  for (const auto& result : world.run(create_concurrently(world.controller(), 1200))) {
    refused += result.status.code() == ErrorCode::request_timed_out ? 1 : 0;
  }
  EXPECT_EQ(refused, 1200 - 1001);
}

TEST(ControllerShell, AThousandTopicsInOneRequestStayWithinTheLimitsOfTheStore) {
  ControllerWorld world;
  ASSERT_TRUE(world.start().ok());
  CreateTopicsRequest request;
  for (int i = 0; i < 1000; ++i) request.topics.push_back({.name = "t" + std::to_string(i), .partition_count = 8});
  for (const auto& result : world.run(world.controller().create_topics(std::move(request)))) {
    ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  }
  EXPECT_EQ(world.image()->partition_count(), 8000);
  EXPECT_TRUE(*world.rebuilt_image() == *world.image());
}

// Random operations against a map of what should be, under conflicts and lost requests and answers.
class ControllerModel {
 public:
  explicit ControllerModel(uint64_t seed) : random_(seed), world_(seed) {}

  void run(int steps) {
    ASSERT_TRUE(world_.start().ok());
    world_.store().set_faults(kFaults);
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      do_something();
      if (step % 20 == 0) compare();
    }
    compare();
    EXPECT_GT(world_.store().faults_injected(), static_cast<uint64_t>(steps) / 10);
  }

 private:
  static constexpr StoreFaults kFaults{
      .conflict_one_in = 6, .lost_request_one_in = 8, .lost_answer_one_in = 6, .unavailable_reads_one_in = 40};

  struct Topic {
    Uuid id;
    ConfigOverrides configs;
  };

  // Retries are bounded, so a request may give up with unavailable; what happened is then read from the store.
  void do_something() {
    const std::string name = "topic" + std::to_string(random_.below(12));
    switch (random_.below(4)) {
      case 0:
      case 1:
        return create(name);
      case 2:
        return remove(name);
      default:
        return alter(name);
    }
  }

  void create(const std::string& name) {
    const auto result = world_.create(name);
    if (gave_up(result.status)) return learn(name);
    const bool exists = topics_.contains(name);
    EXPECT_EQ(result.status.code(), exists ? ErrorCode::topic_already_exists : ErrorCode::none) << name;
    if (!exists) topics_[name] = {result.topic_id, {}};
  }

  void remove(const std::string& name) {
    const auto result = world_.remove(name);
    if (gave_up(result.status)) return learn(name);
    const auto found = topics_.find(name);
    if (found == topics_.end()) {
      EXPECT_EQ(result.status.code(), ErrorCode::unknown_topic_or_partition) << name;
      return;
    }
    EXPECT_TRUE(result.status.ok()) << result.status.to_string();
    EXPECT_EQ(result.topic_id, found->second.id);
    topics_.erase(found);
  }

  void alter(const std::string& name) {
    const std::string key = random_.one_in(2) ? "retention.ms" : "segment.ms";
    std::optional<std::string> value;
    if (!random_.one_in(3)) value = std::to_string(1 + random_.below(5));
    const ConfigChange change{key, value, value ? ConfigOperation::set : ConfigOperation::remove};
    const auto result =
        world_.run(world_.controller().alter_configs({{ConfigResource::topic, name, {change}}}, false)).front();
    if (gave_up(result.status)) return learn(name);
    const auto found = topics_.find(name);
    EXPECT_EQ(result.status.code(), found == topics_.end() ? ErrorCode::unknown_topic_or_partition : ErrorCode::none);
    if (found == topics_.end()) return;
    if (value)
      found->second.configs[key] = *value;
    else
      found->second.configs.erase(key);
  }

  static bool gave_up(const Status& status) {
    return status == ErrorCode::unavailable || status == ErrorCode::version_conflict;
  }

  void learn(const std::string& name) {
    const MetadataImagePtr image = world_.rebuilt_image();
    const TopicMetadata* topic = image->find_topic(std::string_view(name));
    if (topic == nullptr)
      topics_.erase(name);
    else
      topics_[name] = {topic->id, topic->configs};
  }

  void compare() {
    const MetadataImagePtr image = world_.rebuilt_image();
    ASSERT_EQ(image->topics().size(), topics_.size());
    for (const auto& [name, topic] : topics_) {
      const TopicMetadata* found = image->find_topic(std::string_view(name));
      ASSERT_NE(found, nullptr) << name;
      EXPECT_EQ(found->id, topic.id);
      EXPECT_EQ(found->configs, topic.configs);
      EXPECT_EQ(found->partition_count(), 2);
    }
    EXPECT_EQ(image->partition_count(), static_cast<int32_t>(2 * topics_.size()));
    // What the controller published may lag behind only after it gave up; a request that succeeds brings it up to date.
    world_.store().set_faults({});
    const auto probe = world_.create("probe");
    if (probe.status.ok()) topics_["probe"] = {probe.topic_id, {}};
    EXPECT_TRUE(*world_.rebuilt_image() == *world_.image());
    world_.store().set_faults(kFaults);
  }

  SimulatedRandom random_;
  ControllerWorld world_;
  std::map<std::string, Topic> topics_;
};

TEST(ControllerShell, AgreesWithASimpleModelUnderConflictsAndUnknownOutcomes) {
  set_log_level(LogLevel::error);
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    ControllerModel(seed).run(300);
    if (HasFailure()) break;
  }
  set_log_level(LogLevel::info);
}

}  // namespace
}  // namespace naru
