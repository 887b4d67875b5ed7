// Produces as fast as librdkafka can: bench_librdkafka HOST:PORT TOPIC COUNT MESSAGE_BYTES
#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace {

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

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    std::fprintf(stderr, "usage: bench_librdkafka HOST:PORT TOPIC COUNT MESSAGE_BYTES\n");
    return 2;
  }
  const long messages = std::atol(words[3]);
  const std::string payload(static_cast<size_t>(std::atol(words[4])), 'x');
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  set(conf, "bootstrap.servers", words[1]);
  set(conf, "acks", "1");
  set(conf, "linger.ms", "5");
  set(conf, "batch.size", "1000000");
  set(conf, "queue.buffering.max.messages", "200000");
  rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
  char reason[512];
  rd_kafka_t* producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
  if (producer == nullptr) {
    std::fprintf(stderr, "%s\n", reason);
    return 1;
  }
  rd_kafka_topic_t* topic = rd_kafka_topic_new(producer, words[2], nullptr);
  const auto start = std::chrono::steady_clock::now();
  for (long i = 0; i < messages;) {
    const int result = rd_kafka_produce(topic, 0, RD_KAFKA_MSG_F_COPY, const_cast<char*>(payload.data()),
                                        payload.size(), nullptr, 0, nullptr);
    if (result == 0) ++i;
    rd_kafka_poll(producer, result == 0 ? 0 : 1);
  }
  rd_kafka_flush(producer, 60'000);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  rd_kafka_topic_destroy(topic);
  rd_kafka_destroy(producer);
  if (delivered != messages) {
    std::fprintf(stderr, "%ld of %ld messages were delivered, %ld failed\n", delivered, messages, failed);
    return 1;
  }
  std::printf("{\"count\": %ld, \"seconds\": %.6f, \"per_second\": %.0f}\n", messages, took.count(),
              static_cast<double>(messages) / took.count());
  return 0;
}
