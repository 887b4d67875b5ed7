#include "client/broker_error.h"
#include "client/config_admin.h"
#include "client/offsets.h"
#include "command_line/cluster_repairs.h"
#include "command_line/json_text.h"
#include "command_line/table.h"
#include "command_line/topic_commands.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

using client::OffsetAtTime;
using client::TopicPartition;

// Partitions without a leader have none.
struct Offsets {
  std::map<TopicPartition, OffsetAtTime> starts;
  std::map<TopicPartition, OffsetAtTime> ends;
};

Task<Result<Offsets>> find_offsets(client::ClusterClient& client, const std::vector<client::TopicInfo>& topics) {
  std::vector<TopicPartition> partitions;
  for (const client::TopicInfo& topic : topics) {
    for (const client::PartitionInfo& partition : topic.partitions) {
      if (!partition.is_offline()) partitions.push_back({topic.name, partition.index});
    }
  }
  Offsets offsets;
  NARU_CO_TRY_ASSIGN(offsets.starts, co_await client::list_offsets(client, partitions, client::kEarliest));
  NARU_CO_TRY_ASSIGN(offsets.ends, co_await client::list_offsets(client, partitions, client::kLatest));
  co_return offsets;
}

std::optional<int64_t> offset_in(const std::map<TopicPartition, OffsetAtTime>& offsets, const TopicPartition& name) {
  const auto found = offsets.find(name);
  return found == offsets.end() ? std::nullopt : std::optional(found->second.offset.value());
}

void add_json(JsonText& json, std::string_view name, const std::vector<BrokerId>& brokers) {
  json.key(name).open_array();
  for (const BrokerId broker : brokers) json.value(broker.value());
  json.close_array();
}

// What was set for each of the topics. A broker that does not tell is no reason to fail.
using Configs = std::map<std::string, std::vector<client::ConfigEntry>>;

Task<Configs> find_configs(client::ClusterClient& client, const std::vector<client::TopicInfo>& topics) {
  Configs configs;
  for (const client::TopicInfo& topic : topics) {
    auto entries = co_await client::describe_topic_config(client, topic.name);
    if (!entries) continue;
    std::erase_if(*entries, [](const client::ConfigEntry& entry) { return !entry.is_set_here(); });
    configs[topic.name] = std::move(*entries);
  }
  co_return configs;
}

std::string as_json(const std::vector<client::TopicInfo>& topics, const Offsets& offsets, const Configs& configs) {
  JsonText json;
  json.open_array();
  for (const client::TopicInfo& topic : topics) {
    json.open_object().member("name", topic.name).member("id", topic.id.to_string());
    json.member("internal", topic.internal).key("config").open_object();
    if (const auto set = configs.find(topic.name); set != configs.end()) {
      for (const client::ConfigEntry& entry : set->second) json.member(entry.name, entry.value);
    }
    json.close_object().key("partitions").open_array();
    for (const client::PartitionInfo& partition : topic.partitions) {
      const TopicPartition name{topic.name, partition.index};
      json.open_object().member("partition", partition.index.value()).member("leader", partition.leader.value());
      json.member("leader_epoch", partition.leader_epoch.value());
      add_json(json, "replicas", partition.replicas);
      add_json(json, "in_sync", partition.in_sync);
      add_json(json, "offline_replicas", partition.offline);
      json.member("start_offset", offset_in(offsets.starts, name));
      json.member("end_offset", offset_in(offsets.ends, name)).close_object();
    }
    json.close_array().close_object();
  }
  return json.close_array().take();
}

std::string as_table(const client::TopicInfo& topic, const Offsets& offsets, const Configs& configs) {
  constexpr auto kRight = Table::Align::right;
  Table table(
      {{"PARTITION", kRight}, {"LEADER", kRight}, {"REPLICAS"}, {"IN-SYNC"}, {"START", kRight}, {"END", kRight}});
  for (const client::PartitionInfo& partition : topic.partitions) {
    const TopicPartition name{topic.name, partition.index};
    const auto show = [](std::optional<int64_t> offset) { return offset ? std::to_string(*offset) : "-"; };
    table.add({std::to_string(partition.index.value()),
               partition.is_offline() ? "none" : std::to_string(partition.leader.value()), join(partition.replicas),
               join(partition.in_sync), show(offset_in(offsets.starts, name)), show(offset_in(offsets.ends, name))});
  }
  std::string title = fmt::format("{}  id {}  {}\n", printable(topic.name), topic.id.to_string(), health_of(topic));
  if (const auto set = configs.find(topic.name); set != configs.end()) {
    for (const client::ConfigEntry& entry : set->second)
      title += fmt::format("{}={}\n", printable(entry.name), printable(entry.value.value_or("(secret)")));
  }
  return title + table.render();
}

}  // namespace

Task<ExitCode> topic_describe(CommandContext& context, TopicDescribeFlags flags) {
  client::ClusterClient client(context.seams, client_options(context));
  const Status refreshed = co_await client.refresh(flags.names);
  if (!refreshed.ok()) co_return fail(context, refreshed);
  std::vector<client::TopicInfo> topics;
  for (const std::string& name : flags.names) {
    const client::TopicInfo* topic = client.metadata().find_topic(name);
    const ErrorCode code = topic == nullptr ? ErrorCode::unknown_topic_or_partition : topic->error;
    if (code != ErrorCode::none) co_return fail(context, client::topic_error(code, name));
    topics.push_back(*topic);
  }
  const auto offsets = co_await find_offsets(client, topics);
  if (!offsets) co_return fail(context, offsets.error());
  const Configs configs = co_await find_configs(client, topics);
  if (context.common.json) {
    print(context, as_json(topics, *offsets, configs));
    co_return ExitCode::ok;
  }
  for (size_t i = 0; i < topics.size(); ++i)
    print(context, (i == 0 ? "" : "\n") + as_table(topics[i], *offsets, configs));
  co_return ExitCode::ok;
}

}  // namespace naru::command_line
