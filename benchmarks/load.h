// The load generators: each runs to its end and prints one line of JSON. Everything is single-threaded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace naru::bench {

struct ProduceLoad {
  uint16_t port = 0;
  std::string topic;
  uint64_t bytes = 0;  // of batches, in total
  size_t batch_bytes = 1'000'000;
  size_t message_bytes = 1024;
  int in_flight = 4;
  int16_t acks = 1;
};
// Whole batches as fast as the server takes them. Works against the floor sink too, which answers anything.
void run_produce(const ProduceLoad& load);

// Reads a topic that run_produce() has filled, one batch per request, from its begin, `bytes` in total.
void run_fetch(const ProduceLoad& load);
// The same amount, in the same pieces, from `bench_floor send`.
void run_pull(const ProduceLoad& load);

struct RequestLoad {
  uint16_t port = 0;
  std::string topic;
  int connections = 16;
  int count = 100'000;
  size_t message_bytes = 100;
};
// Each connection sends its next request when it has got the answer to the one before.
void run_echo(const RequestLoad& load);
void run_small_produce(const RequestLoad& load);

struct LatencyLoad {
  uint16_t port = 0;
  std::string topic;
  int rate = 5000;  // messages per second, sent on schedule whatever the server does
  int seconds = 5;
  size_t message_bytes = 1024;
};
// From the moment at which a message should have been sent to the moment at which a reader has it.
void run_kafka_latency(const LatencyLoad& load);
void run_redis_latency(const LatencyLoad& load);

struct RoundLoad {
  uint16_t port = 0;
  std::string topic;
  int partitions = 1;
  int rounds = 100;
  size_t message_bytes = 1024;
  int16_t acks = 1;
};
// One request with one message for each partition; the next one when it is acknowledged.
void run_rounds(const RoundLoad& load);

struct GroupLoad {
  uint16_t port = 0;
  int groups = 1;
  int members = 10;  // of each group
  int heartbeat_ms = 3000;
  int seconds = 10;
  int rounds = 5;
};
// Groups whose members join and then do nothing but heartbeats. Writes "stable" to stderr when all have an assignment.
void run_groups(const GroupLoad& load);
// One group; from the join of another member to the moment at which everybody has the new assignment, `rounds` times.
void run_rebalance(const GroupLoad& load);

struct CommitLoad {
  uint16_t port = 0;
  std::string topic;
  int connections = 100;  // each for a group of its own
  int count = 50'000;
};
// Each connection commits its next offset when the one before is acknowledged.
void run_commits(const CommitLoad& load);

struct TransactionLoad {
  uint16_t port = 0;
  std::string topic;
  int partitions = 1;
  int seconds = 5;
  int commit_ms = 100;   // 0: no transactions, but an idempotent producer
  int version = 1;       // of transactions: 1 as librdkafka, 2 as newer clients
  size_t records = 100;  // of a batch
  size_t message_bytes = 1024;
  int in_flight = 5;
};
// A producer's batches as fast as the broker takes them, over all partitions in turns. Each `commit_ms` it waits for
// the answers, commits and begins the next transaction, with all partitions.
void run_transactions(const TransactionLoad& load);

void run_create_topic(uint16_t port, std::string_view topic, int partitions, const std::vector<std::string>& settings);

}  // namespace naru::bench
