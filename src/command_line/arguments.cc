#include "command_line/arguments.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>

#include "command_line/flag_values.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

constexpr std::string_view kDefaultBootstrap = "127.0.0.1:9092";
constexpr int kUsageError = 2;
constexpr const char *kBrokers = "Broker", *kTopics = "Topics", *kRecords = "Records", *kGroups = "Groups",
                     *kTransactions = "Transactions", *kCluster = "Cluster";

// What CLI11 stores as text and becomes something better afterwards.
struct Texts {
  std::string bootstrap, timeout, acks, compression, rate, count, size, from, to, isolation, watch, producer_id;
  std::vector<std::string> configs, headers, partitions;
};

// The commands and where their flags go.
class Parser {
 public:
  explicit Parser(std::string_view version)
      : app_("Naru: a durable, ordered log that Kafka clients use as a Kafka.", "naru") {
    app_.set_version_flag("--version", fmt::format("naru {}", version));
    app_.require_subcommand(1);
    app_.set_help_all_flag("--help-all", "Help for every command");
    app_.footer("`naru help COMMAND` tells more about one of them. Reference: docs/cli.md");
    add_server();
    add_topic();
    add_produce();
    add_consume();
    add_group();
    add_txn();
    CLI::App* cluster = app_.add_subcommand("cluster", "The cluster as a whole")->group(kCluster);
    cluster->require_subcommand(1);
    leaf(*cluster, "status", "Brokers, partitions and their health", ClusterStatusFlags{});
    CLI::App* doctor = leaf(app_, "doctor", "Check what usually goes wrong, and say what to do", doctor_);
    doctor->add_option("--data", doctor_.data, "Data folder on this machine to check; may be repeated")->take_all();
    doctor->group(kCluster);
    CLI::App* version_command = app_.add_subcommand("version", "Print the version")->group(kCluster);
    version_command->callback([this] { command_ = VersionFlags{}; });
    version_command->add_flag("--json", common_.json, "Output for programs");
  }

  std::expected<Arguments, EarlyExit> parse(std::span<const std::string> words, const Environment& environment) {
    try {
      app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 wants them in this order
    } catch (const CLI::ParseError& problem) {
      std::ostringstream output, error;
      const int code = app_.exit(problem, output, error) == 0 ? 0 : kUsageError;
      return std::unexpected(EarlyExit{code, output.str(), error.str().empty() ? "" : "naru: " + error.str()});
    }
    if (const Status status = finish(environment); !status.ok())
      return std::unexpected(EarlyExit{kUsageError, "", fmt::format("naru: {}\n", status.message())});
    return Arguments{common_, command_};
  }

 private:
  static CLI::Option* last_wins(CLI::Option* option) {
    return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }

  // A command that talks to a cluster. `flags` is looked at after parsing.
  template <class Flags>
  CLI::App* leaf(CLI::App& parent, const std::string& name, const std::string& what, const Flags& flags) {
    CLI::App* command = parent.add_subcommand(name, what);
    command->callback([this, &flags] { command_ = flags; });
    last_wins(command->add_option("--bootstrap", texts_.bootstrap, "HOST:PORT,... of brokers to begin with"))
        ->type_name("HOST:PORT,...");
    last_wins(command->add_option("--timeout", texts_.timeout, "How long to wait for a broker (30s)"))
        ->type_name("TIME");
    command->add_flag("--json", common_.json, "Output for programs; the fields are in docs/cli.md");
    return command;
  }
  CLI::App* leaf(CLI::App& parent, const std::string& name, const std::string& what, ClusterStatusFlags) {
    static constexpr ClusterStatusFlags kFlags;
    return leaf<ClusterStatusFlags>(parent, name, what, kFlags);
  }

