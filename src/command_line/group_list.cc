#include <algorithm>

#include "command_line/group_commands.h"
#include "command_line/group_progress.h"
#include "command_line/json_text.h"
#include "command_line/table.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

struct GroupRow {
  client::ListedGroup group;
  std::optional<int64_t> members;                   // none: the broker does not tell
  std::optional<client::CommittedOffsets> offsets;  // likewise
  std::optional<int64_t> lag;                       // none: nothing is committed, or not known
};
using GroupRows = std::map<std::string, GroupRow>;

// What a coordinator does not tell is a hole in the table, not the end of it.
Task<void> ask_coordinator(CommandContext& context, client::ClusterClient& client, BrokerId coordinator,
                           const std::vector<std::string>& ids, GroupRows& rows) {
  auto described = co_await client::describe_groups(client, coordinator, ids);
  if (described) {
    for (const client::GroupDescription& group : *described) {
      if (const auto row = rows.find(group.id); row != rows.end())
        row->second.members = static_cast<int64_t>(group.members.size());
    }
  } else {
    note(context, printable(described.error().message()));
  }
  auto offsets = co_await client::fetch_offsets_of_groups(client, coordinator, ids);
  if (offsets) {
    for (auto& [id, committed] : *offsets) {
      if (const auto row = rows.find(id); row != rows.end()) row->second.offsets = std::move(committed);
    }
  } else {
    note(context, printable(offsets.error().message()));
  }
}

std::optional<int64_t> add_up_lag(const client::CommittedOffsets& offsets, const Bounds& bounds) {
  std::optional<int64_t> sum;
  for (const auto& [name, offset] : offsets) {
    const PartitionProgress partition{.partition = name, .committed = offset, .bounds = bounds.at(name)};
    if (const auto lag = partition.lag()) sum = sum.value_or(0) + *lag;
  }
  return sum;
}

Task<void> find_lags(CommandContext& context, client::ClusterClient& client, GroupRows& rows) {
  std::set<client::TopicPartition> partitions;
  for (const auto& [id, row] : rows) {
    if (!row.offsets) continue;
    for (const auto& [partition, offset] : *row.offsets) partitions.insert(partition);
  }
  const auto bounds = co_await find_bounds(client, std::move(partitions));
  if (!bounds) {
    note(context, printable(bounds.error().message()));
    co_return;
  }
  for (auto& [id, row] : rows) {
    if (row.offsets) row.lag = add_up_lag(*row.offsets, *bounds);
  }
}

Task<Result<GroupRows>> find_groups(CommandContext& context, client::ClusterClient& client,
                                    const std::vector<std::string>& states) {
  NARU_CO_TRY_ASSIGN(auto listed, co_await client::list_groups(client, states));
  GroupRows rows;
  std::map<BrokerId, std::vector<std::string>> by_coordinator;
  for (client::ListedGroup& group : listed) {
    by_coordinator[group.coordinator].push_back(group.id);
    const std::string id = group.id;
    rows[id].group = std::move(group);
  }
  for (const auto& [coordinator, ids] : by_coordinator)
    co_await ask_coordinator(context, client, coordinator, ids, rows);
  co_await find_lags(context, client, rows);
  co_return rows;
}

std::string groups_as_json(const GroupRows& rows) {
  JsonText json;
  json.open_array();
  for (const auto& [id, row] : rows) {
    json.open_object().member("name", id).member("type", row.group.type).member("state", row.group.state);
    json.member("protocol_type", row.group.protocol_type).member("coordinator", row.group.coordinator.value());
    json.member("members", row.members).member("lag", row.lag).close_object();
  }
  return json.close_array().take();
}

std::string groups_as_table(const GroupRows& rows) {
  constexpr auto kRight = Table::Align::right;
  Table table({{"GROUP"}, {"TYPE"}, {"STATE"}, {"PROTOCOL"}, {"MEMBERS", kRight}, {"LAG", kRight}});
  const auto known = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
  const auto number = [](std::optional<int64_t> value) { return value ? std::to_string(*value) : "-"; };
  for (const auto& [id, row] : rows) {
    table.add({id, known(row.group.type), known(row.group.state), known(row.group.protocol_type), number(row.members),
               number(row.lag)});
  }
  return table.render();
}

}  // namespace

Task<ExitCode> group_list(CommandContext& context, GroupListFlags flags) {
  client::ClusterClient client(context.seams, client_options(context));
  const auto rows = co_await find_groups(context, client, flags.states);
  if (!rows) co_return fail(context, rows.error());
  if (context.common.json) {
    print(context, groups_as_json(*rows));
  } else if (rows->empty()) {
    print(context, flags.states.empty() ? "there are no groups; a consumer with a group.id makes one\n"
                                        : "there are no groups in this state\n");
  } else {
    print(context, groups_as_table(*rows));
  }
  co_return ExitCode::ok;
}

}  // namespace naru::command_line
