// Every order of what producers, leaders, the coordinator and the network do, or very many of them.
#include <utility>

#include <gtest/gtest.h>

#include "foundation/log.h"
#include "transactions/transaction_model_testing.h"

namespace naru {

// --- The producer ----------------------------------------------------------------------------------------------------

namespace {

constexpr int kCoordinator = -1;
constexpr const char* kModelId = "tx";
constexpr int32_t kModelTimeoutMs = 60'000;

bool is_fatal(ErrorCode error) {
  return error == ErrorCode::producer_fenced || error == ErrorCode::invalid_txn_state;
}

}  // namespace

ModelProducer::ModelProducer(ModelWorld& world, int name) : world_(world), name_(name) {
  for (int target = kCoordinator; target < world.settings.partitions; ++target) connections_[target] = world.connect();
}

void ModelProducer::request(int target, std::function<void()> send) {
  target_ = target;
  send_ = std::move(send);
  ++request_;
  send_();
}

void ModelProducer::again() {
  ++request_;
  send_();
}

void ModelProducer::back_off() {
  world_.later([this, request = request_] {
    if (request == request_ && send_) again();
  });
}

void ModelProducer::reconnect() {
  world_.slow.insert(connections_[target_]);
  connections_[target_] = world_.connect();
}

void ModelProducer::give_up_connection() {
  reconnect();
  again();
}

template <class Answer>
Reply<Answer> ModelProducer::on_answer(void (ModelProducer::*handle)(const Answer&)) {
  return [this, handle, request = request_](Result<Answer> answer) {
    if (request != request_ || !send_) return;
    if (!answer) return back_off();
    if constexpr (requires { answer->is_late; }) {
      if (answer->is_late) return give_up_connection();
    }
    (this->*handle)(*answer);
  };
}

void ModelProducer::init(std::optional<ProducerIdentity> expected) {
  request(kCoordinator, [this, expected] {
    InitProducer ask{.transactional_id = kModelId,
                     .timeout_ms = kModelTimeoutMs,
                     .expected = expected,
                     .fresh_id = ProducerId(world_.test.next_fresh_id++),
                     .connection = connections_[kCoordinator]};
    world_.send(ask.connection, true,
                [this, ask, reply = std::make_shared<Reply<InitProducerAnswer>>(on_answer(&ModelProducer::on_init))] {
                  world_.test.ask<InitProducerAnswer>([&](auto, auto& outcome) {
                    world_.test.coordinator->init_producer(ask, std::move(*reply), world_.test.time, outcome);
                  });
                });
  });
}

void ModelProducer::on_init(const InitProducerAnswer& answer) {
  if (answer.error == ErrorCode::concurrent_transactions) return back_off();
  if (answer.error != ErrorCode::none) return die();
  EXPECT_LE(answer.producer.epoch, kExhaustedEpoch) << "an epoch that is for markers alone";
  who_ = answer.producer;
  needs_epoch_ = false;
  begin_next();
}

void ModelProducer::begin_next() {
  send_ = nullptr;
  if (begun_ == world_.settings.transactions) return;
  batch_ = name_ * 100 + ++begun_;
  transactions[batch_];
  partition_ = 0;
  proceed();
}

void ModelProducer::proceed() {
  if (partition_ < world_.settings.partitions) {
    return world_.settings.version < kTransactionVersion2 ? add() : produce();
  }
  const bool is_abort = world_.settings.can_abort && world_.choices.pick(2) == 1;
  if (is_abort) return abort();
  current().has_asked_to_commit = true;
  end(TransactionResult::commit);
}

void ModelProducer::add() {
  request(kCoordinator, [this] {
    AddPartitions ask{.transactional_id = kModelId,
                      .producer = who_,
                      .partitions = {test_partition(partition_)},
                      .connection = connections_[kCoordinator]};
    world_.send(ask.connection, true,
                [this, ask, reply = std::make_shared<Reply<AddPartitionsAnswer>>(on_answer(&ModelProducer::on_added))] {
                  world_.test.ask<AddPartitionsAnswer>([&](auto, auto& outcome) {
                    world_.test.coordinator->add_partitions(ask, std::move(*reply), world_.test.time, outcome);
                  });
                });
  });
}

void ModelProducer::on_added(const AddPartitionsAnswer& answer) {
  const ErrorCode error = answer.partitions.at(0);
  if (error == ErrorCode::concurrent_transactions) return back_off();
  if (is_fatal(error)) return die();
  if (error != ErrorCode::none) return init(who_);
  produce();
}

void ModelProducer::produce() {
  request(partition_, [this] {
    const uint64_t connection = connections_[partition_];
    auto answer = [this, request = request_](ErrorCode error) {
      if (request == request_ && send_) on_produced(error);
    };
    world_.send(connection, false, [this, partition = partition_, who = who_, batch = batch_, connection, answer] {
      world_.produce(partition, who, batch, connection, answer);
    });
  });
}

void ModelProducer::on_produced(ErrorCode error) {
  if (error == ErrorCode::concurrent_transactions) return back_off();
  if (error != ErrorCode::none) {
    needs_epoch_ = true;
    return abort();
  }
  current().stored.insert(partition_++);
  proceed();
}

void ModelProducer::abort() {
  end(TransactionResult::abort);
}

void ModelProducer::end(TransactionResult result) {
  result_ = result;
  request(kCoordinator, [this] {
    EndTransaction ask{.transactional_id = kModelId,
                       .producer = who_,
                       .result = result_,
                       .version = world_.settings.version,
                       .fresh_id = ProducerId(world_.test.next_fresh_id++),
                       .connection = connections_[kCoordinator]};
    world_.send(
        ask.connection, true,
        [this, ask, reply = std::make_shared<Reply<EndTransactionAnswer>>(on_answer(&ModelProducer::on_ended))] {
          world_.test.ask<EndTransactionAnswer>([&](auto, auto& outcome) {
            world_.test.coordinator->end(ask, std::move(*reply), world_.test.time, outcome);
          });
        });
  });
}

void ModelProducer::on_ended(const EndTransactionAnswer& answer) {
  if (answer.error == ErrorCode::concurrent_transactions) return back_off();
  if (is_fatal(answer.error)) return die();
  const bool is_version_2 = world_.settings.version >= kTransactionVersion2;
  if (answer.error != ErrorCode::none) {
    // It was aborted meanwhile: version 1 has to ask who it is now, version 2 hears it with the abort.
    // Or its id was given up by a successor, which it learns by asking.
    EXPECT_TRUE(result_ == TransactionResult::commit || world_.settings.clients > 1);
    return is_version_2 && result_ == TransactionResult::commit ? abort() : init(who_);
  }
  if (result_ == TransactionResult::commit) current().outcome = Outcome::committed;
  if (is_version_2) {
    EXPECT_LE(answer.next.epoch, kExhaustedEpoch) << "an epoch that is for markers alone";
    EXPECT_TRUE(answer.next.id != who_.id || answer.next.epoch > who_.epoch);
    who_ = answer.next;
  } else if (needs_epoch_) {
    return init(who_);
  }
  begin_next();
}

void ModelProducer::die() {
  if (batch_ != 0 && current().has_asked_to_commit && current().outcome == Outcome::aborted) {
    current().outcome = Outcome::unknown;
  }
  is_dead = true;
  send_ = nullptr;
}

// --- The world -------------------------------------------------------------------------------------------------------

ModelWorld::ModelWorld(const ModelSettings& settings, ModelChoices& choices)
    : settings(settings),
      choices(choices),
      partitions(static_cast<size_t>(settings.partitions)),
      resends_(settings.resends),
      overdue_(settings.overdue),
      crashes_(settings.crashes),
      doubled_(settings.doubled) {
  test.checks_compacted = false;  // that takes most of the time
  if (settings.first_epoch > 0) {
    const StoredTransaction stored{.producer = test_producer(7, settings.first_epoch), .timeout_ms = kModelTimeoutMs};
    test.log.push_back(transaction_record(kModelId, &stored));
    test.restart();
  }
  for (int i = 0; i < settings.clients; ++i) clients_.push_back(std::make_unique<ModelProducer>(*this, i + 1));
}

void ModelWorld::produce(int partition, ProducerIdentity who, int batch, uint64_t connection,
                         std::function<void(ErrorCode)> answer) {
  using Admission = ModelPartition::Admission;
  const auto tell = [](const std::function<void(ErrorCode)>& to, Admission admission) {
    to(admission == Admission::stored      ? ErrorCode::none
       : admission == Admission::old_epoch ? ErrorCode::invalid_producer_epoch
                                           : ErrorCode::invalid_txn_state);
  };
  ModelPartition& log = partitions[static_cast<size_t>(partition)];
  const Admission admission = log.admit(who, settings.version, batch, connection);
  if (admission != Admission::verify) return tell(answer, admission);
  const uint64_t guard = log.guard(who);
  const bool is_implicit = settings.version >= kTransactionVersion2;
  AddPartitions ask{.transactional_id = kModelId,
                    .producer = who,
                    .partitions = {test_partition(partition)},
                    .mode = is_implicit ? AddPartitions::Mode::implicit : AddPartitions::Mode::verify_only};
  send_anyhow(true, [=, this, &log] {
    test.ask<AddPartitionsAnswer>([&](auto, auto& outcome) {
      auto verified = [=, this, &log](Result<AddPartitionsAnswer> verdict) {
        send_anyhow(false, [=, &log] {
          if (!verdict) return answer(ErrorCode::concurrent_transactions);
          if (verdict->partitions.at(0) != ErrorCode::none) return answer(verdict->partitions[0]);
          tell(answer, log.store_verified(who, batch, connection, guard, verdict->number));
        });
      };
      test.coordinator->add_partitions(ask, std::move(verified), test.time, outcome);
    });
  });
}

void ModelWorld::send_marker(std::shared_ptr<std::set<int>> missing, const MarkersWanted& wanted, int partition,
                             bool is_repeated) {
  const auto arrive = [=, this] {
    partitions[static_cast<size_t>(partition)].end(wanted);
    if (missing->erase(partition) == 0 || !missing->empty()) return;
    const auto tell = [=, this] {
      test.markers_written(wanted);
      stop_backing_off();
    };
    send_anyhow(true, tell);
    if (doubled_ > 0 && choices.pick(2) == 1) {
      --doubled_;
      send_anyhow(true, tell, true);
    }
  };
  send_anyhow(false, arrive, is_repeated);
}

void ModelWorld::send_markers() {
  for (const MarkersWanted& wanted : std::exchange(test.sink.wanted, {})) {
    auto missing = std::make_shared<std::set<int>>();
    for (const TopicPartitionName& each : wanted.partitions) missing->insert(each.partition.value());
    for (const TopicPartitionName& each : wanted.partitions) {
      send_marker(missing, wanted, each.partition.value(), false);
      if (doubled_ > 0 && choices.pick(2) == 1) {
        --doubled_;
        send_marker(missing, wanted, each.partition.value(), true);
      }
    }
  }
}

void ModelWorld::stop_backing_off() {
  for (auto& action : std::exchange(backed_off_, {})) action();
}

void ModelWorld::deliver(uint64_t lane) {
  const auto found = lanes_.find(lane);
  const Message message = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) lanes_.erase(found);
  message.arrive();
  send_markers();
}