  void add_server() {
    CLI::App* server = app_.add_subcommand("server", "Run a broker until SIGTERM or Ctrl-C")->group(kBrokers);
    server->callback([this] { command_ = server_; });
    // `--data "$UNSET"` must not mean the folder that happens to be the default.
    const auto text = [server](const char* flag, std::string& value, const char* what) {
      const auto not_empty = [](const std::string& given) { return std::string(given.empty() ? "has no value" : ""); };
      last_wins(server->add_option(flag, value, what))->check(not_empty);
    };
    text("--config", server_.config_file, "Properties file with Kafka's key names");
    text("--data", server_.data, "Data folder, or several separated by commas (log.dirs)");
    text("--kafka", server_.kafka, "HOST:PORT to listen on for Kafka clients (listeners)");
    text("--advertise", server_.advertise, "HOST:PORT that clients are told to use (advertised.listeners)");
    text("--node-id", server_.node_id, "Number of this broker (node.id)");
    text("--coordination", server_.coordination,
         "embedded, zookeeper://HOST:PORT,.../ROOT or etcd://HOST:PORT,.../ROOT (naru.coordination)");
    server->add_option("--set", server_.set, "Any configuration key: key=value; may be repeated")->take_all();
    server->footer(
        "Every key is also an environment variable: node.id is NARU_NODE_ID. All keys: docs/configuration.md");
  }

  void add_topic() {
    CLI::App* topic = app_.add_subcommand("topic", "Create, look at, change and delete topics")->group(kTopics);
    topic->require_subcommand(1);
    CLI::App* create = leaf(*topic, "create", "Create a topic", create_);
    create->add_option("NAME", create_.name, "Letters, digits, '.', '_' and '-'")->required();
    create->add_option("--partitions", create_.partitions, "How many; else as the broker's num.partitions says")
        ->check(CLI::Range(1, 1'000'000));
    create->add_option("--replicas", create_.replicas, "Copies of each partition; else default.replication.factor")
        ->check(CLI::Range(1, 1000));
    create->add_option("--config", texts_.configs, "Any key of a topic: key=value; may be repeated")->take_all();
    leaf(*topic, "list", "All topics", list_);
    CLI::App* describe = leaf(*topic, "describe", "Partitions, leaders, replicas and offsets of topics", describe_);
    describe->add_option("NAME", describe_.names, "One or several")->required();
    CLI::App* partitions = leaf(*topic, "set-partitions", "Give a topic more partitions", set_partitions_);
    partitions->add_option("NAME", set_partitions_.name)->required();
    partitions->add_option("COUNT", set_partitions_.count, "How many it shall have in all")
        ->required()
        ->check(CLI::Range(1, 1'000'000));
    CLI::App* config = leaf(*topic, "config", "Show and change the configuration of a topic", config_);
    config->add_option("NAME", config_.name)->required();
    config->add_option("--set", texts_.configs, "key=value; may be repeated")->take_all();
    config->add_option("--delete", config_.remove, "Back to what counts without: a key; may be repeated")->take_all();
    config->add_flag("--all", config_.all, "Show every key, also those that nobody set for this topic");
    CLI::App* remove = leaf(*topic, "delete", "Delete topics with all their records", delete_);
    remove->add_option("NAME", delete_.names, "One or several")->required();
  }

  void add_produce() {
    CLI::App* produce = leaf(app_, "produce", "Send lines, or generated records, to a topic", produce_);
    produce->group(kRecords);
    produce->add_option("TOPIC", produce_.topic)->required();
    last_wins(produce->add_option("--file", produce_.file, "Send the lines of this file instead of standard input"));
    last_wins(
        produce->add_option("--key-separator", produce_.key_separator, "What stands between key and value in a line"));
    produce->add_option("--header", texts_.headers, "key=value on every record; may be repeated")->take_all();
    produce->add_option("--partition", texts_.partitions, "Send to this partition, whatever the key is")->expected(1);
    last_wins(
        produce->add_option("--acks", texts_.acks, "Who has to have it: all (default), 1 (the leader), 0 (nobody)"));
    last_wins(produce->add_option("--compression", texts_.compression, "none (default), gzip, snappy, lz4 or zstd"));
    last_wins(produce->add_option("--rate", texts_.rate, "At most so many records per second"));
    last_wins(produce->add_option("--count", texts_.count, "Send so many generated records instead of lines"));
    last_wins(produce->add_option("--size", texts_.size, "Bytes of a generated record (100)"));
  }

