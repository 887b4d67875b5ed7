// A leader that asks the coordinator on another broker, which says what the test wants.
#include "broker/transaction_link.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "async/task_group.h"
#include "client/fake_broker_testing.h"
#include "cluster_control/create_topics.h"
#include "cluster_control/internal_topics.h"
#include "cluster_control/metadata_bench.h"
#include "kafka_protocol/messages/naru_add_partitions_to_txn_request.h"
#include "kafka_protocol/messages/naru_add_partitions_to_txn_response.h"

namespace naru {
namespace {

constexpr BrokerId kHere(0);
constexpr BrokerId kCoordinator(1);

class TransactionLinkTest : public testing::Test {
 protected:
  TransactionLinkTest() {
    elsewhere_.on(kafka::ApiKey::naru_add_partitions_to_txn,
                  [this](const client::FakeBroker::Request& request) -> std::optional<Bytes> {
                    ++asked_;
                    const auto body = request.body<kafka::NaruAddPartitionsToTxnRequest>();
                    EXPECT_EQ(body.broker_id, kHere);
                    EXPECT_EQ(body.broker_epoch, 42);
                    if (!answer_) return std::nullopt;
                    return request.answer(answer_(body));
                  });
  }
  ~TransactionLinkTest() override {
    world_.run_task(peers_.stop());
    world_.run_task(coordinators_.stop());
    world_.run_task(coordinators_.stop_sending());
    world_.run_task(groups_.stop());
    world_.run_task(writer_.stop());
    world_.run_task(publisher_.stop());
  }

  void make_coordinator() {
    NewTopic topic{.name = std::string(kTransactionsTopic), .assignments = {{0, {kCoordinator}}}, .internal = true};
    CreateTopicsPlanner planner({{std::move(topic)}, false}, config_, 0);
    bench_.run(planner);
    world_.run_task(publisher_.publish(*bench_.rebuild()));
  }
  static kafka::NaruAddPartitionsToTxnResponse answered(const std::vector<ErrorCode>& codes, int64_t number = 1000) {
    kafka::NaruAddPartitionsToTxnResponse response;
    auto& transaction = response.transactions.emplace_back();
    transaction.transaction_number = number;
    transaction.coordinator_epoch = 5;
    transaction.error_codes = codes;
    return response;
  }
  static AddPartitions request() {
    return {.transactional_id = "id",
            .producer = {ProducerId(7), ProducerEpoch(1)},
            .partitions = {{"t", PartitionIndex(0)}, {"t", PartitionIndex(3)}, {"u", PartitionIndex(0)}},
            .mode = AddPartitions::Mode::implicit};
  }
  Result<AddPartitionsAnswer> join() { return run_in(world_, link_.join(request())); }
  Task<void> note_end(bool& ended) {
    EXPECT_FALSE((co_await link_.join(request())).has_value());
    ended = true;
  }

  SimulatedWorld world_{1};
  client::FakeBroker elsewhere_{world_.add_node("host"), 9092};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("here").start();
  const BrokerConfig config_ = *make_broker_config({{"node.id", "0"}});
  MetricsRegistry metrics_;
  HostedPartitions hosted_;
  MetadataBench bench_{2};
  MetadataPublisher publisher_;
  GroupCoordinators groups_{process_->seams(), config_, hosted_, publisher_, metrics_};
  UnsyncedLogs unsynced_logs_{{.sync_beyond = 100, .full = 200}, metrics_};
  MarkerWriter writer_{process_->seams(), hosted_, groups_, unsynced_logs_};
  Peers peers_{process_->seams(), kHere};
  TransactionCoordinators coordinators_{{.seams = process_->seams(),
                                         .config = config_,
                                         .hosted = hosted_,
                                         .metadata = publisher_,
                                         .metrics = metrics_,
                                         .peers = peers_,
                                         .writer = writer_,
                                         .newest_connection = [] { return uint64_t{0}; }}};
  TransactionLink link_{{.seams = process_->seams(),
                         .self = kHere,
                         .metadata = publisher_,
                         .peers = peers_,
                         .broker_epoch = [] { return int64_t{42}; },
                         .here = coordinators_}};
  std::function<kafka::NaruAddPartitionsToTxnResponse(const kafka::NaruAddPartitionsToTxnRequest&)> answer_;
  int asked_ = 0;
};

TEST_F(TransactionLinkTest, TheCoordinatorElsewhereIsAskedAboutAllPartitionsAtOnce) {
  make_coordinator();
  answer_ = [](const kafka::NaruAddPartitionsToTxnRequest& asked) {
    EXPECT_EQ(asked.transactions.size(), 1u);
    EXPECT_FALSE(asked.transactions.front().verify_only);
    EXPECT_EQ(asked.transactions.front().topics.size(), 2u);
    return answered({ErrorCode::none, ErrorCode::transaction_abortable, ErrorCode::none});
  };
  const auto answer = join();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->number, TransactionNumber(1000));
  EXPECT_EQ(answer->coordinator_epoch, 5);
  EXPECT_EQ(answer->partitions, (std::vector{ErrorCode::none, ErrorCode::transaction_abortable, ErrorCode::none}));
  EXPECT_EQ(asked_, 1);
}

TEST_F(TransactionLinkTest, ACoordinatorThatCannotBeAskedIsAnErrorForAll) {
  EXPECT_EQ(join().error(), ErrorCode::coordinator_not_available) << "nobody is known";
  make_coordinator();
  answer_ = [](const auto&) {
    kafka::NaruAddPartitionsToTxnResponse refused;
    refused.error_code = ErrorCode::stale_broker_epoch;
    return refused;
  };
  EXPECT_EQ(join().error(), ErrorCode::stale_broker_epoch);
  answer_ = [](const auto&) { return answered({ErrorCode::none}); };
  EXPECT_EQ(join().error(), ErrorCode::network_exception) << "an answer to something else";
}

TEST_F(TransactionLinkTest, TheEndOfTheTransactionBeforeIsWaitedForWithPausesThatGrow) {
  make_coordinator();
  answer_ = [this](const auto&) {
    const ErrorCode first = asked_ < 4 ? ErrorCode::concurrent_transactions : ErrorCode::none;
    return answered({first, ErrorCode::none, ErrorCode::none});
  };
  MonotonicTime begun = world_.now();
  EXPECT_EQ(join()->partitions.front(), ErrorCode::none);
  EXPECT_EQ(asked_, 4);
  EXPECT_LT(world_.now() - begun, 100ms) << "most of them take a moment";
  asked_ = 0;
  answer_ = [](const auto&) {
    return answered({ErrorCode::concurrent_transactions, ErrorCode::none, ErrorCode::none});
  };
  begun = world_.now();
  EXPECT_EQ(join()->partitions.front(), ErrorCode::concurrent_transactions);
  EXPECT_GE(world_.now() - begun, 1s);
  EXPECT_LT(asked_, 20);
}

TEST_F(TransactionLinkTest, AStopAnswersWhoeverWaits) {
  make_coordinator();
  TaskGroup waiting;
  bool ended = false;
  waiting.spawn(note_end(ended));
  world_.run_for(1s);
  ASSERT_EQ(asked_, 1);
  ASSERT_FALSE(ended);
  const MonotonicTime begun = world_.now();
  world_.run_task(link_.stop());
  world_.run_task(waiting.join());
  EXPECT_TRUE(ended);
  EXPECT_LT(world_.now() - begun, 1s);
  EXPECT_FALSE(join().has_value());
  EXPECT_EQ(asked_, 1) << "nobody is asked any more";
}

}  // namespace
}  // namespace naru
