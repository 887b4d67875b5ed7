#include <algorithm>

#include "client/broker_error.h"
#include "command_line/json_text.h"
#include "command_line/table.h"
#include "command_line/topic_commands.h"

namespace naru::command_line {
namespace {

size_t replicas_of(const client::TopicInfo& topic) {
  return topic.partitions.empty() ? 0 : topic.partitions.front().replicas.size();
}

std::string as_json(const client::ClusterMetadata& metadata) {
  JsonText json;
  json.open_array();
  for (const client::TopicInfo& topic : metadata.topics) {
    json.open_object().member("name", topic.name).member("id", topic.id.to_string());
    json.member("internal", topic.internal).member("partitions", topic.partitions.size());
    json.member("replicas", replicas_of(topic)).member("offline_partitions", offline_partitions(topic));
    json.member("under_replicated_partitions", under_replicated_partitions(topic)).close_object();
  }
  return json.close_array().take();
}

std::string as_table(const client::ClusterMetadata& metadata) {
  Table table({{"TOPIC"}, {"PARTITIONS", Table::Align::right}, {"REPLICAS", Table::Align::right}, {"HEALTH"}});
  for (const client::TopicInfo& topic : metadata.topics) {
    table.add(
        {topic.name, std::to_string(topic.partitions.size()), std::to_string(replicas_of(topic)), health_of(topic)});
  }
  return table.render();
}

}  // namespace

int64_t offline_partitions(const client::TopicInfo& topic) {
  return std::ranges::count_if(topic.partitions, &client::PartitionInfo::is_offline);
}

int64_t under_replicated_partitions(const client::TopicInfo& topic) {
  return std::ranges::count_if(topic.partitions, &client::PartitionInfo::is_under_replicated);
}

std::string health_of(const client::TopicInfo& topic) {
  if (topic.error != ErrorCode::none) return client::broker_error(topic.error, "error").message();
  if (const int64_t offline = offline_partitions(topic)) return fmt::format("{} offline", offline);
  if (const int64_t under = under_replicated_partitions(topic)) return fmt::format("{} under-replicated", under);
  return "ok";
}

Task<ExitCode> topic_list(CommandContext& context, TopicListFlags) {
  client::ClusterClient client(context.seams, client_options(context));
  const Status refreshed = co_await client.refresh_all();
  if (!refreshed.ok()) co_return fail(context, refreshed);
  if (context.common.json) {
    print(context, as_json(client.metadata()));
  } else if (client.metadata().topics.empty()) {
    print(context, "there are no topics; `naru topic create NAME` creates one\n");
  } else {
    print(context, as_table(client.metadata()));
  }
  co_return ExitCode::ok;
}

}  // namespace naru::command_line
