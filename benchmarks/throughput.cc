#include <memory>

#include "benchmarks/kafka_frames.h"
#include "benchmarks/load.h"
#include "benchmarks/measurement.h"

namespace naru::bench {
namespace {

size_t records_per_batch(const ProduceLoad& load) {
  const size_t one_record = make_batch(2, load.message_bytes).size() - make_batch(1, load.message_bytes).size();
  return std::max<size_t>(load.batch_bytes / (one_record + 1) - 1, 1);  // room for the header and for longer deltas
}

Bytes batch_of(const ProduceLoad& load) {
  return make_batch(records_per_batch(load), load.message_bytes);
}

void report(uint64_t bytes, int64_t nanoseconds) {
  const double seconds = static_cast<double>(nanoseconds) / 1e9;
  std::printf("{\"bytes\": %lu, \"seconds\": %.6f, \"bytes_per_second\": %.0f}\n", static_cast<unsigned long>(bytes),
              seconds, static_cast<double>(bytes) / seconds);
}

}  // namespace

void run_produce(const ProduceLoad& load) {
  const Bytes batch = batch_of(load);
  const Bytes frame = produce_frame(load.topic, 1, batch, load.acks);
  const uint64_t requests = std::max<uint64_t>(load.bytes / batch.size(), 1);
  const int socket = connect_to(load.port);
  std::vector<std::byte> answer;
  const int64_t start = now_ns();
  uint64_t answered = 0;
  const auto take_answer = [&] {
    const BytesView got = read_frame(socket, answer);
    if (got.size() > 4) check_produced(got);  // the floor sink answers with a correlation id alone
    ++answered;
  };
  for (uint64_t sent = 0; sent < requests; ++sent) {
    if (sent - answered >= static_cast<uint64_t>(load.in_flight)) take_answer();
    write_all(socket, frame.data(), frame.size());
  }
  while (answered < requests) take_answer();
  report(requests * batch.size(), now_ns() - start);
}

void run_fetch(const ProduceLoad& load) {
  const Bytes batch = batch_of(load);
  const auto records = static_cast<int64_t>(records_per_batch(load));
  const int socket = connect_to(load.port);
  std::vector<std::byte> answer;
  // Of an answer, besides its records: learned from the first one, because decoding copies them, and a generator that
  // is busy with that leaves the broker waiting where it does not leave the floor.
  size_t around_records = 0;
  uint64_t bytes = 0;
  int64_t offset = 0;
  const int64_t start = now_ns();
  while (bytes < load.bytes) {
    const Bytes frame = fetch_frame(load.topic, offset, static_cast<int32_t>(batch.size()), 1000);
    write_all(socket, frame.data(), frame.size());
    const BytesView response = read_frame(socket, answer);
    if (bytes == 0) around_records = response.size() - fetched_records(response).size();
    const size_t got = response.size() - around_records;
    if (got == 0 || got % batch.size() != 0) {
      std::fprintf(stderr, "expected whole batches of %zu bytes at offset %ld, got %zu bytes\n", batch.size(),
                   static_cast<long>(offset), got);
      std::exit(1);
    }
    bytes += got;
    offset += static_cast<int64_t>(got / batch.size()) * records;
  }
  report(bytes, now_ns() - start);
}

void run_pull(const ProduceLoad& load) {
  const size_t piece = batch_of(load).size();
  const int socket = connect_to(load.port);
  std::vector<std::byte> answer;
  uint64_t bytes = 0;
  const int64_t start = now_ns();
  while (bytes < load.bytes) {
    const uint32_t request[3] = {htonl(static_cast<uint32_t>(bytes >> 32)), htonl(static_cast<uint32_t>(bytes)),
                                 htonl(static_cast<uint32_t>(piece))};
    write_all(socket, request, sizeof request);
    bytes += read_frame(socket, answer).size();
  }
  report(bytes, now_ns() - start);
}

}  // namespace naru::bench