  void add_consume() {
    CLI::App* consume = leaf(app_, "consume", "Print the records of a topic", consume_);
    consume->group(kRecords);
    consume->add_option("TOPIC", consume_.topic)->required();
    last_wins(consume->add_option(
        "--from", texts_.from,
        "beginning (default), end, an offset, -N (N before the end), a time, or how long ago: 15m"));
    consume->add_option("--partition", texts_.partitions, "Only these: 0 or 0,2")->delimiter(',')->take_all();
    last_wins(consume->add_option("--count", texts_.count, "Stop after so many records"));
    consume->add_flag("--follow", consume_.follow, "Wait for new records instead of stopping at the end");
    last_wins(consume->add_option("--isolation-level", texts_.isolation,
                                  "read_committed (default), or read_uncommitted: also what no transaction commits"));
    consume->add_flag("--keys", consume_.keys, "Print keys");
    consume->add_flag("--headers", consume_.headers, "Print headers");
    consume->add_flag("--timestamps", consume_.timestamps, "Print timestamps");
    consume->add_flag("--offsets", consume_.offsets, "Print partition and offset");
    last_wins(consume->add_option("--format", consume_.format,
                                  "Text with {topic} {partition} {offset} {timestamp} {time} {key} {value} {headers}"));
  }

  void add_group() {
    CLI::App* group = app_.add_subcommand("group", "Look at, reset and delete consumer groups")->group(kGroups);
    group->require_subcommand(1);
    CLI::App* list = leaf(*group, "list", "All groups, with their members and how far they are behind", group_list_);
    list->add_option("--state", group_list_.states, "Only those in these states: Stable, Empty, ...")
        ->delimiter(',')
        ->take_all();
    CLI::App* describe = leaf(*group, "describe",
                              "Members, committed offsets, and lag in records and seconds of a group", group_describe_);
    describe->add_option("NAME", group_describe_.name)->required();
    CLI::App* why = leaf(*group, "why", "Say in one sentence why a group is not moving", group_why_);
    why->add_option("NAME", group_why_.name)->required();
    last_wins(why->add_option("--watch", texts_.watch, "How long to see whether a group that is behind commits (6s)"))
        ->type_name("TIME");
    CLI::App* reset = leaf(*group, "reset", "Set the committed offsets of a group without members", group_reset_);
    reset->add_option("NAME", group_reset_.name)->required();
    last_wins(reset->add_option("--topic", group_reset_.topic, "Whose offsets to set"))->required();
    reset->add_option("--partition", texts_.partitions, "Only these: 0 or 0,2")->delimiter(',')->take_all();
    last_wins(reset->add_option("--to", texts_.to,
                                "earliest, latest, offset N, time T: 2026-11-15T10:00:00Z, or -2h for two hours ago"))
        ->required();
    reset->add_flag("--dry-run", group_reset_.dry_run, "Show what would be set, and change nothing");
    CLI::App* remove = leaf(*group, "delete", "Delete groups without members, with their offsets", group_delete_);
    remove->add_option("NAME", group_delete_.names, "One or several")->required();
  }

