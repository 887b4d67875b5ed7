#include "broker/transaction_coordinators.h"

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "broker/one_partition_testing.h"
#include "cluster_control/internal_topics.h"
#include "coordination_store/simulated/run_in_world.h"

namespace naru {
namespace {

// The partition is the one of __transaction_state.
class TransactionCoordinatorsTest : public BrokerWithOnePartition {
 protected:
  TransactionCoordinatorsTest() {
    host(kTransactionsTopic);
    create({hosted_internal_topic(kTransactionsTopic), {.name = "written", .partition_count = 1}});
    publish();
    world_.run_task(coordinators_.start());
    world_.run_for(1s);
  }
  ~TransactionCoordinatorsTest() override {
    let_appends_end();
    world_.run_task(coordinators_.stop());
    world_.run_task(peers_.stop());
    world_.run_task(coordinators_.stop_sending());
    world_.run_task(groups_.stop());
    world_.run_task(writer_.stop());
    world_.run_task(publisher_.stop());
  }

  ProducerIdentity init() {
    InitProducerAnswer answer;
    TaskGroup asking;
    asking.spawn(ask_for_producer(answer));
    world_.run_for(1ms);
    durability_.sync();
    world_.run_task(asking.join());
    EXPECT_EQ(answer.error, ErrorCode::none);
    return answer.producer;
  }
  Task<void> ask_for_producer(InitProducerAnswer& answer) {
    const auto answered = co_await coordinators_.ask<InitProducerAnswer>(
        "id", [](TransactionCoordinator& transactions, Reply<InitProducerAnswer> reply, const CoordinatorTime& time,
                 CoordinatorOutcome& outcome) {
          transactions.init_producer({.transactional_id = "id", .timeout_ms = 60'000, .fresh_id = ProducerId(7)},
                                     std::move(reply), time, outcome);
        });
    EXPECT_TRUE(answered.has_value());
    if (answered) answer = *answered;
  }
  Result<AddPartitionsAnswer> join(const ProducerIdentity& producer, const std::string& topic) {
    return run_in(world_, coordinators_.join({.transactional_id = "id",
                                              .producer = producer,
                                              .partitions = {{topic, PartitionIndex(0)}},
                                              .mode = AddPartitions::Mode::implicit,
                                              .may_wait = false}));
  }

  GroupCoordinators groups_{process_->seams(), config_, hosted_, publisher_, metrics_};
  MarkerWriter writer_{process_->seams(), hosted_, groups_, unsynced_logs_};
  Peers peers_{process_->seams(), BrokerId(0)};
  TransactionCoordinators coordinators_{{.seams = process_->seams(),
                                         .config = config_,
                                         .hosted = hosted_,
                                         .metadata = publisher_,
                                         .metrics = metrics_,
                                         .peers = peers_,
                                         .writer = writer_,
                                         .newest_connection = [] { return uint64_t{0}; }}};
};

TEST_F(TransactionCoordinatorsTest, WhatTheImageDoesNotHaveIsNotAdded) {
  const ProducerIdentity producer = init();
  EXPECT_EQ(join(producer, "unheard-of").error(), ErrorCode::coordinator_not_available);
  EXPECT_EQ(partition_->log().end_offset(), Offset(1));
}

// Others stand behind it on the same connection.
TEST_F(TransactionCoordinatorsTest, NoLeaderWaitsForTheLogForLongerThanAMoment) {
  const ProducerIdentity producer = init();
  const MonotonicTime begun = world_.now();
  EXPECT_EQ(join(producer, "written").error(), ErrorCode::coordinator_not_available);
  EXPECT_LT(world_.now() - begun, 3s);
  durability_.sync();
  world_.run_for(1ms);
  const auto again = join(producer, "written");
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_EQ(again->partitions, std::vector{ErrorCode::none});
  EXPECT_EQ(partition_->log().end_offset(), Offset(2)) << "it was added once";
}

}  // namespace
}  // namespace naru
