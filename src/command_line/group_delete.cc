#include "client/group_admin.h"
#include "command_line/group_commands.h"
#include "command_line/json_text.h"
#include "command_line/units.h"

namespace naru::command_line {

// One by one, so that one that cannot be deleted does not keep the others; the exit code tells whether all were.
Task<ExitCode> group_delete(CommandContext& context, GroupDeleteFlags flags) {
  client::ClusterClient client(context.seams, client_options(context));
  std::vector<std::string> deleted;
  ExitCode exit_code = ExitCode::ok;
  for (const std::string& name : flags.names) {
    const Status status = co_await client::delete_group(client, name);
    if (!status.ok()) {
      exit_code = fail(context, status);
      if (status == ErrorCode::network_exception) break;  // the others would wait for the same broker
      continue;
    }
    deleted.push_back(name);
    if (!context.common.json) print(context, fmt::format("deleted group {}\n", printable(name)));
  }
  if (context.common.json) {
    JsonText json;
    json.open_object().key("deleted").open_array();
    for (const std::string& name : deleted) json.value(name);
    print(context, json.close_array().close_object().take());
  }
  co_return exit_code;
}

}  // namespace naru::command_line
