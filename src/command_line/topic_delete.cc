#include "client/topic_admin.h"
#include "command_line/json_text.h"
#include "command_line/topic_commands.h"

namespace naru::command_line {

// One by one, so that one that cannot be deleted does not keep the others; the exit code tells whether all were.
Task<ExitCode> topic_delete(CommandContext& context, TopicDeleteFlags flags) {
  client::ClusterClient client(context.seams, client_options(context));
  Progress progress(context);
  std::vector<std::string> deleted;
  ExitCode exit_code = ExitCode::ok;
  for (const std::string& name : flags.names) {
    if (progress.due()) progress.show(fmt::format("deleted {} of {} topics", deleted.size(), flags.names.size()));
    const Status status = co_await client::delete_topic(client, name);
    if (status.ok()) {
      deleted.push_back(name);
      if (!context.common.json) {
        progress.clear();
        print(context, fmt::format("deleted topic {}\n", name));
      }
      continue;
    }
    progress.clear();
    exit_code = fail(context, status);
    if (status == ErrorCode::network_exception) break;  // the others would wait for the same broker
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
