#include <algorithm>

#include "command_line/group_commands.h"
#include "command_line/group_progress.h"
#include "command_line/json_text.h"
#include "command_line/table.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

struct DescribedState {
  client::GroupDescription group;
  std::string coordinator_address;
  std::vector<PartitionProgress> partitions;
  WallTimeMs now = 0;
};

Task<Result<DescribedState>> find_state(CommandContext& context, client::ClusterClient& client,
                                        const std::string& name) {
  DescribedState state;
  NARU_CO_TRY_ASSIGN(state.group, co_await client::describe_group(client, name, context.common.timeout));
  NARU_CO_TRY_ASSIGN(state.partitions, co_await find_progress(client, state.group));
  co_await find_record_times(client, state.partitions);
  if (const client::BrokerInfo* broker = client.metadata().find_broker(state.group.coordinator))
    state.coordinator_address = broker->address.to_string();
  state.now = context.seams.clock.wall_now_ms();
  co_return state;
}

std::optional<double> in_seconds(std::optional<Duration> duration) {
  return duration ? std::optional(std::chrono::duration<double>(*duration).count()) : std::nullopt;
}

void add_names(JsonText& json, std::string_view key, const std::vector<client::TopicPartition>& partitions) {
  json.key(key).open_array();
  for (const client::TopicPartition& partition : partitions) {
    json.open_object().member("topic", partition.topic).member("partition", partition.partition.value());
    json.close_object();
  }
  json.close_array();
}

void add_members(JsonText& json, const client::GroupDescription& group) {
  json.key("members").open_array();
  for (const client::GroupMember& member : group.members) {
    json.open_object().member("id", member.id).member("instance_id", member.instance_id);
    json.member("client_id", member.client_id).member("host", member.host).key("topics").open_array();
    for (const std::string& topic : member.topics) json.value(topic);
    json.close_array();
    add_names(json, "partitions", member.partitions);
    if (!group.is_classic()) {
      json.member("topic_expression",
                  member.topic_expression.empty() ? std::nullopt : std::optional(member.topic_expression));
      json.member("epoch", member.epoch);
      add_names(json, "target_partitions", member.target);
    }
    json.close_object();
  }
  json.close_array();
}

void add_partitions(JsonText& json, const std::vector<PartitionProgress>& partitions, WallTimeMs now) {
  const auto number = [](bool known, Offset offset) { return known ? std::optional(offset.value()) : std::nullopt; };
  json.key("partitions").open_array();
  for (const PartitionProgress& partition : partitions) {
    json.open_object().member("topic", partition.partition.topic);
    json.member("partition", partition.partition.partition.value());
    json.member("committed_offset", number(partition.committed.has_value(), partition.committed.value_or(Offset(0))));
    json.member("start_offset", number(partition.is_online(), partition.bounds.start));
    json.member("end_offset", number(partition.is_online(), partition.bounds.end));
    json.member("lag", partition.lag()).member("lag_seconds", in_seconds(partition.behind(now)));
    json.member("member", partition.owner.empty() ? std::nullopt : std::optional(partition.owner)).close_object();
  }
  json.close_array();
}

std::string group_as_json(const DescribedState& state) {
  const client::GroupDescription& group = state.group;
  const Lag lag = total_lag(state.partitions, state.now);
  JsonText json;
  json.open_object().member("name", group.id).member("type", group.type).member("state", group.state);
  json.member("state_since", group.state_since < 0 ? std::nullopt : std::optional(group.state_since));
  json.member("coordinator", group.coordinator.value()).member("protocol_type", group.protocol_type);
  json.member("protocol", group.protocol).member("lag", lag.records).member("lag_seconds", in_seconds(lag.behind));
  if (!group.is_classic()) json.member("epoch", group.epoch).member("assignment_epoch", group.assignment_epoch);
  add_members(json, group);
  add_partitions(json, state.partitions, state.now);
  return json.close_object().take();
}

