// Markers on their way to brokers that say what the test wants; the metadata are those of a real controller.
#include "broker/marker_sender.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "client/fake_broker_testing.h"
#include "cluster_control/create_topics.h"
#include "cluster_control/metadata_bench.h"
#include "kafka_protocol/messages/write_txn_markers_request.h"
#include "kafka_protocol/messages/write_txn_markers_response.h"

namespace naru {
namespace {

constexpr BrokerId kSelf(0);
constexpr BrokerId kFirstLeader(1);   // of partitions 0 and 1
constexpr BrokerId kSecondLeader(2);  // of partition 2

// One marker as it came to a leader.
struct Arrived {
  ProducerId producer;
  PartitionIndex partition;
  int32_t coordinator_epoch;
  LeaderEpoch leader_epoch;
};

class MarkerSenderTest : public testing::Test {
 protected:
  MarkerSenderTest() {
    CreateTopicsPlanner planner(
        {{{.name = "t", .assignments = {{0, {kFirstLeader}}, {1, {kFirstLeader}}, {2, {kSecondLeader}}}}}, false},
        config_, 0);
    bench_.run(planner);
    publish();
    brokers_.on(kafka::ApiKey::write_txn_markers,
                [this](const client::FakeBroker::Request& request) { return take(request); });
  }
  ~MarkerSenderTest() override { stop(); }

  void stop() {
    if (std::exchange(stopped_, true)) return;
    world_.run_task(peers_.stop());
    world_.run_task(sender_.stop());
    world_.run_task(groups_.stop());
    world_.run_task(writer_.stop());
    world_.run_task(publisher_.stop());
  }

  void publish() { world_.run_task(publisher_.publish(*bench_.rebuild())); }
  void lose(BrokerId broker) {
    bench_.lose_broker(broker);
    bench_.settle();
    publish();
  }
  void bring_back(BrokerId broker) {
    bench_.register_broker(broker, true, bench_.directories(broker));
    bench_.settle();
    publish();
  }
  const PartitionState& partition(int32_t index) { return *bench_.image().find_topic("t")->partitions.at(index); }

  struct Ordered {
    InOffice in_office = InOffice::yes;
    int written = 0;
    std::vector<int64_t> asked_about;  // generations of the images
  };
  // The producer's id stands for the order.
  std::shared_ptr<Ordered> order(const std::string& id, int64_t producer, const std::vector<int32_t>& partitions,
                                 int32_t term = 7, InOffice in_office = InOffice::yes) {
    const auto ordered = std::make_shared<Ordered>(Ordered{.in_office = in_office, .asked_about = {}});
    MarkersWanted wanted{.coordinator = {PartitionIndex(0), LeaderEpoch(term)},
                         .transactional_id = id,
                         .producer = {ProducerId(producer), ProducerEpoch(0)},
                         .number = TransactionNumber(1000),
                         .partitions = {}};
    for (const int32_t index : partitions) wanted.partitions.push_back({"t", PartitionIndex(index)});
    sender_.send(std::move(wanted), {.in_office =
                                         [ordered](const MetadataImage& image) {
                                           ordered->asked_about.push_back(image.cluster().generation);
                                           return ordered->in_office;
                                         },
                                     .all_written = [ordered] { ++ordered->written; }});
    return ordered;
  }

  std::optional<Bytes> take(const client::FakeBroker::Request& request) {
    const auto asked = request.body<kafka::WriteTxnMarkersRequest>();
    auto& arrived = requests_.emplace_back();
    kafka::WriteTxnMarkersResponse response;
    for (const auto& marker : asked.markers) {
      auto& answered = response.markers.emplace_back();
      for (const auto& topic : marker.topics) {
        auto& answered_topic = answered.topics.emplace_back();
        for (size_t i = 0; i < topic.partition_indexes.size(); ++i) {
          arrived.push_back(
              {marker.producer_id, topic.partition_indexes[i], marker.coordinator_epoch, topic.leader_epochs.at(i)});
          answered_topic.partitions.push_back(
              {.partition_index = topic.partition_indexes[i], .error_code = judge_(arrived.back())});
        }
      }
    }
    if (silent_) return std::nullopt;
    return request.answer(response);
  }
  size_t arrived_of(int64_t producer) const {
    size_t count = 0;
    for (const auto& request : requests_) {
      count += static_cast<size_t>(std::ranges::count(request, ProducerId(producer), &Arrived::producer));
    }
    return count;
  }