// False: nothing is left to happen.
bool ModelWorld::step() {
  if (lanes_.empty()) stop_backing_off();
  std::vector<std::function<void()>> possible;
  for (const auto& [lane, messages] : lanes_) {
    const uint64_t number = lane;
    if (settings.slow_is_slower && slow.contains(lane) && lanes_.size() > 1 && choices.pick(10) != 0) continue;
    possible.push_back([this, number] { deliver(number); });
    if (crashes_ > 0 && messages.front().to_coordinator) {
      possible.push_back([this, number] {
        --crashes_;
        test.hold_commits();
        deliver(number);
        test.crash_before_commit(next_connection_ - 1);
        send_markers();
        stop_backing_off();
      });
    }
  }
  for (size_t i = 0; i < started_; ++i) {
    if (resends_ == 0 || !clients_[i]->is_waiting()) continue;
    possible.push_back([this, i] {
      --resends_;
      clients_[i]->give_up_connection();
    });
  }
  const bool is_anything_open =
      !test.coordinator->durable_state().empty() && test.state(kModelId) == TransactionState::ongoing;
  if (overdue_ > 0 && is_anything_open) {
    possible.push_back([this] {
      --overdue_;
      test.advance(Milliseconds(kModelTimeoutMs));
      send_markers();
      stop_backing_off();
    });
  }
  if (started_ < clients_.size()) possible.push_back([this] { clients_[started_++]->start(); });
  if (possible.empty()) return !lanes_.empty();
  possible[choices.pick(possible.size())]();
  return true;
}