std::string classic_member_table(const std::vector<client::GroupMember>& members) {
  Table table({{"MEMBER"}, {"INSTANCE"}, {"CLIENT"}, {"HOST"}, {"PARTITIONS"}});
  for (const client::GroupMember& member : members) {
    table.add({member.id, member.instance_id.value_or("-"), member.client_id, member.host,
               member.unread_bytes > 0 ? fmt::format("{} bytes of another protocol", member.unread_bytes)
                                       : partitions_text(member.partitions)});
  }
  return table.render();
}

std::string consumer_member_table(const client::GroupDescription& group) {
  Table table(
      {{"MEMBER"}, {"INSTANCE"}, {"CLIENT"}, {"HOST"}, {"EPOCH", Table::Align::right}, {"PARTITIONS"}, {"TARGET"}});
  for (const client::GroupMember& member : group.members) {
    // In an earlier epoch it may hold on to more than the broker still counts as its own.
    const bool reached = member.epoch == group.assignment_epoch && member.partitions == member.target;
    table.add({member.id, member.instance_id.value_or("-"), member.client_id, member.host, std::to_string(member.epoch),
               partitions_text(member.partitions), reached ? "reached" : partitions_text(member.target)});
  }
  return table.render();
}

std::string member_table(const client::GroupDescription& group) {
  if (group.members.empty()) return "no members\n";
  return group.is_classic() ? classic_member_table(group.members) : consumer_member_table(group);
}

std::string partition_table(const std::vector<PartitionProgress>& partitions, WallTimeMs now) {
  if (partitions.empty()) return "no committed offsets\n";
  constexpr auto kRight = Table::Align::right;
  Table table({{"TOPIC"},
               {"PARTITION", kRight},
               {"COMMITTED", kRight},
               {"START", kRight},
               {"END", kRight},
               {"LAG", kRight},
               {"SECONDS", kRight},
               {"MEMBER"}});
  for (const PartitionProgress& partition : partitions) {
    const auto bound = [&partition](Offset offset) {
      if (partition.is_online()) return std::to_string(offset.value());
      return std::string(partition.bounds.state == PartitionBounds::State::offline ? "offline" : "gone");
    };
    const auto lag = partition.lag();
    const auto seconds = in_seconds(partition.behind(now));
    table.add({partition.partition.topic, std::to_string(partition.partition.partition.value()),
               partition.committed ? std::to_string(partition.committed->value()) : "-", bound(partition.bounds.start),
               bound(partition.bounds.end), lag ? std::to_string(*lag) : "-",
               !seconds        ? "-"
               : *seconds == 0 ? "0"
                               : fmt::format("{:.1f}", *seconds),
               partition.owner.empty() ? "-" : partition.owner});
  }
  const Lag lag = total_lag(partitions, now);
  std::string total =
      fmt::format("lag: {} record{}", format_count(static_cast<uint64_t>(lag.records)), lag.records == 1 ? "" : "s");
  if (lag.records > 0 && lag.behind) total += fmt::format("; the oldest is {} old", format_age(*lag.behind));
  return table.render() + total + "\n";
}

std::string group_as_text(const DescribedState& state) {
  const client::GroupDescription& group = state.group;
  std::string title = fmt::format("group {}: {}", group.id, group.state);
  if (group.state_since >= 0)
    title += fmt::format(" for {}", format_age(Milliseconds(std::max<int64_t>(0, state.now - group.state_since))));
  title += fmt::format("; {}", group.type);
  if (!group.is_classic()) {
    title += fmt::format(", epoch {}", group.epoch);
  } else if (!group.protocol_type.empty()) {
    title += fmt::format(", protocol {}", group.protocol_type);
  }
  if (!group.protocol.empty()) title += fmt::format(", assignor {}", group.protocol);
  title += fmt::format("; coordinated by broker {} ({})", group.coordinator, state.coordinator_address);
  return fmt::format("{}\n{}\n{}", printable(title), member_table(group), partition_table(state.partitions, state.now));
}

}  // namespace

Task<ExitCode> group_describe(CommandContext& context, GroupDescribeFlags flags) {
  client::ClusterClient client(context.seams, client_options(context));
  const auto state = co_await find_state(context, client, flags.name);
  if (!state) co_return fail(context, state.error());
  print(context, context.common.json ? group_as_json(*state) : group_as_text(*state));
  co_return ExitCode::ok;
}

}  // namespace naru::command_line
