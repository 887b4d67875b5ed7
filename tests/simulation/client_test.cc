// The client library against a real broker in a simulated world.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/cluster_client.h"
#include "client/consumer.h"
#include "client/fetched_records.h"
#include "client/offsets.h"
#include "client/producer.h"
#include "client/topic_admin.h"
#include "foundation/log.h"
#include "simulation/simulated_broker.h"

namespace naru::simulation {
namespace {

using client::TopicPartition;

constexpr int kPartitions = 3;

struct Outcome {
  Status problem;
  int delivered = 0;
  int failed = 0;
  std::map<TopicPartition, std::vector<std::string>> read;
  WallTimeMs middle_time = 0;
  Offset at_middle = kNoOffset;
};

class ClientRun {
 public:
  explicit ClientRun(uint64_t seed)
      : world_(seed),
        harness_(world_.add_node("harness").start()),
        broker_(world_.add_node("broker"), harness_->seams(),
                make_broker_config({{"log.dirs", "/data"},
                                    {"listeners", "PLAINTEXT://broker:9092"},
                                    {"naru.journal.bytes", "131072"},
                                    {"naru.admin.listener", ""}})
                    .value()) {
    silence_log();
  }

  Outcome run(int records, bool faults, bool idempotent = true) {
    idempotent_ = idempotent;
    world_.run_task(whole(records, faults));
    return std::move(outcome_);
  }

 private:
  Seams seams() { return harness_->seams(); }
  Task<void> pause(Duration length) { ignore(co_await sleep_until(seams().scheduler, seams().clock.now() + length)); }

  Task<void> whole(int records, bool faults) {
    co_await broker_.start();
    client::ClusterClient client(seams(), {.bootstrap = {broker_.address()}, .request_timeout = 10s});
    TaskGroup nemesis;
    outcome_.problem = co_await create(client);
    if (outcome_.problem.ok()) {
      if (faults) nemesis.spawn(be_a_nemesis());
      outcome_.problem = co_await produce(client, records);
      producing_ = false;
      co_await nemesis.join();
      world_.network().options.cut_one_in = 0;
      if (outcome_.problem.ok()) outcome_.problem = co_await consume(client);
    }
    client.close();
    ignore(co_await broker_.stop_cleanly());
    co_await broker_.wait_for_remains();
  }

  Task<Status> create(client::ClusterClient& client) {
    NARU_CO_TRY_ASSIGN(const auto created,
                       co_await client::create_topic(client, {.name = "orders", .partitions = kPartitions}));
    if (created.partitions != kPartitions) co_return error(ErrorCode::invalid_partitions, "{}", created.partitions);
    const auto again = co_await client::create_topic(client, {.name = "orders"});
    co_return again || again.error() != ErrorCode::topic_already_exists ? Status(ErrorCode::invalid_request) : Status();
  }

  Task<void> be_a_nemesis() {
    while (producing_) {
      co_await pause(300ms);
      world_.network().options.cut_one_in = 50;
      co_await pause(500ms);
      world_.network().options.cut_one_in = 0;
      if (world_.random().one_in(2)) {
        broker_.cut_power();
        co_await pause(200ms);
        co_await broker_.start();
      }
      co_await pause(500ms);
    }
  }

  Task<Status> produce(client::ClusterClient& client, int records) {
    client::ProducerOptions options{.idempotent = idempotent_};
    options.batches = {.compression = Compression::lz4, .batch_bytes = 400, .buffer_bytes = 4000};
    client::Producer producer(client, options, [this](const client::Delivery& delivery) {
      (delivery.status.ok() ? outcome_.delivered : outcome_.failed) += delivery.records;
    });
    Status sent;
    for (int i = 0; i < records && sent.ok(); ++i) {
      const std::string key = fmt::format("key-{}", i % 20);
      const std::string value = std::to_string(i);
      if (i == records / 2) outcome_.middle_time = seams().clock.wall_now_ms();
      sent = co_await producer.send(
          "orders", std::nullopt,
          {.timestamp = seams().clock.wall_now_ms(), .key = as_bytes(key), .value = as_bytes(value)});
      if (i % 10 == 0) co_await pause(30ms);
    }
    co_await producer.flush();
    co_await producer.close();
    co_return sent;
  }

