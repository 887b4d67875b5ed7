#include "benchmarks/kafka_frames.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "kafka_protocol/frame.h"
#include "kafka_protocol/messages/create_topics_request.h"
#include "kafka_protocol/messages/create_topics_response.h"
#include "kafka_protocol/messages/fetch_request.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "record_format/batch_builder.h"

namespace naru::bench {
namespace {

// Old enough that every broker of the last years answers them, new enough to be today's layouts.
constexpr int16_t kProduceVersion = 9;
constexpr int16_t kFetchVersion = 12;
constexpr int16_t kCreateTopicsVersion = 5;

// Of today: a broker rolls segments whose records look old.
WallTimeMs wall_now_ms() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
}

template <class Request>
Bytes frame_of(const Request& request, int16_t version) {
  return kafka::encode_request_frame(request, version, 0, "bench").bytes;
}

void require(ErrorCode code, std::string_view what) {
  if (code == ErrorCode::none) return;
  std::fprintf(stderr, "%.*s failed with error code %d\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(code));
  std::exit(1);
}

template <class Response>
Response decoded(BytesView frame, int16_t version) {
  Response response;
  kafka::WireReader reader(frame);
  kafka::decode_response(reader, response, version);
  if (!reader.finish().ok()) require(ErrorCode::corrupt_message, "decoding an answer");
  return response;
}

}  // namespace

Bytes make_batch(size_t records, size_t value_bytes) {
  BatchBuilder builder;
  const std::string value(value_bytes, 'x');
  const WallTimeMs now = wall_now_ms();
  for (size_t i = 0; i < records; ++i) builder.add(now, std::nullopt, value);
  return *builder.build();
}

size_t first_value_position(size_t value_bytes) {
  const Bytes batch = make_batch(1, value_bytes);
  // Behind the value there is one byte: no headers.
  return batch.size() - 1 - value_bytes;
}

Bytes produce_frame(std::string_view topic, int32_t partitions, BytesView batch, int16_t acks) {
  kafka::ProduceRequest request;
  request.acks = acks;
  request.timeout_ms = 30'000;
  auto& data = request.topic_data.emplace_back();
  data.name = topic;
  for (int32_t i = 0; i < partitions; ++i) {
    auto& partition = data.partition_data.emplace_back();
    partition.index = PartitionIndex(i);
    partition.records = batch;
  }
  return frame_of(request, kProduceVersion);
}

Bytes fetch_frame(std::string_view topic, int64_t offset, int32_t max_bytes, int32_t max_wait_ms) {
  kafka::FetchRequest request;
  request.max_wait_ms = max_wait_ms;
  request.min_bytes = 1;
  request.max_bytes = max_bytes;
  auto& wanted = request.topics.emplace_back();
  wanted.topic = topic;
  auto& partition = wanted.partitions.emplace_back();
  partition.fetch_offset = Offset(offset);
  partition.partition_max_bytes = max_bytes;
  return frame_of(request, kFetchVersion);
}

Bytes create_topic_frame(std::string_view topic, int32_t partitions, const std::vector<std::string>& settings) {
  kafka::CreateTopicsRequest request;
  request.timeout_ms = 60'000;
  auto& wanted = request.topics.emplace_back();
  wanted.name = topic;
  wanted.num_partitions = partitions;
  wanted.replication_factor = 1;
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    auto& config = wanted.configs.emplace_back();
    config.name = std::string_view(setting).substr(0, equals);
    config.value = std::string_view(setting).substr(equals + 1);
  }
  return frame_of(request, kCreateTopicsVersion);
}

Bytes fetched_records(BytesView frame) {
  const auto response = decoded<kafka::FetchResponse>(frame, kFetchVersion);
  require(response.error_code, "a fetch");
  const auto& partition = response.responses.at(0).partitions.at(0);
  require(partition.error_code, "a fetch");
  const BytesView records = partition.records.bytes();
  return Bytes(records.begin(), records.end());
}

void check_produced(BytesView frame) {
  const auto response = decoded<kafka::ProduceResponse>(frame, kProduceVersion);
  for (const auto& partition : response.responses.at(0).partition_responses) {
    require(partition.error_code, "a produce");
  }
}

void check_created(BytesView frame) {
  require(decoded<kafka::CreateTopicsResponse>(frame, kCreateTopicsVersion).topics.at(0).error_code,
          "creating the topic");
}

}  // namespace naru::bench
