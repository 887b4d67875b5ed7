#include <algorithm>

#include "client/broker_error.h"
#include "command_line/group_commands.h"
#include "command_line/group_progress.h"
#include "command_line/json_text.h"
#include "command_line/start_positions.h"
#include "command_line/table.h"
#include "command_line/units.h"
#include "foundation/sort_and_drop_doubles.h"

namespace naru::command_line {
namespace {

using client::TopicPartition;

constexpr size_t kMembersNamed = 5;

struct NewOffset {
  TopicPartition partition;
  std::optional<Offset> old_offset;
  Offset new_offset;
  Offset end;
  std::string note;  // where the offset is not what was asked for
};

Status members_error(const client::GroupDescription& group) {
  std::string names;
  for (size_t i = 0; i < std::min(group.members.size(), kMembersNamed); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", member_name(group.members[i]));
  if (group.members.size() > kMembersNamed) names += fmt::format(" and {} more", group.members.size() - kMembersNamed);
  return error(ErrorCode::non_empty_group, "group {} has {}: {}; offsets can be reset only while there are none",
               group.id, counted(static_cast<int64_t>(group.members.size()), "member"), names);
}

// A group that does not exist can be prepared, too: its offsets make it.
Task<Status> check_group(CommandContext& context, client::ClusterClient& client, const std::string& name) {
  const auto group = co_await client::describe_group(client, name, context.common.timeout);
  if (group) co_return group->members.empty() ? Status() : members_error(*group);
  if (group.error() != ErrorCode::group_id_not_found) co_return group.error();
  note(context, fmt::format("there is no group {} yet", printable(name)));
  co_return Status();
}

Task<Result<std::vector<TopicPartition>>> choose_partitions(client::ClusterClient& client,
                                                            const GroupResetFlags& flags) {
  NARU_CO_TRY(co_await client.refresh({flags.topic}));
  const client::TopicInfo* topic = client.metadata().find_topic(flags.topic);
  NARU_CO_TRY(
      client::topic_error(topic == nullptr ? ErrorCode::unknown_topic_or_partition : topic->error, flags.topic));
  std::vector<TopicPartition> partitions;
  for (const PartitionIndex index : flags.partitions) {
    partitions.push_back({flags.topic, index});
    if (client.metadata().find_partition(partitions.back()) != nullptr) continue;
    co_return failure(ErrorCode::invalid_argument, "topic {} has no partition {}: it has 0 to {}", flags.topic, index,
                      topic->partitions.size() - 1);
  }
  if (partitions.empty()) {
    for (const auto& partition : topic->partitions) partitions.push_back({flags.topic, partition.index});
  }
  sort_and_drop_doubles(partitions);
  co_return partitions;
}

std::string note_about(const StartAt& to, const ReadRange& range) {
  if (to.kind != StartAt::Kind::offset || to.offset < 0) return "";
  if (Offset(to.offset) > range.end) return fmt::format("{} is beyond the end", to.offset);
  if (Offset(to.offset) < range.begin) return fmt::format("{} is not there any more", to.offset);
  return "";
}

Task<Result<std::vector<NewOffset>>> choose_offsets(CommandContext& context, client::ClusterClient& client,
                                                    const GroupResetFlags& flags) {
  NARU_CO_TRY_ASSIGN(auto partitions, co_await choose_partitions(client, flags));
  NARU_CO_TRY_ASSIGN(const auto committed, co_await client::fetch_group_offsets(client, flags.name));
  NARU_CO_TRY_ASSIGN(const auto ranges,
                     co_await find_ranges(client, partitions, flags.to, context.seams.clock.wall_now_ms()));
  std::vector<NewOffset> chosen;
  for (const auto& [partition, range] : ranges) {
    const auto old_offset = committed.find(partition);
    chosen.push_back({.partition = partition,
                      .old_offset = old_offset == committed.end() ? std::nullopt : std::optional(old_offset->second),
                      .new_offset = range.begin,
                      .end = range.end,
                      .note = note_about(flags.to, range)});
  }
  co_return chosen;
}

Task<Result<std::vector<NewOffset>>> reset_offsets(CommandContext& context, client::ClusterClient& client,
                                                   const GroupResetFlags& flags) {
  NARU_CO_TRY(co_await check_group(context, client, flags.name));
  NARU_CO_TRY_ASSIGN(auto chosen, co_await choose_offsets(context, client, flags));
  if (flags.dry_run) co_return chosen;
  client::CommittedOffsets offsets;
  for (const NewOffset& one : chosen) offsets[one.partition] = one.new_offset;
  NARU_CO_TRY(co_await client::commit_group_offsets(client, flags.name, std::move(offsets)));
  co_return chosen;
}

std::string reset_as_json(const GroupResetFlags& flags, const std::vector<NewOffset>& chosen) {
  JsonText json;
  json.open_object().member("group", flags.name).member("topic", flags.topic).member("dry_run", flags.dry_run);
  json.key("partitions").open_array();
  for (const NewOffset& one : chosen) {
    json.open_object().member("partition", one.partition.partition.value());
    json.member("old_offset", one.old_offset ? std::optional(one.old_offset->value()) : std::nullopt);
    json.member("new_offset", one.new_offset.value()).member("end_offset", one.end.value());
    json.member("note", one.note.empty() ? std::nullopt : std::optional(one.note)).close_object();
  }
  return json.close_array().close_object().take();
}

std::string reset_as_text(const GroupResetFlags& flags, const std::vector<NewOffset>& chosen) {
  constexpr auto kRight = Table::Align::right;
  Table table({{"PARTITION", kRight}, {"OLD", kRight}, {"NEW", kRight}, {"END", kRight}, {"NOTE"}});
  for (const NewOffset& one : chosen) {
    table.add({std::to_string(one.partition.partition.value()),
               one.old_offset ? std::to_string(one.old_offset->value()) : "-", std::to_string(one.new_offset.value()),
               std::to_string(one.end.value()), one.note});
  }
  const std::string last = flags.dry_run ? "a dry run: nothing was changed"
                                         : fmt::format("set {} of group {} in topic {}",
                                                       counted(static_cast<int64_t>(chosen.size()), "offset"),
                                                       printable(flags.name), printable(flags.topic));
  return table.render() + last + "\n";
}

}  // namespace

Task<ExitCode> group_reset(CommandContext& context, GroupResetFlags flags) {
  client::ClusterClient client(context.seams, client_options(context));
  const auto chosen = co_await reset_offsets(context, client, flags);
  if (!chosen) co_return fail(context, chosen.error());
  print(context, context.common.json ? reset_as_json(flags, *chosen) : reset_as_text(flags, *chosen));
  co_return ExitCode::ok;
}

}  // namespace naru::command_line
