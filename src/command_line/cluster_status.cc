#include "command_line/cluster_status.h"

#include <algorithm>

#include "client/broker_state.h"
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

// Empty: the broker did not tell, or cannot be reached.
struct BrokerDisk {
  std::optional<uint64_t> log_bytes, free_bytes, total_bytes;
  int64_t offline_folders = 0;
};
using Disks = std::map<BrokerId, BrokerDisk>;

// Folders may share a disk, which is then counted several times; better than to say nothing.
BrokerDisk add_up(const std::vector<client::LogFolder>& folders) {
  BrokerDisk disk{.log_bytes = 0};
  for (const client::LogFolder& folder : folders) {
    if (folder.error != ErrorCode::none) ++disk.offline_folders;
    *disk.log_bytes += static_cast<uint64_t>(folder.log_bytes);
    if (folder.free_bytes) disk.free_bytes = disk.free_bytes.value_or(0) + *folder.free_bytes;
    if (folder.total_bytes) disk.total_bytes = disk.total_bytes.value_or(0) + *folder.total_bytes;
  }
  return disk;
}

Task<Disks> find_disks(CommandContext& context, client::ClusterClient& client) {
  Disks disks;
  const std::vector<client::BrokerInfo> brokers = client.metadata().brokers;
  for (const client::BrokerInfo& broker : brokers) {
    disks[broker.id] = {};
    const auto connection = co_await client.broker(broker.id);
    if (!connection) {
      note(context, connection.error().message());
      continue;
    }
    const auto folders = co_await client::describe_log_folders(**connection, context.common.timeout);
    if (folders) disks[broker.id] = add_up(*folders);
  }
  co_return disks;
}

std::string as_json(const client::ClusterMetadata& metadata, const Disks& disks) {
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
    const BrokerDisk& disk = disks.at(broker.id);
    json.member("leads", load.leads).member("replicas", load.replicas).member("log_bytes", disk.log_bytes);
    json.member("disk_free_bytes", disk.free_bytes).member("disk_total_bytes", disk.total_bytes);
    json.member("offline_folders", disk.offline_folders).close_object();
  }
  return json.close_array().close_object().take();
}

std::string show(std::optional<uint64_t> bytes) {
  return bytes ? format_bytes(*bytes) : "-";
}

std::string status_as_text(const CommandContext& context, const client::ClusterMetadata& metadata, const Disks& disks) {
  constexpr auto kRight = Table::Align::right;
  const Totals totals = count_all(metadata);
  Table table({{"BROKER", kRight},
               {"ADDRESS"},
               {"RACK"},
               {"ROLE"},
               {"LEADS", kRight},
               {"REPLICAS", kRight},
               {"LOGS", kRight},
               {"DISK FREE", kRight}});
  for (const client::BrokerInfo& broker : metadata.brokers) {
    const BrokerLoad load = load_of(metadata, broker.id);
    table.add({std::to_string(broker.id.value()), broker.address.to_string(), broker.rack.value_or("-"),
               broker.id == metadata.controller ? "controller" : "-", std::to_string(load.leads),
               std::to_string(load.replicas), show(disks.at(broker.id).log_bytes),
               show(disks.at(broker.id).free_bytes)});
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
  const Disks disks = co_await find_disks(context, client);
  print(context,
        context.common.json ? as_json(client.metadata(), disks) : status_as_text(context, client.metadata(), disks));
  co_return ExitCode::ok;
}

}  // namespace naru::command_line
