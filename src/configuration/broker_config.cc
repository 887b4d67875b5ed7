#include "configuration/broker_config.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "configuration/properties_file.h"

namespace naru {
namespace {

constexpr std::string_view kEnvironmentPrefix = "NARU_";
constexpr size_t kShownNameBytes = 100;
constexpr size_t kMostProblems = 20;

// Collects everything that is wrong, so that a person corrects a file once and not line by line.
class Problems {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (++count_ <= kMostProblems) sentences_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  bool empty() const { return count_ == 0; }
  bool full() const { return count_ >= kMostProblems; }
  Status status() const {
    std::string text = fmt::format("{}", fmt::join(sentences_, "\n"));
    if (count_ > kMostProblems) text += fmt::format("\nand {} more", count_ - kMostProblems);
    return Status(ErrorCode::invalid_argument, std::move(text));
  }

 private:
  std::vector<std::string> sentences_;
  size_t count_ = 0;
};

void apply(ConfigValues& values, const ConfigAssignment& assignment, Problems& problems) {
  const ConfigDefinition* definition = find_broker_config(assignment.key);
  if (definition == nullptr) {
    const std::string_view nearest =
        problems.full() ? std::string_view() : nearest_config(broker_config_definitions(), assignment.key);
    const bool of_topic = find_topic_config(assignment.key) != nullptr;
    problems.add("{}: unknown key '{}'{}", assignment.origin, assignment.key.substr(0, kShownNameBytes),
                 of_topic          ? "; that is a key of topics, not of brokers"
                 : nearest.empty() ? ""
                                   : fmt::format("; did you mean {}?", nearest));
    return;
  }
  for (const auto check : {validate_value, check_not_refused}) {
    if (const Status status = check(*definition, assignment.value); !status.ok()) {
      problems.add("{}: {}", assignment.origin, status.message());
      return;
    }
  }
  values.set(definition->name, assignment.value, ConfigSource::static_broker, assignment.origin);
}

void apply_file(ConfigValues& values, const BrokerConfigInputs& inputs, Problems& problems) {
  const auto properties = parse_properties(inputs.file_text);
  if (!properties) {
    problems.add("{}: {}", inputs.file_name, properties.error().message());
    return;
  }
  std::map<std::string_view, const Property*> seen;  // by defined name: an alias is the same key
  for (const Property& property : *properties) {
    const std::string origin = fmt::format("{}:{}", inputs.file_name, property.line);
    const ConfigDefinition* definition = find_broker_config(property.key);
    const auto [first, is_new] = seen.emplace(definition ? definition->name : property.key, &property);
    if (!is_new && first->second->value != property.value) {
      problems.add("{}: {} has another value in line {}", origin, property.key.substr(0, kShownNameBytes),
                   first->second->line);
      continue;
    }
    apply(values, {property.key, property.value, origin}, problems);
  }
}

// Kubernetes and Docker describe every service in variables of its neighbours, and the service may be called "naru":
// NARU_SERVICE_HOST, NARU_SERVICE_PORT_KAFKA, NARU_PORT=tcp://..., NARU_PORT_9092_TCP_ADDR. Nobody meant those for us.
bool is_service_link(std::string_view name, std::string_view value) {
  return name.ends_with("_SERVICE_HOST") || name.find("_SERVICE_PORT") != std::string_view::npos ||
         name.ends_with("_TCP_ADDR") || name.ends_with("_TCP_PORT") || name.ends_with("_TCP_PROTO") ||
         value.starts_with("tcp://");
}

std::string_view key_of_variable(std::string_view variable) {
  for (const ConfigDefinition& definition : broker_config_definitions()) {
    if (variable == environment_name(definition.name)) return definition.name;
    if (!definition.alias.empty() && variable == environment_name(definition.alias)) return definition.alias;
  }
  return {};
}

// "NARU_NODE_IDD" -> "node.idd", so that a misspelt variable finds its neighbour.
std::string probable_key(std::string_view variable) {
  std::string key(variable.substr(kEnvironmentPrefix.size()));
  for (char& c : key) c = c == '_' ? '.' : (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  return key;
}

void apply_environment(ConfigValues& values, const BrokerConfigInputs& inputs, Problems& problems) {
  for (const auto& [name, value] : inputs.environment) {
    if (!name.starts_with(kEnvironmentPrefix)) continue;
    const std::string origin = fmt::format("environment variable {}", name.substr(0, kShownNameBytes));
    if (const std::string_view key = key_of_variable(name); !key.empty()) {
      apply(values, {std::string(key), value, origin}, problems);
    } else if (!is_service_link(name, value)) {
      const std::string guess = probable_key(name);
      std::string_view nearest = nearest_config(broker_config_definitions(), guess);
      if (nearest.empty()) nearest = nearest_config(broker_config_definitions(), "naru." + guess);
      problems.add("{} belongs to no key{}", origin,
                   nearest.empty() ? "" : fmt::format("; did you mean {}?", environment_name(nearest)));
    }
  }
}

LogLevel parse_log_level(const std::string& text) {
  if (text == "debug") return LogLevel::debug;
  if (text == "warn") return LogLevel::warn;
  if (text == "error") return LogLevel::error;
  return LogLevel::info;
}

std::string_view inside(std::string_view folder) {
  return folder.starts_with("./") ? folder.substr(2) : folder;
}

// So that what is shown and logged can be found from anywhere.
void make_folders_absolute(ConfigValues& values, const std::string& working_folder) {
  if (working_folder.empty()) return;
  std::vector<std::string> folders;
  const ConfigValue given = values.at("log.dirs");
  for (const std::string_view folder : parse_config_list(*given.text)) {
    folders.push_back(folder.starts_with('/') ? std::string(folder)
                                              : fmt::format("{}/{}", working_folder, inside(folder)));
  }
  values.set("log.dirs", fmt::format("{}", fmt::join(folders, ",")), given.source, given.origin);
}

void fill_identity_and_topics(BrokerConfig& config) {
  const ConfigValues& values = config.values;
  config.node_id = BrokerId(values.int32("node.id"));
  config.rack = values.optional_string("broker.rack");
  config.rack_aware_reads = values.string("replica.selector.class").ends_with(".RackAwareReplicaSelector");
  for (const auto folder : parse_config_list(values.string("log.dirs"))) config.log_dirs.emplace_back(folder);
  if (auto address = parse_coordination_address(values.string("naru.coordination"))) {
    config.coordination = std::move(*address);
  }
  config.coordination_session_timeout = Milliseconds(values.int32("naru.coordination.session.timeout.ms"));
  config.coordination_start_timeout = Milliseconds(values.int32("naru.coordination.start.timeout.ms"));
  config.shutdown_timeout = Milliseconds(values.int32("naru.shutdown.timeout.ms"));
  config.num_partitions = values.int32("num.partitions");
  config.default_replication_factor = values.optional_int32("default.replication.factor");
  config.auto_create_topics_enable = values.boolean("auto.create.topics.enable");
  config.delete_topic_enable = values.boolean("delete.topic.enable");
  config.auto_leader_rebalance_enable = values.boolean("auto.leader.rebalance.enable");
  config.leader_imbalance_check_interval =
      std::chrono::seconds(values.integer("leader.imbalance.check.interval.seconds"));
}

void fill_limits(BrokerConfig& config) {
  const ConfigValues& values = config.values;
  config.num_network_threads = values.optional_int32("num.network.threads");
  config.socket_request_max_bytes = values.int32("socket.request.max.bytes");
  config.max_fetch_sessions = values.int32("max.incremental.fetch.session.cache.slots");
  config.connections_max_idle = Milliseconds(values.integer("connections.max.idle.ms"));
  config.max_inflight_requests_per_connection = values.int32("naru.max.inflight.requests.per.connection");
  config.fetch_max_bytes = values.int32("fetch.max.bytes");
  config.memory_budget_bytes = static_cast<uint64_t>(values.integer("naru.memory.budget.bytes"));
  config.max_decompressed_bytes = static_cast<uint64_t>(values.integer("naru.max.decompressed.bytes"));
  config.journal_enable = values.boolean("naru.journal.enable");
  config.journal_bytes = static_cast<uint64_t>(values.integer("naru.journal.bytes"));
  config.journal_batch_max_bytes = static_cast<uint32_t>(values.integer("naru.journal.batch.max.bytes"));
  config.producer_id_expiration = Milliseconds(values.integer("producer.id.expiration.ms"));
  config.max_producers_per_partition = values.int32("naru.max.producers.per.partition");
  config.log_retention_check_interval = Milliseconds(values.integer("log.retention.check.interval.ms"));
  config.log_cleaner_enable = values.boolean("log.cleaner.enable");
  config.replication = {.lag_time_max = Milliseconds(values.integer("replica.lag.time.max.ms")),
                        .fetch_max_bytes = values.int32("replica.fetch.max.bytes"),
                        .fetch_response_max_bytes = values.int32("replica.fetch.response.max.bytes"),
                        .fetch_min_bytes = values.int32("replica.fetch.min.bytes"),
                        .fetch_wait_max = Milliseconds(values.int32("replica.fetch.wait.max.ms")),
                        .fetch_backoff = Milliseconds(values.int32("replica.fetch.backoff.ms"))};
  config.watchdog_stall = Milliseconds(values.integer("naru.watchdog.stall.ms"));
}

void fill_groups(GroupsConfig& groups, const ConfigValues& values) {
  groups.offsets_topic_partitions = values.int32("offsets.topic.num.partitions");
  groups.offsets_topic_replication_factor = values.optional_int32("offsets.topic.replication.factor");
  groups.offsets_topic_segment_bytes = values.int32("offsets.topic.segment.bytes");
  groups.offsets_retention = std::chrono::minutes(values.int32("offsets.retention.minutes"));
  groups.offsets_retention_check_interval = Milliseconds(values.integer("offsets.retention.check.interval.ms"));
  groups.offset_metadata_max_bytes = values.int32("offset.metadata.max.bytes");
  groups.initial_rebalance_delay = Milliseconds(values.int32("group.initial.rebalance.delay.ms"));
  groups.min_session_timeout = Milliseconds(values.int32("group.min.session.timeout.ms"));
  groups.max_session_timeout = Milliseconds(values.int32("group.max.session.timeout.ms"));
  groups.max_size = values.int32("group.max.size");
  groups.consumer_session_timeout = Milliseconds(values.int32("group.consumer.session.timeout.ms"));
  groups.consumer_heartbeat_interval = Milliseconds(values.int32("group.consumer.heartbeat.interval.ms"));
  groups.consumer_max_size = values.int32("group.consumer.max.size");
  for (const std::string_view assignor : parse_config_list(values.string("group.consumer.assignors"))) {
    groups.consumer_assignors.emplace_back(assignor);
  }
  groups.consumer_migration_policy = values.string("group.consumer.migration.policy");
}

void fill_transactions(TransactionsConfig& transactions, const ConfigValues& values) {
  transactions.topic_partitions = values.int32("transaction.state.log.num.partitions");
  transactions.topic_replication_factor = values.optional_int32("transaction.state.log.replication.factor");
  transactions.topic_min_insync_replicas = values.optional_int32("transaction.state.log.min.isr");
  transactions.topic_segment_bytes = values.int32("transaction.state.log.segment.bytes");
  transactions.max_timeout = Milliseconds(values.int32("transaction.max.timeout.ms"));
  transactions.id_expiration = Milliseconds(values.int32("transactional.id.expiration.ms"));
  transactions.expiry_interval =
      Milliseconds(values.int32("transaction.remove.expired.transaction.cleanup.interval.ms"));
}

void choose_inter_broker_listener(BrokerConfig& config, Problems& problems) {
  if (config.listeners.empty()) return;  // which is a problem already
  constexpr std::string_view kKey = "inter.broker.listener.name";
  const auto& wanted = config.values.at(kKey);
  config.inter_broker_listener = wanted.text.value_or(config.listeners.front().name);
  if (std::ranges::find(config.listeners, config.inter_broker_listener, &ListenerConfig::name) ==
      config.listeners.end()) {
    problems.add("{} ({}) is {}, which is not the name of a listener", kKey, wanted.origin,
                 config.inter_broker_listener);
  }
}

void fill_listeners(BrokerConfig& config, Problems& problems) {
  const ConfigValues& values = config.values;
  auto listeners =
      parse_listeners(values.string("listeners"), values.optional_string("advertised.listeners").value_or(""),
                      values.string("listener.security.protocol.map"));
  if (listeners) {
    config.listeners = std::move(*listeners);
  } else {
    problems.add("listeners ({}): {}", values.at("listeners").origin, listeners.error().message());
  }
  choose_inter_broker_listener(config, problems);
  if (const std::string& admin = values.string("naru.admin.listener"); !admin.empty()) {
    if (auto endpoint = parse_endpoint(admin)) config.admin_listener = std::move(*endpoint);
  }
}

// A single request that is allowed must also fit, or its connection would wait for ever.
void check_budget(const BrokerConfig& config, Problems& problems) {
  const uint64_t largest = static_cast<uint64_t>(config.socket_request_max_bytes) + 2 * config.max_decompressed_bytes;
  if (config.memory_budget_bytes < largest) {
    problems.add(
        "naru.memory.budget.bytes ({}) is {}, but one request may need {} (socket.request.max.bytes + twice "
        "naru.max.decompressed.bytes); raise the budget or lower those",
        config.values.at("naru.memory.budget.bytes").origin, config.memory_budget_bytes, largest);
  }
}

Result<BrokerConfig> finish(BrokerConfig config, Problems problems) {
  if (!problems.empty()) return failure(problems.status());
  fill_identity_and_topics(config);
  fill_limits(config);
  fill_groups(config.groups, config.values);
  fill_transactions(config.transactions, config.values);
  read_dynamic_values(config);
  fill_listeners(config, problems);
  check_budget(config, problems);
  if (!problems.empty()) return failure(problems.status());
  return config;
}

}  // namespace

void read_dynamic_values(BrokerConfig& config) {
  const ConfigValues& values = config.values;
  config.max_connections = values.int32("max.connections");
  config.max_connections_per_ip = values.int32("max.connections.per.ip");
  config.max_connections_per_ip_overrides.clear();
  for (const std::string_view pair : parse_config_list(values.string("max.connections.per.ip.overrides"))) {
    const size_t colon = pair.rfind(':');
    std::string_view address = pair.substr(0, colon);
    if (address.starts_with('[')) address = address.substr(1, address.size() - 2);
    config.max_connections_per_ip_overrides.emplace(
        address, static_cast<size_t>(parse_config_integer(pair.substr(colon + 1)).value_or(0)));
  }
  config.num_io_threads = values.int32("num.io.threads");
  config.log_cleaner_threads = values.int32("log.cleaner.threads");
  config.log_cleaner_backoff = Milliseconds(values.integer("log.cleaner.backoff.ms"));
  config.log_cleaner_dedupe_buffer_bytes = static_cast<uint64_t>(values.integer("log.cleaner.dedupe.buffer.size"));
  config.log_cleaner_io_bytes_per_second = values.floating("log.cleaner.io.max.bytes.per.second");
  const int64_t verify_interval = values.integer("naru.log.verify.interval.ms");
  config.log_verify_interval = verify_interval < 0 ? std::nullopt : std::optional(Milliseconds(verify_interval));
  config.log_verify_bytes_per_second = values.floating("naru.log.verify.max.bytes.per.second");
  config.log_level = parse_log_level(values.string("naru.log.level"));
  config.slow_request = Milliseconds(values.integer("naru.slow.request.ms"));
}

std::string listeners_text(const std::vector<ListenerConfig>& listeners) {
  std::vector<std::string> all;
  for (const ListenerConfig& listener : listeners) {
    all.push_back(fmt::format("{}://{}", listener.name, listener.bind.to_string()));
  }
  return fmt::format("{}", fmt::join(all, ","));
}

std::string environment_name(std::string_view key) {
  constexpr std::string_view kOwn = "naru.";
  if (key.starts_with(kOwn)) key.remove_prefix(kOwn.size());
  std::string name(kEnvironmentPrefix);
  for (const char c : key) name += c == '.' ? '_' : (c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  return name;
}

Result<BrokerConfig> load_broker_config(const BrokerConfigInputs& inputs) {
  BrokerConfig config;
  Problems problems;
  apply_file(config.values, inputs, problems);
  apply_environment(config.values, inputs, problems);
  for (const ConfigAssignment& flag : inputs.flags) apply(config.values, flag, problems);
  if (problems.empty()) make_folders_absolute(config.values, inputs.working_folder);
  return finish(std::move(config), std::move(problems));
}

Result<BrokerConfig> make_broker_config(const ConfigOverrides& values) {
  BrokerConfigInputs inputs;
  for (const auto& [key, value] : values) inputs.flags.push_back({key, value, "given value"});
  return load_broker_config(inputs);
}

std::vector<std::string> ineffective_keys(const BrokerConfig& config) {
  std::vector<std::string> sentences;
  for (const ConfigDefinition& definition : broker_config_definitions()) {
    const bool changes_nothing =
        definition.effect == ConfigEffect::stored_only || definition.effect == ConfigEffect::refused;
    if (!changes_nothing || !config.values.is_set(definition.name)) continue;
    sentences.push_back(fmt::format("{} ({}) has no effect: {}", definition.name,
                                    config.values.at(definition.name).origin, definition.help));
  }
  return sentences;
}

}  // namespace naru
