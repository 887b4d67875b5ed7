// Load for one measurement; benchmarks/run.py calls it. See load.h for what each verb does.
#include <charconv>
#include <map>
#include <string>

#include "benchmarks/kafka_frames.h"
#include "benchmarks/load.h"
#include "benchmarks/measurement.h"

namespace naru::bench {
namespace {

void usage() {
  std::fprintf(
      stderr,
      "usage: bench_load VERB PORT [name=value]...\n"
      "  create topic= partitions= [any.topic.setting=]\n"
      "  produce topic= bytes= [batch=] [message=] [in_flight=] [acks=]\n"
      "  fetch   topic= bytes= [batch=] [message=]\n"
      "  pull    bytes= [batch=] [message=]\n"
      "  echo    [connections=] [count=] [message=]\n"
      "  small   topic= [connections=] [count=] [message=]\n"
      "  kafka-latency topic= [rate=] [seconds=] [message=]\n"
      "  redis-latency topic= [rate=] [seconds=] [message=]\n"
      "  rounds  topic= partitions= rounds= [message=] [acks=]\n"
      "  groups  groups= members= [heartbeat_ms=] [seconds=]\n"
      "  rebalance members= [heartbeat_ms=] [rounds=]\n"
      "  commits topic= [connections=] [count=]\n"
      "  transactions topic= partitions= [seconds=] [commit_ms=] [version=] [records=] [message=] [in_flight=]\n");
  std::exit(2);
}

using Arguments = std::map<std::string, std::string, std::less<>>;

template <class Number>
void take(Arguments& arguments, std::string_view name, Number& value) {
  const auto found = arguments.find(name);
  if (found == arguments.end()) return;
  const std::string& text = found->second;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) usage();
  arguments.erase(found);
}

std::string take_topic(Arguments& arguments) {
  const auto found = arguments.find("topic");
  if (found == arguments.end()) return {};
  std::string topic = found->second;
  arguments.erase(found);
  return topic;
}

void run(std::string_view verb, uint16_t port, Arguments arguments) {
  const std::string topic = take_topic(arguments);
  if (verb == "create") {
    int partitions = 1;
    take(arguments, "partitions", partitions);
    std::vector<std::string> settings;
    for (const auto& [name, value] : arguments) settings.push_back(name + "=" + value);
    return run_create_topic(port, topic, partitions, settings);
  }
  if (verb == "produce" || verb == "fetch" || verb == "pull") {
    ProduceLoad load{.port = port, .topic = topic};
    take(arguments, "bytes", load.bytes);
    take(arguments, "batch", load.batch_bytes);
    take(arguments, "message", load.message_bytes);
    take(arguments, "in_flight", load.in_flight);
    take(arguments, "acks", load.acks);
    return verb == "produce" ? run_produce(load) : verb == "fetch" ? run_fetch(load) : run_pull(load);
  }
  if (verb == "echo" || verb == "small") {
    RequestLoad load{.port = port, .topic = topic};
    take(arguments, "connections", load.connections);
    take(arguments, "count", load.count);
    take(arguments, "message", load.message_bytes);
    return verb == "echo" ? run_echo(load) : run_small_produce(load);
  }
  if (verb == "kafka-latency" || verb == "redis-latency") {
    LatencyLoad load{.port = port, .topic = topic};
    take(arguments, "rate", load.rate);
    take(arguments, "seconds", load.seconds);
    take(arguments, "message", load.message_bytes);
    return verb == "kafka-latency" ? run_kafka_latency(load) : run_redis_latency(load);
  }
  if (verb == "rounds") {
    RoundLoad load{.port = port, .topic = topic};
    take(arguments, "partitions", load.partitions);
    take(arguments, "rounds", load.rounds);
    take(arguments, "message", load.message_bytes);
    take(arguments, "acks", load.acks);
    return run_rounds(load);
  }
  if (verb == "groups" || verb == "rebalance") {
    GroupLoad load{.port = port};
    take(arguments, "groups", load.groups);
    take(arguments, "members", load.members);
    take(arguments, "heartbeat_ms", load.heartbeat_ms);
    take(arguments, "seconds", load.seconds);
    take(arguments, "rounds", load.rounds);
    return verb == "groups" ? run_groups(load) : run_rebalance(load);
  }
  if (verb == "commits") {
    CommitLoad load{.port = port, .topic = topic};
    take(arguments, "connections", load.connections);
    take(arguments, "count", load.count);
    return run_commits(load);
  }
  if (verb == "transactions") {
    TransactionLoad load{.port = port, .topic = topic};
    take(arguments, "partitions", load.partitions);
    take(arguments, "seconds", load.seconds);
    take(arguments, "commit_ms", load.commit_ms);
    take(arguments, "version", load.version);
    take(arguments, "records", load.records);
    take(arguments, "message", load.message_bytes);
    take(arguments, "in_flight", load.in_flight);
    return run_transactions(load);
  }
  usage();
}

}  // namespace

void run_create_topic(uint16_t port, std::string_view topic, int partitions, const std::vector<std::string>& settings) {
  const Bytes frame = create_topic_frame(topic, partitions, settings);
  const int socket = connect_to(port);
  write_all(socket, frame.data(), frame.size());
  std::vector<std::byte> answer;
  check_created(read_frame(socket, answer));
  std::printf("{}\n");
}

}  // namespace naru::bench

int main(int count, char** words) {
  using namespace naru::bench;
  if (count < 3) usage();
  Arguments arguments;
  for (int i = 3; i < count; ++i) {
    const std::string_view word(words[i]);
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) usage();
    arguments.emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  run(words[1], static_cast<uint16_t>(std::atoi(words[2])), std::move(arguments));
  return 0;
}