void ModelWorld::run() {
  for (int steps = 0; step(); ++steps) {
    ASSERT_LT(steps, 5000) << "it does not come to an end";
    if (testing::Test::HasFailure()) return;
  }
  // Whatever somebody has left open ends by itself.
  test.advance(Milliseconds(kModelTimeoutMs) + 2s);
  send_markers();
  while (!lanes_.empty()) deliver(lanes_.begin()->first);
  check();
}

void ModelWorld::check() {
  for (const ModelPartition& partition : partitions) {
    EXPECT_FALSE(partition.has_open()) << "readers would wait for ever";
    const std::set<int> once(partition.committed.begin(), partition.committed.end());
    EXPECT_EQ(once.size(), partition.committed.size()) << "something is there twice";
    std::map<int, int> last;  // of each client
    for (const int batch : partition.committed) {
      EXPECT_LT(std::exchange(last[batch / 100], batch), batch) << "out of order";
    }
  }
  for (const auto& client : clients_) {
    EXPECT_TRUE(client->is_finished());
    if (clients_.size() == 1) EXPECT_FALSE(client->is_dead) << "there was nobody else: it could have gone on";
    for (const auto& [batch, transaction] : client->transactions) {
      size_t found = 0;
      for (size_t i = 0; i < partitions.size(); ++i) {
        const bool is_there = std::ranges::find(partitions[i].committed, batch) != partitions[i].committed.end();
        if (is_there) ++found;
        using Outcome = ModelProducer::Outcome;
        if (transaction.outcome == Outcome::aborted) EXPECT_FALSE(is_there) << batch << " was aborted";
        if (transaction.outcome == Outcome::committed) EXPECT_TRUE(is_there) << batch << " was committed";
      }
      EXPECT_TRUE(found == 0 || found == partitions.size()) << batch << " is torn";
    }
  }
}

