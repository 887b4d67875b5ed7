// A lone broker that runs out of space or descriptors: what it could not do is done once it can be, without a restart
// and without anybody asking.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>

#include "broker/group_coordinators.h"
#include "broker/hosted_partitions.h"
#include "client/cluster_client.h"
#include "client/topic_admin.h"
#include "foundation/log.h"
#include "kafka_protocol/messages/find_coordinator_request.h"
#include "kafka_protocol/messages/find_coordinator_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "record_format/batch_builder.h"
#include "simulation/kafka_client.h"
#include "simulation/simulated_cluster.h"

namespace naru::simulation {
namespace {

constexpr Duration kSeconds = 8s;
constexpr Duration kCallTimeout = 5s;

RunPlan one_broker() {
  RunPlan plan;
  plan.journal_bytes = 1 << 20;
  plan.journal_batch_max_bytes = 1 << 16;
  return plan;
}

class FullDisk : public testing::Test {
 protected:
  FullDisk() { silence_log(); }

  SimulatedBroker& broker() { return *cluster_.brokers().front(); }
  SimulatedFileSystem& disk() { return broker().node().disk(); }
  Seams seams() { return harness_->seams(); }
  Task<void> pause(Duration length) { ignore(co_await sleep_until(seams().scheduler, seams().clock.now() + length)); }

  Task<Status> create(std::string name, int32_t partitions) {
    client::ClusterClient client(seams(), {.bootstrap = cluster_.addresses(), .request_timeout = kCallTimeout});
    const auto created =
        co_await client::create_topic(client, {.name = std::move(name), .partitions = partitions, .replicas = 1});
    client.close();
    co_return created ? Status() : created.error();
  }
  size_t served(const std::string& topic) {
    size_t count = 0;
    for (const auto& partition : broker().broker().partitions().all()) {
      count += partition->identity().topic == topic ? 1 : 0;
    }
    return count;
  }
  size_t offline() { return broker().broker().partitions().offline().size(); }

