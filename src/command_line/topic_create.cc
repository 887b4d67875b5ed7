#include "client/topic_admin.h"
#include "command_line/json_text.h"
#include "command_line/topic_commands.h"

namespace naru::command_line {

Task<ExitCode> topic_create(CommandContext& context, TopicCreateFlags flags) {
  client::ClusterClient client(context.seams, client_options(context));
  const auto created = co_await client::create_topic(
      client,
      {.name = flags.name, .partitions = flags.partitions, .replicas = flags.replicas, .configs = flags.configs});
  if (!created) co_return fail(context, created.error());
  if (context.common.json) {
    JsonText json;
    json.open_object().member("name", flags.name).member("id", created->id.to_string());
    json.member("partitions", created->partitions).member("replicas", created->replicas).close_object();
    print(context, json.take());
  } else {
    print(context, fmt::format("created topic {}: {}, {}\n", flags.name, counted(created->partitions, "partition"),
                               counted(created->replicas, "replica")));
  }
  co_return ExitCode::ok;
}

}  // namespace naru::command_line
