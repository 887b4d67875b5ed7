#include "command_line/cluster_status.h"

#include <algorithm>

#include "command_line/json_text.h"
#include "command_line/table.h"
#include "command_line/topic_commands.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

struct Totals {
  size_t topics = 0;
  int64_t partitions = 0, offline = 0, under_replicated = 0;
};

struct BrokerLoad {
  int64_t leads = 0, replicas = 0;
};

Totals count_all(const client::ClusterMetadata& metadata) {
  Totals totals{.topics = metadata.topics.size()};
  for (const client::TopicInfo& topic : metadata.topics) {
    totals.partitions += static_cast<int64_t>(topic.partitions.size());
    totals.offline += offline_partitions(topic);
    totals.under_replicated += under_replicated_partitions(topic);
  }
  return totals;
}

BrokerLoad load_of(const client::ClusterMetadata& metadata, BrokerId broker) {
  BrokerLoad load;
  for (const client::TopicInfo& topic : metadata.topics) {
    for (const client::PartitionInfo& partition : topic.partitions) {
      if (partition.leader == broker) ++load.leads;
      load.replicas += std::ranges::count(partition.replicas, broker);
    }
  }
  return load;
}

std::string as_json(const client::ClusterMetadata& metadata) {
  const Totals totals = count_all(metadata);
  JsonText json;
  json.open_object().member("cluster_id", metadata.cluster_id).member("controller", metadata.controller.value());
  json.member("topics", totals.topics).member("partitions", totals.partitions);
  json.member("offline_partitions", totals.offline).member("under_replicated_partitions", totals.under_replicated);
  json.key("brokers").open_array();
  for (const client::BrokerInfo& broker : metadata.brokers) {
    const BrokerLoad load = load_of(metadata, broker.id);
    json.open_object().member("id", broker.id.value()).member("host", broker.address.host);
    json.member("port", broker.address.port).member("rack", broker.rack);
    json.member("leads", load.leads).member("replicas", load.replicas).close_object();
  }
  return json.close_array().close_object().take();
}

std::string as_text(const CommandContext& context, const client::ClusterMetadata& metadata) {
  constexpr auto kRight = Table::Align::right;
  const Totals totals = count_all(metadata);
  Table table({{"BROKER", kRight}, {"ADDRESS"}, {"RACK"}, {"ROLE"}, {"LEADS", kRight}, {"REPLICAS", kRight}});
  for (const client::BrokerInfo& broker : metadata.brokers) {
    const BrokerLoad load = load_of(metadata, broker.id);
    table.add({std::to_string(broker.id.value()), broker.address.to_string(), broker.rack.value_or("-"),
               broker.id == metadata.controller ? "controller" : "-", std::to_string(load.leads),
               std::to_string(load.replicas)});
  }
  std::string health = paint(context, Colour::green, "all partitions are in order");
  if (totals.offline > 0) {
    health = paint(context, Colour::red, fmt::format("{} offline", counted(totals.offline, "partition")));
  } else if (totals.under_replicated > 0) {
    health = paint(context, Colour::yellow,
                   fmt::format("{} under-replicated", counted(totals.under_replicated, "partition")));
  }
  return fmt::format("cluster {}: {}, {}, {}; {}\n{}", printable(metadata.cluster_id),
                     counted(static_cast<int64_t>(metadata.brokers.size()), "broker"),
                     counted(static_cast<int64_t>(totals.topics), "topic"), counted(totals.partitions, "partition"),
                     health, table.render());
}

}  // namespace

Task<ExitCode> cluster_status(CommandContext& context, ClusterStatusFlags) {
  client::ClusterClient client(context.seams, client_options(context));
  const Status refreshed = co_await client.refresh_all();
  if (!refreshed.ok()) co_return fail(context, refreshed);
  print(context, context.common.json ? as_json(client.metadata()) : as_text(context, client.metadata()));
  co_return ExitCode::ok;
}

}  // namespace naru::command_line