namespace {

// How many orders there are.
size_t live_in_every_order(const ModelSettings& settings) {
  EveryChoice choices;
  size_t orders = 0;
  do {
    ModelWorld world(settings, choices);
    world.run();
    ++orders;
  } while (!testing::Test::HasFailure() && choices.next());
  return orders;
}

void live_in_random_order(const ModelSettings& settings, uint64_t seed) {
  SCOPED_TRACE(seed);
  RandomChoices choices(seed);
  ModelWorld world(settings, choices);
  world.run();
}

class TransactionModel : public testing::Test {
 protected:
  void SetUp() override { silence_log(); }
};

TEST_F(TransactionModel, EveryOrderOfAnEndItsRetryATimeoutAndTheNextTransaction) {
  struct Case {
    int16_t version;
    int epoch;  // the first one is one more; 32766 is the last
  };
  for (const auto& [version, epoch] : {Case{1, 32765}, Case{2, 0}, Case{2, 32765}}) {
    SCOPED_TRACE(testing::Message() << "version " << version << " from epoch " << epoch);
    const size_t orders =
        live_in_every_order({.version = version, .first_epoch = epoch, .can_abort = false, .resends = 1, .overdue = 1});
    EXPECT_GT(orders, 100'000U);
  }
}

TEST_F(TransactionModel, NothingIsTornLostOrDoubledWhateverIsHeldOrComesTwice) {
  for (uint64_t seed = 0; seed < 6000 && !HasFailure(); ++seed) {
    RandomChoices dice(seed + 1'000'000);
    live_in_random_order({.version = static_cast<int16_t>(1 + dice.pick(2)),
                          .clients = dice.pick(4) == 0 ? 2 : 1,
                          .partitions = 2,
                          .transactions = 4,
                          .first_epoch = dice.pick(4) == 0 ? 32763 + static_cast<int>(dice.pick(3)) : 0,
                          .slow_is_slower = dice.pick(4) != 0,
                          .resends = static_cast<int>(dice.pick(8)),
                          .overdue = static_cast<int>(dice.pick(3)),
                          .crashes = static_cast<int>(dice.pick(3)),
                          .doubled = 4},
                         seed);
  }
}

}  // namespace
}  // namespace naru
