// compression.type of a topic, in whole brokers: what is stored, in which order, and what it costs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "async/task_group.h"
#include "foundation/log.h"
#include "kafka_protocol/messages/create_topics_request.h"
#include "kafka_protocol/messages/create_topics_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "record_format/batch_builder.h"
#include "record_format/batch_recompression.h"
#include "simulation/cluster_scenario.h"
#include "simulation/kafka_client.h"
#include "simulation/simulated_broker.h"

namespace naru::simulation {
namespace {

constexpr int16_t kCreateVersion = 7;
constexpr int16_t kProduceVersion = 9;
constexpr Duration kPatience = 30s;
constexpr std::array kCodecs{Compression::none, Compression::gzip, Compression::snappy, Compression::lz4,
                             Compression::zstd};

std::string type_of(Compression codec) {
  return codec == Compression::none ? "uncompressed" : std::string(compression_name(codec));
}

struct Sent {
  Compression codec = Compression::none;
  int records = 10;
  size_t value_bytes = 100;
  int32_t sequence = -1;
};

Bytes batch_of(const Sent& sent) {
  const bool idempotent = sent.sequence >= 0;
  BatchBuilder builder({.compression = sent.codec,
                        .producer_id = ProducerId(idempotent ? 1 : -1),
                        .producer_epoch = ProducerEpoch(idempotent ? 0 : -1),
                        .base_sequence = sent.sequence});
  const std::string value(sent.value_bytes, 'v');
  for (int i = 0; i < sent.records; ++i) {
    const std::string key = fmt::format("{}.{}", sent.sequence, i);
    builder.add({.timestamp = 1000 + i,
                 .key = as_bytes(key),
                 .value = as_bytes(value),
                 .headers = {{"h", as_bytes("w")}, {"", std::nullopt}}});
  }
  return builder.build().value();
}

Bytes records_of(BytesView batch) {
  const BatchHeader header = parse_batch_header(batch).value();
  return decompress(*header.compression(), batch_records(batch), 64 << 20).value();
}

// The whole batches of a log.
std::vector<Bytes> batches_in(const Bytes& log) {
  std::vector<Bytes> batches;
  for (BytesView rest = log; !rest.empty();) {
    const size_t size = parse_batch_header(rest).value().total_size;
    batches.emplace_back(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(size));
    rest = rest.subspan(size);
  }
  return batches;
}

void expect_stored(BytesView stored, const Sent& sent, Compression codec) {
  ASSERT_TRUE(batch_crc_matches(stored));
  const Bytes before = batch_of(sent);
  const BatchHeader expected = parse_batch_header(before).value();
  const BatchHeader header = parse_batch_header(stored).value();
  EXPECT_EQ(header.compression(), codec);
  EXPECT_EQ(header.base_sequence, expected.base_sequence);
  EXPECT_EQ(header.producer_id, expected.producer_id);
  EXPECT_EQ(header.producer_epoch, expected.producer_epoch);
  EXPECT_EQ(header.base_timestamp, expected.base_timestamp);
  EXPECT_EQ(header.records_count, expected.records_count);
  EXPECT_EQ(header.last_offset_delta, expected.last_offset_delta);
  EXPECT_TRUE(equal_bytes(records_of(stored), records_of(before)));
}

// The answer for one batch.
Task<kafka::ProduceResponse::PartitionProduceResponse> produce(std::shared_ptr<KafkaClient> client, std::string topic,
                                                               Bytes batch, int16_t acks = -1) {
  kafka::ProduceRequest request{.acks = acks, .timeout_ms = 10'000};
  request.topic_data.push_back({.name = topic});
  request.topic_data.back().partition_data.push_back({.index = PartitionIndex(0), .records = batch});
  const auto response = co_await client->call<kafka::ProduceResponse>(std::move(request), kProduceVersion, kPatience);
  EXPECT_TRUE(response.has_value()) << response.error().to_string();
  if (!response) co_return kafka::ProduceResponse::PartitionProduceResponse{};
  co_return response->responses.at(0).partition_responses.at(0);
}

class OneBroker : public testing::Test {
 protected:
  void start_with(ConfigOverrides config = {}) {
    silence_log();
    config["log.dirs"] = "/data";
    config["listeners"] = "PLAINTEXT://broker:9092";
    config["naru.admin.listener"] = "";
    broker_ = std::make_unique<SimulatedBroker>(world_.add_node("broker"), harness_->seams(),
                                                make_broker_config(config).value());
  }
  template <class Story>
  void run(Story story) {
    if (!broker_) start_with();
    world_.run_task(around(story));
  }

  Task<void> create(std::string topic, std::vector<std::pair<std::string, std::string>> configs) {
    kafka::CreateTopicsRequest request{.timeout_ms = 10'000};
    request.topics.push_back({.name = topic, .num_partitions = 1, .replication_factor = 1});
    for (const auto& [name, value] : configs) request.topics.back().configs.push_back({.name = name, .value = value});
    const auto response =
        co_await client_->call<kafka::CreateTopicsResponse>(std::move(request), kCreateVersion, kPatience);
    EXPECT_TRUE(response && response->topics.at(0).error_code == ErrorCode::none);
  }
  std::vector<Bytes> stored(const std::string& topic) {
    return batches_in(broker_->node().disk().content(fmt::format("/data/{}-0/00000000000000000000.log", topic)));
  }
  bool decompression_is_free() {
    return broker_->metrics().render_prometheus().find("naru_memory_used_bytes{account=\"decompression\"} 0\n") !=
           std::string::npos;
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> harness_ = world_.add_node("harness").start();
  std::unique_ptr<SimulatedBroker> broker_;
  std::shared_ptr<KafkaClient> client_;

 private:
  template <class Story>
  Task<void> around(Story& story) {
    co_await broker_->start();
    client_ = (co_await KafkaClient::connect(harness_->seams(), broker_->address())).value();
    co_await story();
    EXPECT_TRUE(decompression_is_free());
    client_->close();
    ignore(co_await broker_->stop_cleanly());
    co_await broker_->wait_for_remains();
  }
};

TEST_F(OneBroker, EveryCodecIsStoredInThatOfTheTopic) {
  run([&]() -> Task<void> {
    for (const Compression to : kCodecs) {
      const std::string topic = type_of(to);
      co_await create(topic, {{"compression.type", type_of(to)}});
      std::vector<Sent> all;
      for (const size_t value_bytes : {10uz, 5000uz}) {
        for (const Compression from : kCodecs) {
          all.push_back({.codec = from, .value_bytes = value_bytes, .sequence = static_cast<int32_t>(all.size()) * 10});
          const auto answer = co_await produce(client_, topic, batch_of(all.back()));
          EXPECT_EQ(answer.error_code, ErrorCode::none) << topic << " from " << compression_name(from);
          EXPECT_EQ(answer.base_offset, Offset(all.back().sequence));
        }
      }
      // A resent batch is known by its sequence, not by its bytes.
      EXPECT_EQ((co_await produce(client_, topic, batch_of(all[6]))).base_offset, Offset(60));
      const std::vector<Bytes> batches = stored(topic);
      EXPECT_EQ(batches.size(), all.size()) << topic;
      for (size_t i = 0; i < std::min(batches.size(), all.size()); ++i) expect_stored(batches[i], all[i], to);
    }
  });
}

TEST_F(OneBroker, BatchesOfOneConnectionKeepTheirOrderWhicheverIsRecompressed) {
  run([&]() -> Task<void> {
    co_await create("ordered", {{"compression.type", "zstd"}, {"compression.zstd.level", "1"}});
    TaskGroup requests;
    int answered = 0;
    const auto send = [&](int32_t i) -> Task<void> {
      const Sent sent{.codec = kCodecs[static_cast<size_t>(i) % kCodecs.size()],
                      .value_bytes = i % 3 == 0 ? 4000uz : 10uz,
                      .sequence = 10 * i};
      const auto answer = co_await produce(client_, "ordered", batch_of(sent), i % 7 == 0 ? 1 : -1);
      EXPECT_EQ(answer.error_code, ErrorCode::none) << i;
      EXPECT_EQ(answer.base_offset, Offset(10 * i));
      ++answered;
    };
    for (int32_t i = 0; i < 60; ++i) requests.spawn(send(i));
    co_await requests.join();
    EXPECT_EQ(answered, 60);
  });
}

TEST_F(OneBroker, SeveralPartitionsOfARequestAreRecompressedOneByOne) {
  run([&]() -> Task<void> {
    for (const char* topic : {"a", "b", "c"}) co_await create(topic, {{"compression.type", "lz4"}});
    co_await create("plain", {});
    const Sent plain{.value_bytes = 50}, packed{.codec = Compression::gzip};
    const Bytes plain_batch = batch_of(plain), packed_batch = batch_of(packed);
    kafka::ProduceRequest request{.acks = -1, .timeout_ms = 10'000};
    for (const char* topic : {"a", "plain", "b", "missing", "c"}) {
      request.topic_data.push_back({.name = topic});
      request.topic_data.back().partition_data.push_back(
          {.index = PartitionIndex(0), .records = *topic == 'b' ? packed_batch : plain_batch});
    }
    const auto response =
        co_await client_->call<kafka::ProduceResponse>(std::move(request), kProduceVersion, kPatience);
    EXPECT_TRUE(response.has_value());
    for (const auto& topic : response->responses) {
      const ErrorCode expected = topic.name == "missing" ? ErrorCode::unknown_topic_or_partition : ErrorCode::none;
      EXPECT_EQ(topic.partition_responses.at(0).error_code, expected) << topic.name;
    }
    expect_stored(stored("a").at(0), plain, Compression::lz4);
    expect_stored(stored("b").at(0), packed, Compression::lz4);
    expect_stored(stored("plain").at(0), plain, Compression::none);
  });
}

TEST_F(OneBroker, TheSizeIsLimitedAsSentAndAsStored) {
  run([&]() -> Task<void> {
    co_await create("small", {{"compression.type", "uncompressed"}, {"max.message.bytes", "2000"}});
    const Sent fits{.codec = Compression::gzip, .records = 1, .value_bytes = 1000};
    EXPECT_EQ((co_await produce(client_, "small", batch_of(fits))).error_code, ErrorCode::none);
    const Sent grows{.codec = Compression::gzip, .records = 1, .value_bytes = 3000};
    EXPECT_LT(batch_of(grows).size(), 2000u);
    const auto grown = co_await produce(client_, "small", batch_of(grows));
    EXPECT_EQ(grown.error_code, ErrorCode::message_too_large);
    EXPECT_NE(grown.error_message->find("compression.type"), std::string::npos) << *grown.error_message;
    co_await create("packed", {{"compression.type", "gzip"}, {"max.message.bytes", "2000"}});
    const Sent shrinks{.records = 1, .value_bytes = 3000};
    EXPECT_EQ((co_await produce(client_, "packed", batch_of(shrinks))).error_code, ErrorCode::message_too_large)
        << "as sent, as in Kafka";
    co_await create("narrow", {{"compression.type", "uncompressed"}, {"segment.bytes", "2000"}});
    EXPECT_EQ((co_await produce(client_, "narrow", batch_of(grows))).error_code, ErrorCode::record_list_too_large);
    EXPECT_EQ(stored("small").size(), 1u);
  });
}

TEST_F(OneBroker, LogAppendTimeIsThatOfTheAppend) {
  run([&]() -> Task<void> {
    co_await create("timed", {{"compression.type", "snappy"}, {"message.timestamp.type", "LogAppendTime"}});
    const Sent sent{.codec = Compression::lz4};
    const auto answer = co_await produce(client_, "timed", batch_of(sent));
    EXPECT_EQ(answer.error_code, ErrorCode::none);
    const Bytes batch = stored("timed").at(0);
    const BatchHeader header = parse_batch_header(batch).value();
    EXPECT_EQ(header.timestamp_type(), TimestampType::log_append_time);
    EXPECT_EQ(header.max_timestamp, answer.log_append_time_ms);
    expect_stored(batch, sent, Compression::snappy);
  });
}

TEST_F(OneBroker, WithoutMemoryItIsRefusedAndWhatWasTakenComesBack) {
  start_with({{"naru.memory.budget.bytes", "16777216"},
              {"naru.max.decompressed.bytes", "4000000"},
              {"socket.request.max.bytes", "2000000"}});
  run([&]() -> Task<void> {
    co_await create("costly", {{"compression.type", "zstd"}, {"compression.zstd.level", "22"}});
    const Sent large{.records = 1, .value_bytes = 900'000};
    EXPECT_EQ((co_await produce(client_, "costly", batch_of(large))).error_code, ErrorCode::request_timed_out)
        << "as it is said when there is no memory: try again";
    const Sent small{.records = 1, .value_bytes = 1000};
    EXPECT_EQ((co_await produce(client_, "costly", batch_of(small))).error_code, ErrorCode::none);
  });
}

TEST_F(OneBroker, WhatIsWrongWithABatchIsFoundBeforeItIsRecompressed) {
  run([&]() -> Task<void> {
    co_await create("strict", {{"compression.type", "gzip"}});
    Bytes damaged = batch_of({});
    damaged.back() ^= std::byte{1};
    EXPECT_EQ((co_await produce(client_, "strict", damaged)).error_code, ErrorCode::corrupt_message);
    Bytes lying = batch_of({.codec = Compression::lz4});
    lying.resize(lying.size() - 3);
    seal_batch(lying);
    EXPECT_EQ((co_await produce(client_, "strict", lying)).error_code, ErrorCode::invalid_record);
  });
}

TEST(RecompressionInACluster, FollowersStoreWhatTheLeaderStored) {
  ClusterScenario scenario(3);
  scenario.run([&]() -> Task<void> {
    co_await scenario.create_topic("copied", 1, {{"compression.type", "zstd"}});
    const BrokerId leader = scenario.stored("copied").leader;
    const auto client = (co_await KafkaClient::connect(scenario.seams(), scenario.broker(leader).address())).value();
    std::vector<Sent> all;
    for (const Compression codec : kCodecs) {
      all.push_back({.codec = codec, .sequence = static_cast<int32_t>(all.size()) * 10});
      EXPECT_EQ((co_await produce(client, "copied", batch_of(all.back()))).error_code, ErrorCode::none);
    }
    client->close();
    for (const auto& broker : scenario.cluster().brokers()) {
      const auto batches = batches_in(broker->node().disk().content("/data/copied-0/00000000000000000000.log"));
      EXPECT_EQ(batches.size(), all.size());
      for (size_t i = 0; i < std::min(batches.size(), all.size()); ++i) {
        expect_stored(batches[i], all[i], Compression::zstd);
      }
    }
  });
}

}  // namespace
}  // namespace naru::simulation
