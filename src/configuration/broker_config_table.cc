#include <algorithm>
#include <array>
#include <unordered_map>

#include "configuration/config_definition.h"
#include "configuration/kafka_config_table.h"
#include "configuration/topic_config_table.h"
#include "configuration/value_checks.h"

namespace naru {
namespace {

using detail::kKafkaConfigs;
using detail::kTopicConfigs;
using enum ConfigType;
using enum ConfigEffect;
using enum ConfigMode;

constexpr std::array<std::string_view, 4> kLogLevels{"debug", "info", "warn", "error"};
constexpr std::array<std::string_view, 2> kConsumerAssignors{"uniform", "range"};
constexpr std::array<std::string_view, 4> kMigrationPolicies{"disabled", "upgrade", "downgrade", "bidirectional"};
constexpr std::array<std::string_view, 2> kReplicaSelectors{"org.apache.kafka.common.replica.RackAwareReplicaSelector",
                                                            "org.apache.kafka.common.replica.LeaderSelector"};
constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

constexpr auto kOwnRows = std::to_array<ConfigDefinition>({
    {.name = "node.id",
     .type = int32,
     .default_text = "1",
     .help = "This broker's number in its cluster; remembered in the data folder.",
     .minimum = 0,
     .alias = "broker.id"},
    {.name = "broker.rack",
     .type = string,
     .default_text = std::nullopt,
     .help = "Where the broker stands; replicas are spread over racks. Not set: a rack of its own."},
    {.name = "replica.selector.class",
     .type = string,
     .default_text = kReplicaSelectors[0],
     .help = "Where consumers that name their rack (client.rack) read: at an in-sync replica in that rack if there is "
             "one (RackAwareReplicaSelector), or always at the leader (LeaderSelector).",
     .allowed = kReplicaSelectors},
    {.name = "log.dirs",
     .type = list,
     .default_text = "./data",
     .help =
         "The data folders, usually one per disk; a new partition goes to the one with the fewest. The first one also "
         "holds the metadata.",
     .check = detail::check_folders,
     .alias = "log.dir"},

    {.name = "naru.coordination",
     .type = string,
     .default_text = "embedded",
     .help = "Where the metadata of the cluster is kept: embedded (in the data folder, for a single broker), "
             "zookeeper://HOST:PORT,.../ROOT or etcd://HOST:PORT,.../ROOT. The same for all brokers of a cluster; each "
             "cluster needs a root of its own (/naru if none is given).",
     .check = detail::check_coordination,
     .is_kafkas = false},
    {.name = "naru.coordination.session.timeout.ms",
     .type = int32,
     .default_text = "6000",
     .help =
         "A broker that the coordination service has not heard of for this long is gone: others take over its "
         "partitions. ZooKeeper allows 2 to 20 times its tickTime and takes the nearest; etcd counts whole seconds.",
     .minimum = 1000,
     .maximum = 300000,
     .is_kafkas = false},
    {.name = "naru.coordination.start.timeout.ms",
     .type = int32,
     .default_text = "60000",
     .help = "How long a broker that starts waits for a coordination service that it cannot reach, before it gives up. "
             "There is one attempt of a second in any case.",
     .minimum = 0,
     .maximum = 86'400'000,
     .is_kafkas = false},
    {.name = "naru.shutdown.timeout.ms",
     .type = int32,
     .default_text = "120000",
     .help =
         "How long a broker may take to stop, from the signal on, also while it starts. Clients, other brokers and the "
         "coordination service hold it up for less than a minute; closing many logs on a slow disk takes longer. When "
         "the time is over the process ends with exit code 1 and without the mark of a clean shutdown, and the next "
         "start recovers the logs.",
     .minimum = 1000,
     .maximum = 86'400'000,
     .is_kafkas = false},

    {.name = "listeners",
     .type = list,
     .default_text = "PLAINTEXT://127.0.0.1:9092",
     .help =
         "Where clients connect: NAME://HOST:PORT, or HOST:PORT. No host: all interfaces. Port 0: any free port. The "
         "default is reached from this machine only: everyone who can reach a listener may read, write and delete "
         "everything."},
    {.name = "advertised.listeners",
     .type = list,
     .default_text = std::nullopt,
     .help = "Addresses that clients are told, per listener name. Not set: each client is told the address that it "
             "connected to."},
    {.name = "listener.security.protocol.map",
     .type = string,
     .default_text = "PLAINTEXT:PLAINTEXT",
     .help = "NAME:PROTOCOL for each listener name. PLAINTEXT is the only protocol so far."},
    {.name = "inter.broker.listener.name",
     .type = string,
     .default_text = std::nullopt,
     .help = "Name of the listener at which other brokers reach this one. Not set: the first one of listeners."},
    {.name = "naru.admin.listener",
     .type = string,
     .default_text = "127.0.0.1:9192",
     .help = "HOST:PORT of the HTTP server with /metrics and /healthz. Empty: none. Port 0: any free port.",
     .check = detail::check_admin_listener,
     .is_kafkas = false},

    {.name = "num.partitions",
     .type = int32,
     .default_text = "4",
     .help = "Partitions of a topic that is created without a number.",
     .minimum = 1},
    {.name = "default.replication.factor",
     .type = int32,
     .default_text = std::nullopt,
     .help =
         "Replicas of a partition that is created without a number. Not set: 3, or the number of brokers if that is "
         "smaller.",
     .minimum = 1,
     .maximum = 32767},
    {.name = "auto.create.topics.enable",
     .type = boolean,
     .default_text = "true",
     .help = "Whether asking for an unknown topic creates it, if the client allows that."},
    {.name = "delete.topic.enable", .type = boolean, .default_text = "true", .help = "Whether topics can be deleted."},
    {.name = "auto.leader.rebalance.enable",
     .type = boolean,
     .default_text = "true",
     .help =
         "Whether the controller gives leadership back to the first replica of each partition, when that is in sync "
         "again."},
    {.name = "leader.imbalance.check.interval.seconds",
     .type = int64,
     .default_text = "300",
     .help = "How often it looks for partitions that another replica leads.",
     .minimum = 1,
     .maximum = kMaxInt32},

    {.name = "replica.lag.time.max.ms",
     .type = int64,
     .default_text = "30000",
     .help = "A follower that has not caught up for this long leaves the in-sync set.",
     .minimum = 1,
     .maximum = kMaxInt32},
    {.name = "replica.fetch.max.bytes",
     .type = int32,
     .default_text = "1048576",
     .help = "Most bytes of one partition that a follower fetches at once; a single larger batch is fetched all the "
             "same.",
     .minimum = 1024},
    {.name = "replica.fetch.response.max.bytes",
     .type = int32,
     .default_text = "10485760",
     .help = "Most bytes of all partitions that a follower fetches at once.",
     .minimum = 1024},
    {.name = "replica.fetch.min.bytes",
     .type = int32,
     .default_text = "1",
     .help = "Bytes that a follower's fetch waits for, no longer than replica.fetch.wait.max.ms.",
     .minimum = 1},
    {.name = "replica.fetch.wait.max.ms",
     .type = int32,
     .default_text = "500",
     .help = "Longest wait of a follower's fetch at a leader without news. Less than replica.lag.time.max.ms.",
     .minimum = 1},
    {.name = "replica.fetch.backoff.ms",
     .type = int32,
     .default_text = "1000",
     .help = "Pause of a follower after its leader could not be reached or refused a partition.",
     .minimum = 0},

    {.name = "num.network.threads",
     .type = int32,
     .default_text = std::nullopt,
     .help = "Event loops. Not set: one per core. A value that is set at run time is stored only: the file decides.",
     .minimum = 1,
     .maximum = 256,
     .mode = cluster_wide},
    {.name = "num.io.threads",
     .type = int32,
     .default_text = "8",
     .effect = at_once,
     .help = "Most worker threads for what may block: syncs, cold reads, recovery.",
     .minimum = 1,
     .maximum = 256,
     .mode = cluster_wide},

    {.name = "socket.request.max.bytes",
     .type = int32,
     .default_text = "104857600",
     .help = "Largest request; a connection that announces a larger one is closed.",
     .minimum = 1024},
    {.name = "max.connections",
     .type = int32,
     .default_text = "2147483647",
     .effect = at_once,
     .help = "Most connections of all clients.",
     .minimum = 1,
     .mode = cluster_wide},
    {.name = "max.connections.per.ip",
     .type = int32,
     .default_text = "2147483647",
     .effect = at_once,
     .help = "Most connections from one address.",
     .minimum = 1,
     .mode = cluster_wide},
    {.name = "max.connections.per.ip.overrides",
     .type = string,
     .default_text = "",
     .effect = at_once,
     .help = "ADDRESS:NUMBER for each address with a limit of its own in place of max.connections.per.ip. Addresses, "
             "not names; IPv6 in brackets.",
     .check = detail::check_connection_overrides,
     .mode = cluster_wide},
    {.name = "max.incremental.fetch.session.cache.slots",
     .type = int32,
     .default_text = "1000",
     .help = "Most fetch sessions; a client that gets none sends all its partitions with each fetch. 0: no sessions.",
     .minimum = 0},
    {.name = "connections.max.idle.ms",
     .type = int64,
     .default_text = "600000",
     .help = "A connection without requests for this long is closed.",
     .minimum = 1000,
     .maximum = kMaxInt32},
    {.name = "naru.max.inflight.requests.per.connection",
     .type = int32,
     .default_text = "100",
     .help = "Requests of one connection that may wait for their answers before reading from it pauses.",
     .minimum = 1,
     .maximum = 10000,
     .is_kafkas = false},
    {.name = "fetch.max.bytes",
     .type = int32,
     .default_text = "57671680",
     .help = "Most bytes in one fetch response, whatever the client asks for.",
     .minimum = 1024},
    {.name = "naru.memory.budget.bytes",
     .type = int64,
     .default_text = "536870912",
     .help = "Memory for requests and what they decode to, parked fetches, decompression, producer state, sessions, "
             "unread answers, members of groups, offsets and transactions together. When it is used up, reading from "
             "clients "
             "pauses.",
     .minimum = 1 << 20,
     .is_kafkas = false},
    {.name = "naru.max.decompressed.bytes",
     .type = int64,
     .default_text = "67108864",
     .help = "Largest size to which one compressed batch may expand while it is checked.",
     .minimum = 1 << 16,
     .maximum = kMaxInt32,
     .is_kafkas = false},
    {.name = "producer.id.expiration.ms",
     .type = int32,
     .default_text = "86400000",
     .help = "How long a partition remembers an idempotent producer after its last append, to recognise repeated "
             "batches.",
     .minimum = 1},
    {.name = "naru.max.producers.per.partition",
     .type = int32,
     .default_text = "10000",
     .help = "Most idempotent producers that one partition remembers. When there are more, the one that was idle for "
             "longest is forgotten: it can go on, but a batch that it repeats is not recognised.",
     .minimum = 1,
     .maximum = 100000,
     .is_kafkas = false},

    {.name = "naru.journal.enable",
     .type = boolean,
     .default_text = "true",
     .help =
         "Whether each data folder has a commit journal, which makes small batches of all its partitions durable by "
         "one sync. Without it every partition's files are synced.",
     .is_kafkas = false},
    {.name = "naru.journal.bytes",
     .type = int64,
     .default_text = "134217728",
     .help =
         "Size of the commit journal of a data folder. Its file is made at this size when it is first used. A larger "
         "one makes the background syncs that free it rarer.",
     .minimum = 1 << 16,
     .maximum = int64_t{1} << 40,
     .is_kafkas = false},
    {.name = "naru.journal.batch.max.bytes",
     .type = int64,
     .default_text = "65536",
     .help = "Batches up to this size go through the commit journal; for larger ones the partition's files are synced.",
     .minimum = 0,
     .maximum = kMaxInt32,
     .is_kafkas = false},
    {.name = "log.retention.check.interval.ms",
     .type = int64,
     .default_text = "300000",
     .help =
         "Time between two looks for segments that retention.ms, retention.bytes or DeleteRecords make superfluous, "
         "or that segment.ms closes.",
     .minimum = 1,
     .maximum = kMaxInt32},
    {.name = "log.cleaner.enable",
     .type = boolean,
     .default_text = "true",
     .help = "Whether topics with cleanup.policy=compact are compacted."},
    {.name = "log.cleaner.threads",
     .type = int32,
     .default_text = "1",
     .effect = at_once,
     .help = "Logs that are compacted at the same time, each on one worker thread.",
     .minimum = 1,
     .maximum = 64,
     .mode = cluster_wide},
    {.name = "log.cleaner.backoff.ms",
     .type = int64,
     .default_text = "15000",
     .effect = at_once,
     .help = "Time until the next look when no log needs compaction.",
     .minimum = 1,
     .maximum = kMaxInt32,
     .mode = cluster_wide},
    {.name = "log.cleaner.dedupe.buffer.size",
     .type = int64,
     .default_text = "33554432",
     .effect = at_once,
     .help = "Memory in which one compaction remembers the newest offset of each key, 32 bytes per key; taken only "
             "while it runs and only as needed. A log with more new keys is compacted in several rounds.",
     .minimum = 1 << 10,
     .maximum = int64_t{1} << 40,
     .mode = cluster_wide},
    {.name = "log.cleaner.io.max.bytes.per.second",
     .type = floating,
     .default_text = "1.7976931348623157E308",
     .effect = at_once,
     .help = "Most bytes that all compactions together read and write per second on average, above 0. The default: no "
             "limit.",
     .check = detail::check_rate,
     .mode = cluster_wide},
    {.name = "naru.log.verify.interval.ms",
     .type = int64,
     .default_text = "604800000",
     .effect = at_once,
     .help = "How often the closed segments of every partition are read again, to find bits that have changed on the "
             "disk. What is damaged is repaired from another in-sync replica, if there is one. -1: never, unless "
             "something else comes across damage.",
     .minimum = -1,
     .maximum = int64_t{1} << 40,
     .mode = cluster_wide,
     .is_kafkas = false},
    {.name = "naru.log.verify.max.bytes.per.second",
     .type = floating,
     .default_text = "20000000",
     .effect = at_once,
     .help = "Most bytes per second that naru.log.verify.interval.ms reads, above 0.",
     .check = detail::check_rate,
     .mode = cluster_wide,
     .is_kafkas = false},

    {.name = "offsets.topic.num.partitions",
     .type = int32,
     .default_text = "50",
     .help = "Partitions of __consumer_offsets, when it is made.",
     .minimum = 1,
     .maximum = 10000},
    {.name = "offsets.topic.replication.factor",
     .type = int16,
     .default_text = std::nullopt,
     .help =
         "Replicas of __consumer_offsets, when it is made. Not set: 3, or the number of brokers if that is smaller.",
     .minimum = 1,
     .maximum = 32767},
    {.name = "offsets.topic.segment.bytes",
     .type = int32,
     .default_text = "104857600",
     .help = "Segment size of __consumer_offsets, when it is made.",
     .minimum = 1 << 10},
    {.name = "offsets.retention.minutes",
     .type = int32,
     .default_text = "43200",
     .help = "How long the offsets of a group without members are kept: 30 days. They are kept for longer while there "
             "are records behind them that the group has not read.",
     .minimum = 1},
    {.name = "offsets.retention.check.interval.ms",
     .type = int64,
     .default_text = "600000",
     .help = "Time between two looks for offsets that have expired.",
     .minimum = 1,
     .maximum = kMaxInt32},
    {.name = "offset.metadata.max.bytes",
     .type = int32,
     .default_text = "4096",
     .help = "Longest text that can be committed with an offset.",
     .minimum = 0,
     .maximum = 32767},
    {.name = "group.initial.rebalance.delay.ms",
     .type = int32,
     .default_text = "3000",
     .help = "How long the first members of an empty group wait for more, so that a starting application rebalances "
             "once.",
     .minimum = 0},
    {.name = "group.min.session.timeout.ms",
     .type = int32,
     .default_text = "6000",
     .help = "Shortest session.timeout.ms that a member may ask for.",
     .minimum = 0},
    {.name = "group.max.session.timeout.ms",
     .type = int32,
     .default_text = "1800000",
     .help = "Longest session.timeout.ms that a member may ask for.",
     .minimum = 0},
    {.name = "group.max.size",
     .type = int32,
     .default_text = "2147483647",
     .help = "Most members of a group.",
     .minimum = 1},
    {.name = "group.consumer.session.timeout.ms",
     .type = int32,
     .default_text = "45000",
     .help = "Time without a heartbeat after which a member of the consumer protocol is removed from its group.",
     .minimum = 1},
    {.name = "group.consumer.heartbeat.interval.ms",
     .type = int32,
     .default_text = "5000",
     .help = "Time between two heartbeats that members of the consumer protocol are told to keep.",
     .minimum = 1},
    {.name = "group.consumer.max.size",
     .type = int32,
     .default_text = "2147483647",
     .help = "Most members of a group of the consumer protocol.",
     .minimum = 1},
    {.name = "group.consumer.assignors",
     .type = list,
     .default_text = "uniform,range",
     .help = "How partitions are divided among members of the consumer protocol: the assignors that a member may ask "
             "for. The first one is for groups whose members do not ask.",
     .allowed = kConsumerAssignors},
    {.name = "group.consumer.migration.policy",
     .type = string,
     .default_text = "bidirectional",
     .help = "Which groups with members may change between the classic and the consumer protocol.",
     .allowed = kMigrationPolicies},

    {.name = "transaction.state.log.num.partitions",
     .type = int32,
     .default_text = "50",
     .help = "Partitions of __transaction_state, when it is made.",
     .minimum = 1,
     .maximum = 10000},
    {.name = "transaction.state.log.replication.factor",
     .type = int16,
     .default_text = std::nullopt,
     .help =
         "Replicas of __transaction_state, when it is made. Not set: 3, or the number of brokers if that is smaller.",
     .minimum = 1,
     .maximum = 32767},
    {.name = "transaction.state.log.min.isr",
     .type = int32,
     .default_text = std::nullopt,
     .help = "min.insync.replicas of __transaction_state, when it is made. Not set: 2 where it has 3 replicas or more, "
             "else 1.",
     .minimum = 1},
    {.name = "transaction.state.log.segment.bytes",
     .type = int32,
     .default_text = "104857600",
     .help = "Segment size of __transaction_state, when it is made.",
     .minimum = 1 << 10},
    {.name = "transaction.max.timeout.ms",
     .type = int32,
     .default_text = "900000",
     .help = "Longest transaction.timeout.ms that a producer may ask for. For so long, a producer that is gone keeps "
             "readers of committed records waiting.",
     .minimum = 1},
    {.name = "transactional.id.expiration.ms",
     .type = int32,
     .default_text = "604800000",
     .help = "How long a transactional id without an open transaction is remembered: 7 days.",
     .minimum = 1},
    {.name = "transaction.remove.expired.transaction.cleanup.interval.ms",
     .type = int32,
     .default_text = "3600000",
     .help = "How often transactional ids are looked for that need not be remembered any more: once an hour.",
     .minimum = 1},

    {.name = "naru.log.level",
     .type = string,
     .default_text = "info",
     .effect = at_once,
     .help = "How much is written to stderr.",
     .allowed = kLogLevels,
     .mode = cluster_wide,
     .is_kafkas = false},
    {.name = "naru.slow.request.ms",
     .type = int64,
     .default_text = "1000",
     .effect = at_once,
     .help = "Requests that take longer, waiting on purpose excluded, are logged with the time of each stage. 0: none.",
     .minimum = 0,
     .maximum = kMaxInt32,
     .mode = cluster_wide,
     .is_kafkas = false},
    {.name = "naru.watchdog.stall.ms",
     .type = int64,
     .default_text = "500",
     .help = "An event loop that does not come back for this long is reported. 0: no watchdog.",
     .minimum = 0,
     .maximum = kMaxInt32,
     .is_kafkas = false},
});

constexpr std::string_view kFlushScheduler = "log.flush.scheduler.interval.ms";

constexpr size_t kDerivedCount = [] {
  size_t count = 0;
  for (const ConfigDefinition& topic : kTopicConfigs) count += topic.synonyms.count;
  return count;
}();

// The broker key that gives a topic key its default: everything but name, default and unit is the topic key's. Those of
// other units can be changed at a restart only, as in Kafka.
constexpr ConfigDefinition derive(const ConfigDefinition& topic, size_t synonym) {
  ConfigDefinition row = topic;
  const ConfigSynonym& from = topic.synonyms.rows[synonym];
  row.scope = ConfigScope::broker;
  row.name = from.broker_key;
  // Of several units only the coarsest has a default; the others stay unset so that they do not win over it.
  row.default_text = topic.synonyms.count == 1 ? topic.default_text : from.default_text;
  row.synonyms = {};
  row.mode = cluster_wide;
  if (from.multiplier != 1) {
    row.type = int32;
    row.maximum = kMaxInt32;
    row.mode = read_only;
  }
  if (row.name == kFlushScheduler) row.mode = read_only;
  return row;
}

constexpr auto make_broker_table() {
  std::array<ConfigDefinition, kOwnRows.size() + kDerivedCount + kKafkaConfigs.size()> rows;
  auto* next = std::ranges::copy(kOwnRows, rows.data()).out;
  for (const ConfigDefinition& topic : kTopicConfigs) {
    for (size_t synonym = 0; synonym < topic.synonyms.count; ++synonym) *next++ = derive(topic, synonym);
  }
  std::ranges::copy(kKafkaConfigs, next);
  return rows;
}

constexpr auto kBrokerConfigs = make_broker_table();

using ByName = std::unordered_map<std::string_view, const ConfigDefinition*>;

ByName by_name(std::span<const ConfigDefinition> rows) {
  ByName all;
  for (const ConfigDefinition& row : rows) {
    all.emplace(row.name, &row);
    if (!row.alias.empty()) all.emplace(row.alias, &row);
  }
  return all;
}

const ConfigDefinition* find(const ByName& all, std::string_view name) {
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace

std::span<const ConfigDefinition> broker_config_definitions() {
  return kBrokerConfigs;
}
std::span<const ConfigDefinition> topic_config_definitions() {
  return kTopicConfigs;
}
const ConfigDefinition* find_broker_config(std::string_view name) {
  static const ByName all = by_name(kBrokerConfigs);
  return find(all, name);
}
const ConfigDefinition* find_topic_config(std::string_view name) {
  static const ByName all = by_name(kTopicConfigs);
  return find(all, name);
}

}  // namespace naru
