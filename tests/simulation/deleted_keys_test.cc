// A follower that was away while a key was deleted, and while its delete marker was compacted away.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "client/consumer.h"
#include "client/fetched_records.h"
#include "client/offsets.h"
#include "client/producer.h"
#include "foundation/canary_testing.h"
#include "simulation/cluster_scenario.h"

namespace naru::simulation {
namespace {

const std::string kTable = "table";

class DeletedKeys : public testing::Test {
 protected:
  Task<void> put(client::Producer& producer, std::string key, std::optional<std::string> value) {
    ignore(co_await producer.send(kTable, PartitionIndex(0),
                                  {.timestamp = scenario_.seams().clock.wall_now_ms(),
                                   .key = as_bytes(key),
                                   .value = value ? std::optional<BytesView>(as_bytes(*value)) : std::nullopt}));
    co_await producer.flush();
  }
  // Time passes, so that segments are sealed and compacted.
  Task<void> put_others(client::Producer& producer, int count) {
    for (int i = 0; i < count; ++i) {
      co_await scenario_.pause(400ms);
      co_await put(producer, "other", std::to_string(++written_));
    }
    co_await scenario_.pause(3s);
  }

  Task<std::vector<std::string>> values_of(std::string key) {
    std::vector<std::string> values;
    const client::TopicPartition name{kTable, PartitionIndex(0)};
    const auto ends = co_await client::list_offsets(scenario_.client(), {name}, client::kLatest);
    EXPECT_TRUE(ends.has_value()) << ends.error().to_string();
    if (!ends) co_return values;
    client::Consumer consumer(scenario_.client(), {});
    consumer.seek(name, Offset(0));
    for (Offset at(0); at < ends->at(name).offset;) {
      const auto fetched = co_await consumer.poll({});
      EXPECT_TRUE(fetched.has_value());
      if (!fetched) break;
      if (fetched->empty()) continue;
      EXPECT_TRUE(fetched->front().status.ok()) << fetched->front().status.to_string();
      const auto next = client::visit_records(
          fetched->front().records.bytes(), fetched->front().position, [&](const RecordView& record) {
            if (record.key && as_text(*record.key) == key) {
              values.push_back(record.value ? std::string(as_text(*record.value)) : "(deleted)");
            }
            return true;
          });
      EXPECT_TRUE(next.has_value());
      if (!next || !fetched->front().status.ok()) break;
      consumer.seek(name, at = *next);
    }
    co_await consumer.close();
    co_return values;
  }

  // What is read of the deleted key when a follower leads that was away all the time.
  std::vector<std::string> delete_while_a_follower_is_away() {
    std::vector<std::string> left;
    scenario_.run([&]() -> Task<void> {
      co_await scenario_.create_topic(kTable, 1,
                                      {{"cleanup.policy", "compact"},
                                       {"segment.ms", "300"},
                                       {"min.cleanable.dirty.ratio", "0.01"},
                                       {"delete.retention.ms", "500"}});
      int failed = 0;
      client::Producer producer(
          scenario_.client(), {.batches = {.linger = 0ms}},
          [&failed](const client::Delivery& delivery) { failed += delivery.status.ok() ? 0 : delivery.records; });
      const PartitionState before = scenario_.stored(kTable);
      BrokerId away = kNoBroker;
      for (const BrokerId id : before.replicas) {
        if (id != before.leader) away = id;
      }
      co_await put(producer, "secret", "v1");
      co_await put_others(producer, 5);
      EXPECT_TRUE((co_await scenario_.broker(away).stop_cleanly()).ok());
      co_await put(producer, "secret", std::nullopt);
      co_await put_others(producer, 15);
      EXPECT_TRUE((co_await values_of("secret")).empty()) << "the marker is gone, so the test means something";
      co_await scenario_.broker(away).start();
      EXPECT_TRUE(co_await scenario_.comes_true([&] { return scenario_.in_sync(away, kTable); }, 20s));
      co_await put_others(producer, 5);
      EXPECT_EQ(failed, 0);
      co_await producer.close();
      for (const BrokerId id : before.replicas) {
        if (id != away) ignore(co_await scenario_.broker(id).stop_cleanly());
      }
      EXPECT_TRUE(co_await scenario_.comes_true([&] { return scenario_.leads(away, kTable); }, 20s));
      co_await scenario_.pause(3s);
      left = co_await values_of("secret");
    });
    return left;
  }

  ClusterScenario scenario_{1};
  int written_ = 0;
};

TEST_F(DeletedKeys, StayDeletedWhenAFollowerComesBackLateAndLeads) {
  EXPECT_EQ(delete_while_a_follower_is_away(), std::vector<std::string>{});
}

TEST_F(DeletedKeys, ThatComeBackBecauseTheFollowerWentOnAreNoticed) {
  const PlantedCanary planted(Canary::late_follower_continues);
  EXPECT_EQ(delete_while_a_follower_is_away(), std::vector<std::string>{"v1"});
}

}  // namespace
}  // namespace naru::simulation