  void add_txn() {
    CLI::App* txn = app_.add_subcommand("txn", "Look at transactions, and end those that are stuck");
    txn->group(kTransactions)->require_subcommand(1);
    CLI::App* list = leaf(*txn, "list", "All transactional ids, with their transactions", txn_list_);
    list->add_option("--state", txn_list_.states, "Only those in these states: Ongoing, PrepareCommit, ...")
        ->delimiter(',')
        ->take_all();
    list->add_flag("--stuck", txn_list_.stuck, "Only transactions that do not end by themselves");
    CLI::App* describe = leaf(*txn, "describe", "State, producer, age and partitions of a transaction", txn_describe_);
    describe->add_option("ID", txn_describe_.id, "The transactional id")->required();
    CLI::App* abort = leaf(*txn, "abort", "Abort a transaction, and shut its producer out", txn_abort_);
    abort->add_option("ID", txn_abort_.id, "The transactional id");
    abort->add_flag("--fence", txn_abort_.fence, "Shut its producer out even if nothing is open");
    last_wins(abort->add_option("--topic", txn_abort_.topic, "Where a transaction hangs that no coordinator knows"));
    abort->add_option("--partition", texts_.partitions, "In which partition of the topic")->expected(1);
    last_wins(abort->add_option("--producer-id", texts_.producer_id, "Whose it is"))->type_name("NUMBER");
    abort->footer("Either the ID, or --topic, --partition and --producer-id as `naru txn list --stuck` tells them.");
  }

  Status finish(const Environment& environment) {
    if (texts_.bootstrap.empty()) {
      const auto variable = std::ranges::find(environment, kBootstrapVariable, &KeyValue::first);
      const bool given = variable != environment.end() && !variable->second.empty();
      const std::string text(given ? std::string_view(variable->second) : kDefaultBootstrap);
      NARU_TRY(parse_flag(given ? kBootstrapVariable : "--bootstrap", text, parse_bootstrap, common_.bootstrap));
    } else {
      NARU_TRY(parse_flag("--bootstrap", texts_.bootstrap, parse_bootstrap, common_.bootstrap));
    }
    NARU_TRY(parse_flag("--timeout", texts_.timeout, parse_duration, common_.timeout));
    if (auto* create = std::get_if<TopicCreateFlags>(&command_))
      return parse_assignments("--config", texts_.configs, create->configs);
    if (auto* config = std::get_if<TopicConfigFlags>(&command_))
      return parse_assignments("--set", texts_.configs, config->set);
    if (auto* produce = std::get_if<ProduceFlags>(&command_)) return finish(*produce);
    if (auto* consume = std::get_if<ConsumeFlags>(&command_)) return finish(*consume);
    if (auto* reset = std::get_if<GroupResetFlags>(&command_)) {
      NARU_TRY(parse_flag("--to", texts_.to, parse_reset_target, reset->to));
      return parse_partitions(texts_.partitions, reset->partitions);
    }
    if (auto* why = std::get_if<GroupWhyFlags>(&command_))
      return parse_flag("--watch", texts_.watch, parse_duration, why->watch);
    if (const auto* txn_list = std::get_if<TxnListFlags>(&command_); txn_list && txn_list->stuck) {
      if (!txn_list->states.empty())
        return error(ErrorCode::invalid_argument, "--stuck knows in which states it looks: it goes without --state");
    }
    if (auto* abort = std::get_if<TxnAbortFlags>(&command_)) return finish(*abort);
    return {};
  }

  Status finish(ProduceFlags& produce) const {
    NARU_TRY(parse_assignments("--header", texts_.headers, produce.headers));
    NARU_TRY(parse_flag("--acks", texts_.acks, parse_acks, produce.acks));
    NARU_TRY(parse_flag("--compression", texts_.compression, parse_compression, produce.compression));
    NARU_TRY(parse_flag("--rate", texts_.rate, parse_rate, produce.rate));
    NARU_TRY(parse_flag("--count", texts_.count, parse_count, produce.count));
    NARU_TRY(parse_flag("--size", texts_.size, parse_size, produce.size));
    std::vector<PartitionIndex> partitions;
    NARU_TRY(parse_partitions(texts_.partitions, partitions));
    if (!partitions.empty()) produce.partition = partitions.front();
    if (produce.count && !produce.file.empty())
      return error(ErrorCode::invalid_argument, "--count generates records and --file reads them: give one of the two");
    if (!texts_.size.empty() && !produce.count)
      return error(ErrorCode::invalid_argument, "--size is the size of generated records: it needs --count");
    return {};
  }