  Task<Status> consume(client::ClusterClient& client) {
    std::vector<TopicPartition> partitions;
    for (int i = 0; i < kPartitions; ++i) partitions.push_back({"orders", PartitionIndex(i)});
    NARU_CO_TRY_ASSIGN(const auto starts, co_await client::list_offsets(client, partitions, client::kEarliest));
    NARU_CO_TRY_ASSIGN(const auto ends, co_await client::list_offsets(client, partitions, client::kLatest));
    NARU_CO_TRY_ASSIGN(const auto middles, co_await client::list_offsets(client, partitions, outcome_.middle_time));
    outcome_.at_middle = middles.at(partitions[0]).offset;
    client::Consumer consumer(client, {.partition_max_bytes = 1000});
    for (const auto& [partition, start] : starts) consumer.seek(partition, start.offset);
    Status problem;
    while (problem.ok() && !consumer.positions().empty()) {
      const auto answer = co_await consumer.poll({});
      if (!answer) problem = answer.error();
      for (size_t i = 0; answer && i < answer->size() && problem.ok(); ++i) {
        problem = take((*answer)[i], ends.at((*answer)[i].partition).offset, consumer);
      }
    }
    co_await consumer.close();
    co_return problem;
  }

  Status take(const client::FetchedPartition& fetched, Offset end, client::Consumer& consumer) {
    NARU_TRY(fetched.status);
    auto& values = outcome_.read[fetched.partition];
    NARU_TRY_ASSIGN(const Offset next,
                    client::visit_records(fetched.records.bytes(), fetched.position, [&](const RecordView& record) {
                      values.emplace_back(as_text(*record.value));
                      return true;
                    }));
    consumer.seek(fetched.partition, next);
    if (next >= end) consumer.remove(fetched.partition);
    return {};
  }

  SimulatedWorld world_;
  std::unique_ptr<SimulatedProcess> harness_;
  SimulatedBroker broker_;
  Outcome outcome_;
  bool producing_ = true;
  bool idempotent_ = true;
};

// Everything that was sent is there, in the order of sending; a retry may have stored some of it twice.
void expect_all_in_order(const Outcome& outcome, int records, bool doubles_allowed) {
  std::vector<bool> seen(static_cast<size_t>(records));
  size_t count = 0;
  for (const auto& [partition, values] : outcome.read) {
    std::map<int, int> last_of_key;
    for (const std::string& text : values) {
      const int value = std::stoi(text);
      ++count;
      const bool is_double = seen.at(static_cast<size_t>(value));
      EXPECT_TRUE(doubles_allowed || !is_double) << value << " twice";
      if (!is_double) {
        const auto [last, is_first] = last_of_key.try_emplace(value % 20, value);
        EXPECT_TRUE(is_first || last->second < value) << value << " behind " << last->second;
        last->second = value;
      }
      seen[static_cast<size_t>(value)] = true;
    }
  }
  for (int i = 0; i < records; ++i) EXPECT_TRUE(seen[static_cast<size_t>(i)]) << i << " is lost";
  EXPECT_GE(count, static_cast<size_t>(records));
}

TEST(Client, ProducesAndConsumes) {
  const Outcome outcome = ClientRun(1).run(300, false);
  ASSERT_TRUE(outcome.problem.ok()) << outcome.problem.to_string();
  EXPECT_EQ(outcome.delivered, 300);
  EXPECT_GT(outcome.at_middle, Offset(0));
  expect_all_in_order(outcome, 300, false);
}

TEST(Client, DeliversOnceThroughCutConnectionsAndCrashes) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Outcome outcome = ClientRun(seed).run(1500, true);
    ASSERT_TRUE(outcome.problem.ok()) << "seed " << seed << ": " << outcome.problem.to_string();
    EXPECT_EQ(outcome.delivered, 1500) << "seed " << seed;
    EXPECT_EQ(outcome.failed, 0) << "seed " << seed;
    expect_all_in_order(outcome, 1500, false);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(Client, WithoutIdempotenceSomeRecordsMayBeStoredTwice) {
  size_t doubles = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Outcome outcome = ClientRun(seed).run(1500, true, false);
    ASSERT_TRUE(outcome.problem.ok()) << "seed " << seed << ": " << outcome.problem.to_string();
    EXPECT_EQ(outcome.delivered, 1500) << "seed " << seed;
    expect_all_in_order(outcome, 1500, true);
    for (const auto& [partition, values] : outcome.read) doubles += values.size();
    doubles -= 1500;
  }
  EXPECT_GT(doubles, 0u) << "no retry stored anything twice: the test above proves nothing";
}

}  // namespace
}  // namespace naru::simulation
