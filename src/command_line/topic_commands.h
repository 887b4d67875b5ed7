// `naru topic ...`. Each command in its own file.
#pragma once

#include "command_line/command_context.h"

namespace naru::command_line {

Task<ExitCode> topic_create(CommandContext& context, TopicCreateFlags flags);
Task<ExitCode> topic_list(CommandContext& context, TopicListFlags flags);
Task<ExitCode> topic_describe(CommandContext& context, TopicDescribeFlags flags);
Task<ExitCode> topic_set_partitions(CommandContext& context, TopicSetPartitionsFlags flags);
Task<ExitCode> topic_config(CommandContext& context, TopicConfigFlags flags);
Task<ExitCode> topic_delete(CommandContext& context, TopicDeleteFlags flags);

// "ok", or what is wrong with how many partitions.
std::string health_of(const client::TopicInfo& topic);
int64_t offline_partitions(const client::TopicInfo& topic);
int64_t under_replicated_partitions(const client::TopicInfo& topic);

}  // namespace naru::command_line