  Status finish(TxnAbortFlags& abort) const {
    std::optional<int64_t> producer_id;
    NARU_TRY(parse_flag("--producer-id", texts_.producer_id, parse_number, producer_id));
    if (producer_id) abort.producer_id = ProducerId(*producer_id);
    std::vector<PartitionIndex> partitions;
    NARU_TRY(parse_partitions(texts_.partitions, partitions));
    if (!partitions.empty()) abort.partition = partitions.front();
    const bool any = !abort.topic.empty() || abort.partition || abort.producer_id;
    const bool all = !abort.topic.empty() && abort.partition && abort.producer_id;
    if (abort.id.empty() ? all && !abort.fence : !any) return {};
    return error(ErrorCode::invalid_argument,
                 "give the ID of a transaction, or else all of --topic, --partition and --producer-id");
  }

  Status finish(ConsumeFlags& consume) const {
    NARU_TRY(parse_flag("--from", texts_.from, parse_start, consume.from));
    NARU_TRY(parse_flag("--count", texts_.count, parse_count, consume.count));
    NARU_TRY(parse_flag("--isolation-level", texts_.isolation, parse_isolation, consume.isolation));
    return parse_partitions(texts_.partitions, consume.partitions);
  }

  CLI::App app_;
  Texts texts_;
  CommonFlags common_;
  Command command_;
  ServerFlags server_;
  TopicCreateFlags create_;
  TopicListFlags list_;
  TopicDescribeFlags describe_;
  TopicDeleteFlags delete_;
  TopicSetPartitionsFlags set_partitions_;
  TopicConfigFlags config_;
  ProduceFlags produce_;
  ConsumeFlags consume_;
  GroupListFlags group_list_;
  GroupDescribeFlags group_describe_;
  GroupResetFlags group_reset_;
  GroupDeleteFlags group_delete_;
  GroupWhyFlags group_why_;
  TxnListFlags txn_list_;
  TxnDescribeFlags txn_describe_;
  TxnAbortFlags txn_abort_;
  DoctorFlags doctor_;
};

// `--to offset 42` is one value of two words, of which the second may begin with a minus.
void join_reset_target(std::vector<std::string>& words) {
  const auto flag = std::ranges::find(words, "--to");
  if (words.front() != "group" || words.end() - flag < 3) return;
  if (flag[1] != "offset" && flag[1] != "time") return;
  flag[1] += " " + flag[2];
  words.erase(flag + 2);
}

// `naru help topic create` is `naru topic create --help`.
std::vector<std::string> without_help_verb(std::span<const std::string> words) {
  std::vector<std::string> all(words.begin(), words.end());
  if (all.empty()) return {"--help"};
  if (all.front() != "help") return all;
  all.erase(all.begin());
  all.emplace_back("--help");
  return all;
}

}  // namespace

std::expected<Arguments, EarlyExit> parse_arguments(std::span<const std::string> words, const Environment& environment,
                                                    std::string_view version) {
  auto all = without_help_verb(words);
  join_reset_target(all);
  constexpr std::array<std::string_view, 9> kCommands{"server", "topic",   "produce", "consume", "group",
                                                      "txn",    "cluster", "doctor",  "version"};
  if (!all.front().starts_with('-') && std::ranges::find(kCommands, all.front()) == kCommands.end()) {
    return std::unexpected(EarlyExit{kUsageError, "",
                                     fmt::format("naru: there is no command '{}'; there are {} and help\n",
                                                 printable(all.front()), fmt::join(kCommands, ", "))});
  }
  return Parser(version).parse(all, environment);
}

}  // namespace naru::command_line