  SimulatedWorld world_{1};
  client::FakeBroker brokers_{world_.add_node("host"), 9092};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("here").start();
  const BrokerConfig config_ = *make_broker_config({{"node.id", "0"}});
  MetricsRegistry metrics_;
  HostedPartitions hosted_;
  MetadataBench bench_{3};
  MetadataPublisher publisher_;
  GroupCoordinators groups_{process_->seams(), config_, hosted_, publisher_, metrics_};
  UnsyncedLogs unsynced_logs_{{.sync_beyond = 100, .full = 200}, metrics_};
  MarkerWriter writer_{process_->seams(), hosted_, groups_, unsynced_logs_};
  Peers peers_{process_->seams(), kSelf};
  MarkerSender sender_{
      {.seams = process_->seams(), .self = kSelf, .metadata = publisher_, .peers = peers_, .writer = writer_}};
  std::vector<std::vector<Arrived>> requests_;
  std::function<ErrorCode(const Arrived&)> judge_ = [](const Arrived&) { return ErrorCode::none; };
  bool silent_ = false;
  bool stopped_ = false;
};

TEST_F(MarkerSenderTest, MarkersOfManyTransactionsTravelInOneRequestToEachBroker) {
  std::vector<std::shared_ptr<Ordered>> orders;
  for (int64_t i = 0; i < 5; ++i) orders.push_back(order(fmt::format("id-{}", i), i, {0, 1, 2}));
  EXPECT_EQ(sender_.waiting(), 5u);
  world_.run_for(1s);
  EXPECT_EQ(requests_.size(), 2u);
  for (const auto& request : requests_) {
    for (const Arrived& each : request) {
      EXPECT_EQ(each.coordinator_epoch, 7);
      EXPECT_EQ(each.leader_epoch, partition(each.partition.value()).leader_epoch);
    }
  }
  for (const auto& each : orders) EXPECT_EQ(each->written, 1);
  EXPECT_EQ(sender_.waiting(), 0u);
}

TEST_F(MarkerSenderTest, ANewOrderEndsTheFormerOneOfTheSameTransactionalId) {
  silent_ = true;
  const auto first = order("id", 1, {0});
  world_.run_for(1s);
  ASSERT_EQ(arrived_of(1), 1u) << "and is not answered";
  // The shard was loaded anew.
  const auto second = order("id", 2, {0});
  EXPECT_EQ(sender_.waiting(), 1u);
  silent_ = false;
  world_.run_for(60s);
  EXPECT_EQ(arrived_of(1), 1u) << "never again: the next transaction may be open by now";
  EXPECT_EQ(first->written, 0);
  EXPECT_EQ(second->written, 1);
  EXPECT_EQ(sender_.waiting(), 0u);
}

TEST_F(MarkerSenderTest, WhatAnEarlierTermOrdersLateIsNotSent) {
  const auto present = order("id", 1, {0}, 8);
  const auto former = order("id", 2, {0}, 7);
  world_.run_for(1s);
  EXPECT_EQ(present->written, 1);
  EXPECT_EQ(arrived_of(2), 0u);
}

TEST_F(MarkerSenderTest, WhatWaitsBehindARequestIsNotSentWhenItsCoordinatorWasReplaced) {
  silent_ = true;
  const auto ahead = order("ahead", 1, {0});
  world_.run_for(1s);
  const auto behind = order("behind", 2, {1});
  const auto other = order("other", 3, {1});
  world_.run_for(1s);
  EXPECT_EQ(arrived_of(2), 0u);
  behind->in_office = InOffice::no;
  silent_ = false;
  world_.run_for(60s);
  EXPECT_EQ(arrived_of(2), 0u);
  EXPECT_EQ(behind->written, 0);
  EXPECT_EQ(other->written, 1);
  EXPECT_EQ(sender_.waiting(), 0u);
}

// An image in which there is both a new leader and a new coordinator must not be used for one of them only.
TEST_F(MarkerSenderTest, TheCoordinatorIsJudgedByTheImageThatNamesTheLeadersEpoch) {
  silent_ = true;
  const auto ahead = order("ahead", 1, {0});
  world_.run_for(1s);
  const auto behind = order("behind", 2, {1});
  const LeaderEpoch before = partition(1).leader_epoch;
  lose(kFirstLeader);
  bring_back(kFirstLeader);
  ASSERT_GT(partition(1).leader_epoch, before);
  silent_ = false;
  world_.run_for(60s);
  ASSERT_EQ(arrived_of(2), 1u);
  for (const auto& request : requests_) {
    for (const Arrived& each : request) {
      if (each.producer == ProducerId(2)) EXPECT_EQ(each.leader_epoch, partition(1).leader_epoch);
    }
  }
  EXPECT_EQ(behind->asked_about.back(), bench_.image().cluster().generation);
}

TEST_F(MarkerSenderTest, AnUnclearOfficeIsWaitedFor) {
  constexpr int32_t kNotInTheImage = 9;
  const auto waits = order("id", 1, {0, kNotInTheImage}, 7, InOffice::unclear);
  const auto not_deleted = order("other", 2, {kNotInTheImage}, 7, InOffice::unclear);
  world_.run_for(10s);
  EXPECT_EQ(arrived_of(1), 0u);
  EXPECT_EQ(not_deleted->written, 0) << "the image may be older than the partition";
  EXPECT_EQ(sender_.waiting(), 2u);
  for (const auto& each : {waits, not_deleted}) each->in_office = InOffice::yes;
  world_.run_for(2s);
  for (const auto& each : {waits, not_deleted}) EXPECT_EQ(each->written, 1);
}

TEST_F(MarkerSenderTest, AMarkerWaitsForALeader) {
  lose(kSecondLeader);
  ASSERT_EQ(partition(2).leader, kNoBroker);
  const auto waits = order("id", 1, {0, 2});
  world_.run_for(10s);
  EXPECT_EQ(arrived_of(1), 1u) << "that of the other partition";
  EXPECT_EQ(waits->written, 0);
  bring_back(kSecondLeader);
  world_.run_for(2s);
  EXPECT_EQ(waits->written, 1);
  EXPECT_EQ(requests_.back().front().leader_epoch, partition(2).leader_epoch);
}

TEST_F(MarkerSenderTest, ADeletedTopicNeedsNoMarker) {
  const auto deleted = order("id", 1, {0, 9});
  world_.run_for(1s);
  EXPECT_EQ(deleted->written, 1);
  EXPECT_EQ(arrived_of(1), 1u);
}

TEST_F(MarkerSenderTest, APartitionThatHasSeenALaterEpochKeepsTheTransactionFromEndingNowhere) {
  judge_ = [](const Arrived& each) {
    return each.partition == PartitionIndex(0) ? ErrorCode::invalid_producer_epoch : ErrorCode::none;
  };
  lose(kSecondLeader);
  const auto ends = order("id", 1, {0, 1, 2});
  world_.run_for(10s);
  EXPECT_EQ(ends->written, 0) << "one of them has no leader";
  EXPECT_EQ(arrived_of(1), 2u) << "once each";
  bring_back(kSecondLeader);
  world_.run_for(2s);
  EXPECT_EQ(ends->written, 1);
}

TEST_F(MarkerSenderTest, WhoWasReplacedDoesNotTakeARefusalForAnEnd) {
  for (const ErrorCode refusal : {ErrorCode::invalid_producer_epoch, ErrorCode::transaction_coordinator_fenced}) {
    std::shared_ptr<Ordered> overtaken;
    judge_ = [&](const Arrived&) {
      overtaken->in_office = InOffice::no;
      return refusal;
    };
    requests_.clear();
    overtaken = order("id", 1, {0});
    world_.run_for(10s);
    EXPECT_EQ(overtaken->written, 0);
    EXPECT_EQ(arrived_of(1), 1u);
    EXPECT_EQ(sender_.waiting(), 0u);
  }
}

// The metadata here may be older than there.
TEST_F(MarkerSenderTest, WhoIsFencedAsksAgainUntilTheMetadataSayWhy) {
  judge_ = [](const Arrived&) { return ErrorCode::transaction_coordinator_fenced; };
  const auto fenced = order("id", 1, {0});
  world_.run_for(5s);
  EXPECT_GT(arrived_of(1), 1u);
  EXPECT_EQ(fenced->written, 0);
  fenced->in_office = InOffice::no;
  world_.run_for(5s);
  EXPECT_EQ(sender_.waiting(), 0u);
}

TEST_F(MarkerSenderTest, ASlowPartitionGoesApartFromTheOthersAndIsAskedLessAndLessOften) {
  judge_ = [](const Arrived& each) {
    return each.partition == PartitionIndex(0) ? ErrorCode::request_timed_out : ErrorCode::none;
  };
  const auto slow = order("slow", 1, {0, 1});
  world_.run_for(1s);
  requests_.clear();
  const auto quick = order("quick", 2, {1});
  const auto also_slow = order("also slow", 3, {0});
  world_.run_for(20s);
  EXPECT_EQ(quick->written, 1);
  for (const auto& request : requests_) {
    for (const Arrived& each : request) EXPECT_EQ(each.partition, request.front().partition) << "together";
  }
  EXPECT_LT(arrived_of(1), 30u);
  EXPECT_GT(arrived_of(1), 10u);
  judge_ = [](const Arrived&) { return ErrorCode::none; };
  world_.run_for(2s);
  EXPECT_EQ(slow->written, 1);
  EXPECT_EQ(also_slow->written, 1);
}

TEST_F(MarkerSenderTest, AStopWaitsForNobody) {
  silent_ = true;
  lose(kSecondLeader);
  const auto on_its_way = order("id", 1, {0});
  const auto leaderless = order("leaderless", 2, {2});
  world_.run_for(2s);
  ASSERT_EQ(arrived_of(1), 1u);
  const MonotonicTime begun = world_.now();
  stop();
  EXPECT_LT(world_.now() - begun, 100ms);
  const auto too_late = order("too late", 3, {1});
  bring_back(kSecondLeader);
  world_.run_for(60s);
  for (const auto& each : {on_its_way, leaderless, too_late}) EXPECT_EQ(each->written, 0) << "the next one's work";
}

}  // namespace
}  // namespace naru