  Task<ErrorCode> produce(std::string topic) {
    const auto client = co_await KafkaClient::connect(seams(), broker().address());
    if (!client) co_return ErrorCode::network_exception;
    BatchBuilder builder;
    builder.add(seams().clock.wall_now_ms(), std::nullopt, "value");
    const Bytes batch = builder.build().value();
    kafka::ProduceRequest request{.acks = -1, .timeout_ms = 3'000};
    request.topic_data.push_back({.name = topic});
    request.topic_data.back().partition_data.push_back({.index = PartitionIndex(0), .records = batch});
    const auto response = co_await (*client)->call<kafka::ProduceResponse>(request, 9, kCallTimeout);
    (*client)->close();
    co_return response ? response->responses.at(0).partition_responses.at(0).error_code : ErrorCode::network_exception;
  }
  Task<Offset> end_of(std::string topic) {
    const Uuid id = broker().broker().partitions().find(topic, PartitionIndex(0)).partition->identity().topic_id;
    const PartitionView view =
        co_await broker().broker().partitions().find(id, PartitionIndex(0)).partition->look(kNoLeaderEpoch);
    co_return view.high_watermark;
  }

  // As a follower does whose leader has nothing of its log any more.
  Task<ErrorCode> begin_anew_on_full_disk(Partition& partition) {
    const std::string folder = partition.identity().to_string();
    disk().fail_nth(FileOperation::create, 1, folder, ErrorCode::disk_full);
    const auto done = co_await partition.with_log([this](const LogAccess& access) -> Result<Unit> {
      NARU_TRY(access.log.restart_at(access.log.end_offset(), seams().clock.wall_now_ms()));
      return Unit{};
    });
    co_return done ? ErrorCode::none : done.error().code();
  }

  Task<void> find_coordinator() {
    const auto client = co_await KafkaClient::connect(seams(), broker().address());
    kafka::FindCoordinatorRequest request{.key = "group"};
    std::ignore = co_await (*client)->call<kafka::FindCoordinatorResponse>(request, 3, kCallTimeout);
    (*client)->close();
  }

  template <class Story>
  void run(Story story) {
    const auto whole = [&]() -> Task<void> {
      co_await cluster_.start_all();
      co_await story();
      const Status stopped = co_await cluster_.stop_all();
      EXPECT_TRUE(stopped.ok()) << stopped.to_string();
      co_await cluster_.wait_for_remains();
    };
    world_.run_task(whole());
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> harness_ = world_.add_node("harness").start();
  SimulatedCluster cluster_{world_, harness_->seams(), one_broker()};
};

// A topic of clients is taken back when it cannot be made; one that the broker needs itself is there, and incomplete.
TEST_F(FullDisk, PartitionsThatCouldNotBeMadeAreMadeOnceThereIsRoom) {
  run([this]() -> Task<void> {
    disk().fail_nth(FileOperation::create_directory, 2, "__consumer_offsets-", ErrorCode::disk_full);
    co_await find_coordinator();
    EXPECT_EQ(served("__consumer_offsets"), 2u);
    EXPECT_EQ(offline(), 1u) << "the fault was not met";
    co_await pause(kSeconds);
    EXPECT_EQ(served("__consumer_offsets"), 3u);
    EXPECT_EQ(offline(), 0u);
    EXPECT_EQ(broker().broker().groups().shards().size(), 3u);
  });
}

// After a power cut, while a broker starts: the number of the call for which there is no descriptor.
class NoDescriptors : public FullDisk, public testing::WithParamInterface<uint64_t> {};

TEST_P(NoDescriptors, ALogThatCouldNotBeOpenedIsOpenedLaterWithWhatTheJournalHolds) {
  run([this]() -> Task<void> {
    EXPECT_TRUE((co_await create("orders", 1)).ok());
    for (int i = 0; i < 10; ++i) EXPECT_EQ(co_await produce("orders"), ErrorCode::none);
    EXPECT_EQ(co_await end_of("orders"), Offset(10));
    broker().cut_power();
    disk().fail_nth(FileOperation::open, GetParam(), "orders-0", ErrorCode::too_many_open_files);
    co_await broker().start();
    co_await pause(kSeconds);
    disk().clear_faults();
    EXPECT_EQ(offline(), 0u);
    EXPECT_EQ(served("orders"), 1u);
    if (served("orders") == 1) EXPECT_EQ(co_await end_of("orders"), Offset(10));
    EXPECT_EQ(co_await produce("orders"), ErrorCode::none);
  });
}
INSTANTIATE_TEST_SUITE_P(Calls, NoDescriptors, testing::Range<uint64_t>(1, 13));

// The shard goes on with nobody's help, and knows what was committed before.
TEST_F(FullDisk, ACoordinatorLoadsAgainWhenItsLogIsOpenedAgain) {
  run([this]() -> Task<void> {
    co_await find_coordinator();
    EXPECT_EQ(served("__consumer_offsets"), 3u);
    const auto partition = broker().broker().partitions().find("__consumer_offsets", PartitionIndex(1)).partition;
    const auto before = broker().broker().groups().shards();
    EXPECT_EQ(co_await begin_anew_on_full_disk(*partition), ErrorCode::log_offline) << "the fault was not met";
    EXPECT_EQ(offline(), 1u);
    co_await pause(kSeconds);
    EXPECT_EQ(offline(), 0u);
    EXPECT_NE(broker().broker().partitions().find("__consumer_offsets", PartitionIndex(1)).partition, partition);
    const auto shards = broker().broker().groups().shards();
    EXPECT_EQ(shards.size(), 3u);
    for (size_t i = 0; i < std::min(shards.size(), before.size()); ++i) {
      EXPECT_EQ(shards[i] != before[i], i == 1) << i;
      EXPECT_FALSE(shards[i]->partition()->offline()) << i;
    }
  });
}

// What the disk refuses: the next one of these on the log of the metadata.
class FullMetadataLog : public FullDisk, public testing::WithParamInterface<FileOperation> {};

TEST_P(FullMetadataLog, IsOpenedAgainAndGoesOn) {
  run([this]() -> Task<void> {
    EXPECT_TRUE((co_await create("before", 1)).ok());
    disk().fail_nth(GetParam(), 1, "__metadata", ErrorCode::disk_full);
    EXPECT_FALSE((co_await create("during", 1)).ok()) << "the fault was not met";
    co_await pause(kSeconds);
    EXPECT_TRUE((co_await create("after", 1)).ok());
    EXPECT_EQ(co_await produce("before"), ErrorCode::none);
    EXPECT_EQ(co_await produce("after"), ErrorCode::none);
    // What was acknowledged is there after a power cut.
    broker().cut_power();
    co_await broker().start();
    EXPECT_EQ(served("before"), 1u);
    EXPECT_EQ(served("after"), 1u);
    EXPECT_EQ(co_await end_of("after"), Offset(1));
  });
}
INSTANTIATE_TEST_SUITE_P(Operations, FullMetadataLog, testing::Values(FileOperation::write, FileOperation::sync_data));

}  // namespace
}  // namespace naru::simulation
