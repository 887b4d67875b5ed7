// Produces as fast as librdkafka can:
//
//     bench_librdkafka HOST:PORT TOPIC COUNT MESSAGE_BYTES [PARTITIONS COMMIT_MS]
//
// With PARTITIONS, the producer is idempotent and writes to all of them in turns; with a COMMIT_MS that is not 0, in
// transactions, each of which it commits after so long.
#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPatienceMs = 60'000;
// In one piece to a partition, so that batches are not smaller because there are more partitions.
constexpr long kInARow = 100;

long delivered = 0;
long failed = 0;

void on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void*) {
  (message->err == RD_KAFKA_RESP_ERR_NO_ERROR ? delivered : failed)++;
}

void set(rd_kafka_conf_t* conf, const char* name, const char* value) {
  char reason[512];
  if (rd_kafka_conf_set(conf, name, value, reason, sizeof reason) == RD_KAFKA_CONF_OK) return;
  std::fprintf(stderr, "%s=%s: %s\n", name, value, reason);
  std::exit(1);
}

void require(rd_kafka_error_t* error) {
  if (error == nullptr) return;
  std::fprintf(stderr, "%s\n", rd_kafka_error_string(error));
  std::exit(1);
}

struct Load {
  long messages;
  std::string payload;
  bool idempotent = false;
  int partitions = 1;
  std::chrono::milliseconds commit_every{0};

  bool transactional() const { return commit_every.count() > 0; }
};

rd_kafka_t* make_producer(const char* address, const Load& load) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  set(conf, "bootstrap.servers", address);
  set(conf, "acks", load.idempotent ? "all" : "1");
  set(conf, "enable.idempotence", load.idempotent ? "true" : "false");
  if (load.transactional()) set(conf, "transactional.id", "bench");
  set(conf, "linger.ms", "5");
  set(conf, "batch.size", "1000000");
  set(conf, "queue.buffering.max.messages", "200000");
  rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
  char reason[512];
  rd_kafka_t* producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
  if (producer == nullptr) {
    std::fprintf(stderr, "%s\n", reason);
    std::exit(1);
  }
  return producer;
}

void produce(rd_kafka_t* producer, rd_kafka_topic_t* topic, const Load& load) {
  if (load.transactional()) require(rd_kafka_begin_transaction(producer));
  auto commit_at = Clock::now() + load.commit_every;
  for (long i = 0; i < load.messages;) {
    const auto partition = static_cast<int32_t>(i / kInARow % load.partitions);
    const int result = rd_kafka_produce(topic, partition, RD_KAFKA_MSG_F_COPY, const_cast<char*>(load.payload.data()),
                                        load.payload.size(), nullptr, 0, nullptr);
    if (result == 0) ++i;
    rd_kafka_poll(producer, result == 0 ? 0 : 1);
    if (load.transactional() && i < load.messages && Clock::now() >= commit_at) {
      require(rd_kafka_commit_transaction(producer, kPatienceMs));
      require(rd_kafka_begin_transaction(producer));
      commit_at = Clock::now() + load.commit_every;
    }
  }
  if (load.transactional()) {
    require(rd_kafka_commit_transaction(producer, kPatienceMs));
  } else {
    rd_kafka_flush(producer, kPatienceMs);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 5 && count != 7) {
    std::fprintf(stderr, "usage: bench_librdkafka HOST:PORT TOPIC COUNT MESSAGE_BYTES [PARTITIONS COMMIT_MS]\n");
    return 2;
  }
  Load load{.messages = std::atol(words[3]), .payload = std::string(static_cast<size_t>(std::atol(words[4])), 'x')};
  if (count == 7) {
    load.idempotent = true;
    load.partitions = std::atoi(words[5]);
    load.commit_every = std::chrono::milliseconds(std::atol(words[6]));
  }
  rd_kafka_t* producer = make_producer(words[1], load);
  rd_kafka_topic_t* topic = rd_kafka_topic_new(producer, words[2], nullptr);
  if (load.transactional()) require(rd_kafka_init_transactions(producer, kPatienceMs));
  const auto start = Clock::now();
  produce(producer, topic, load);
  const std::chrono::duration<double> took = Clock::now() - start;
  rd_kafka_topic_destroy(topic);
  rd_kafka_destroy(producer);
  if (delivered != load.messages) {
    std::fprintf(stderr, "%ld of %ld messages were delivered, %ld failed\n", delivered, load.messages, failed);
    return 1;
  }
  std::printf("{\"count\": %ld, \"seconds\": %.6f, \"per_second\": %.0f}\n", load.messages, took.count(),
              static_cast<double>(load.messages) / took.count());
  return 0;
}
