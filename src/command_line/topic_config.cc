#include "client/config_admin.h"
#include "command_line/json_text.h"
#include "command_line/table.h"
#include "command_line/topic_commands.h"

namespace naru::command_line {
namespace {

std::string as_json(const std::string& topic, const std::vector<client::ConfigEntry>& entries) {
  JsonText json;
  json.open_object().member("name", topic).key("config").open_array();
  for (const client::ConfigEntry& entry : entries) {
    json.open_object().member("key", entry.name).member("value", entry.value);
    json.member("source", client::config_source_name(entry.source)).close_object();
  }
  return json.close_array().close_object().take();
}

std::string as_table(const std::vector<client::ConfigEntry>& entries) {
  Table table({{"KEY"}, {"VALUE"}, {"SOURCE"}});
  for (const client::ConfigEntry& entry : entries) {
    table.add({entry.name, entry.value.value_or("(secret)"), std::string(client::config_source_name(entry.source))});
  }
  return table.render();
}

}  // namespace

// Changes first, if there are any; then what counts.
Task<ExitCode> topic_config(CommandContext& context, TopicConfigFlags flags) {
  client::ClusterClient client(context.seams, client_options(context));
  if (!flags.set.empty() || !flags.remove.empty()) {
    const Status changed =
        co_await client::alter_topic_config(client, flags.name, {.set = flags.set, .remove = flags.remove});
    if (!changed.ok()) co_return fail(context, changed);
  }
  auto entries = co_await client::describe_topic_config(client, flags.name);
  if (!entries) co_return fail(context, entries.error());
  if (!flags.all) std::erase_if(*entries, [](const client::ConfigEntry& entry) { return !entry.is_set_here(); });
  if (context.common.json) {
    print(context, as_json(flags.name, *entries));
  } else if (entries->empty()) {
    print(context, fmt::format("nothing is set for topic {}; --all shows what counts\n", flags.name));
  } else {
    print(context, as_table(*entries));
  }
  co_return ExitCode::ok;
}

}  // namespace naru::command_line
