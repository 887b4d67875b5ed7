// The controller on real threads: requests from several workers while others read the published image.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "cluster_control/controller_shell.h"
#include "coordination_store/embedded/embedded_store.h"
#include "platform/real/real_platform.h"

namespace naru {
namespace {

constexpr int kTasks = 4;
constexpr int kTopics = 10;

Task<void> create_topics(ControllerShell& controller, Scheduler& scheduler, int task) {
  co_await on_worker(scheduler, [] {});
  for (int i = 0; i < kTopics; ++i) {
    CreateTopicsRequest request;
    request.topics.push_back({.name = "topic-" + std::to_string(task) + "-" + std::to_string(i)});
    const auto results = co_await controller.create_topics(std::move(request));
    NARU_ASSERT(results.front().status.ok(), "{}", results.front().status.to_string());
  }
}

Task<void> read_images(MetadataPublisher& publisher, Scheduler& scheduler) {
  size_t seen = 0;
  while (seen < kTasks * kTopics) {
    seen = co_await on_worker(scheduler, [&publisher] { return publisher.current()->topics().size(); });
  }
}

Task<void> run_all(Seams seams, std::string folder, const BrokerConfig& config, MetadataPublisher& publisher) {
  auto store = co_await EmbeddedStore::open(seams.files, seams.scheduler, seams.random, {.folder = folder});
  NARU_ASSERT(store.has_value(), "{}", store.error().to_string());
  MetricsRegistry metrics;
  ControllerShell controller({**store, publisher, metrics, config, seams.clock, seams.random, seams.scheduler});
  BrokerRegistration registration{.id = BrokerId(1), .incarnation = seams.random.uuid()};
  const Status started = co_await controller.start(std::move(registration));
  NARU_ASSERT(started.ok(), "{}", started.to_string());
  TaskGroup group;
  group.spawn(read_images(publisher, seams.scheduler));
  group.spawn(read_images(publisher, seams.scheduler));
  for (int task = 0; task < kTasks; ++task) group.spawn(create_topics(controller, seams.scheduler, task));
  co_await group.join();
  co_await controller.stop();
  ignore(co_await (*store)->close());
}

TEST(ControllerThreads, RequestsAndReadersOnManyThreadsAgree) {
  const BrokerConfig config = *make_broker_config({});
  MetadataPublisher publisher;
  RealPlatform platform({.loops = 2, .workers = 4});
  const Seams seams = platform.seams();
  const std::string folder = testing::TempDir() + "/naru_controller_threads_" + seams.random.uuid().to_string();
  platform.run(run_all(seams, folder, config, publisher));
  EXPECT_EQ(publisher.current()->topics().size(), static_cast<size_t>(kTasks * kTopics));
  EXPECT_TRUE(remove_recursively(seams.files, folder).ok());
}

}  // namespace
}  // namespace naru
