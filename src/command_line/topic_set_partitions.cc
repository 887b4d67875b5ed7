#include "client/topic_admin.h"
#include "command_line/json_text.h"
#include "command_line/topic_commands.h"

namespace naru::command_line {

Task<ExitCode> topic_set_partitions(CommandContext& context, TopicSetPartitionsFlags flags) {
  client::ClusterClient client(context.seams, client_options(context));
  const Status changed = co_await client::set_partitions(client, flags.name, flags.count);
  if (!changed.ok()) co_return fail(context, changed);
  if (context.common.json) {
    JsonText json;
    print(context,
          json.open_object().member("name", flags.name).member("partitions", flags.count).close_object().take());
  } else {
    print(context, fmt::format("topic {} has {} now; keys of new records may go to other partitions than before\n",
                               flags.name, counted(flags.count, "partition")));
  }
  co_return ExitCode::ok;
}

}  // namespace naru::command_line
