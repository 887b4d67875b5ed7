#include "command_line/run_command.h"

#include <utility>

#include "command_line/cluster_status.h"
#include "command_line/consume_command.h"
#include "command_line/doctor.h"
#include "command_line/group_commands.h"
#include "command_line/json_text.h"
#include "command_line/produce_command.h"
#include "command_line/topic_commands.h"
#include "command_line/txn_commands.h"
#include "foundation/assert.h"

namespace naru::command_line {
namespace {

Task<ExitCode> print_version(CommandContext& context) {
  print(context, context.common.json ? JsonText().open_object().member("version", context.version).close_object().take()
                                     : fmt::format("naru {}\n", context.version));
  co_return ExitCode::ok;
}

// One overload per command.
struct Starter {
  CommandContext& context;

  Task<ExitCode> operator()(ServerFlags) const {
    NARU_ASSERT(false, "the server is not a client");
    return print_version(context);
  }
  Task<ExitCode> operator()(TopicCreateFlags flags) const { return topic_create(context, std::move(flags)); }
  Task<ExitCode> operator()(TopicListFlags flags) const { return topic_list(context, flags); }
  Task<ExitCode> operator()(TopicDescribeFlags flags) const { return topic_describe(context, std::move(flags)); }
  Task<ExitCode> operator()(TopicDeleteFlags flags) const { return topic_delete(context, std::move(flags)); }
  Task<ExitCode> operator()(TopicSetPartitionsFlags flags) const {
    return topic_set_partitions(context, std::move(flags));
  }
  Task<ExitCode> operator()(TopicConfigFlags flags) const { return topic_config(context, std::move(flags)); }
  Task<ExitCode> operator()(ProduceFlags flags) const { return produce(context, std::move(flags)); }
  Task<ExitCode> operator()(ConsumeFlags flags) const { return consume(context, std::move(flags)); }
  Task<ExitCode> operator()(GroupListFlags flags) const { return group_list(context, std::move(flags)); }
  Task<ExitCode> operator()(GroupDescribeFlags flags) const { return group_describe(context, std::move(flags)); }
  Task<ExitCode> operator()(GroupResetFlags flags) const { return group_reset(context, std::move(flags)); }
  Task<ExitCode> operator()(GroupDeleteFlags flags) const { return group_delete(context, std::move(flags)); }
  Task<ExitCode> operator()(GroupWhyFlags flags) const { return group_why(context, std::move(flags)); }
  Task<ExitCode> operator()(TxnListFlags flags) const { return txn_list(context, std::move(flags)); }
  Task<ExitCode> operator()(TxnDescribeFlags flags) const { return txn_describe(context, std::move(flags)); }
  Task<ExitCode> operator()(TxnAbortFlags flags) const { return txn_abort(context, std::move(flags)); }
  Task<ExitCode> operator()(ClusterStatusFlags flags) const { return cluster_status(context, flags); }
  Task<ExitCode> operator()(DoctorFlags flags) const { return doctor(context, std::move(flags)); }
  Task<ExitCode> operator()(VersionFlags) const { return print_version(context); }
};

}  // namespace

Task<ExitCode> run_command(CommandContext& context, Command command) {
  return std::visit(Starter{context}, std::move(command));
}

bool ends_in_order(const Command& command) {
  return std::holds_alternative<ProduceFlags>(command) || std::holds_alternative<ConsumeFlags>(command);
}

}  // namespace naru::command_line
