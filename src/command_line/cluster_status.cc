#include "command_line/cluster_status.h"

#include <algorithm>

#include "client/broker_state.h"
#include "command_line/cluster_repairs.h"
#include "command_line/json_text.h"
#include "command_line/table.h"
#include "command_line/topic_commands.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

// Of a large cluster without some broker, thousands may be.
constexpr size_t kMostRepairsShown = 12;

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

struct Told {
  std::map<BrokerId, BrokerDisk> disks;
  ReplicaSizes sizes;
};

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

Task<Told> ask_brokers(CommandContext& context, client::ClusterClient& client) {
  Told told;
  const std::vector<client::BrokerInfo> brokers = client.metadata().brokers;
  for (const client::BrokerInfo& broker : brokers) {
    told.disks[broker.id] = {};
    const auto connection = co_await client.broker(broker.id);
    if (!connection) {
      note(context, connection.error().message());
      continue;
    }
    const auto folders = co_await client::describe_log_folders(**connection, context.common.timeout);
    if (!folders) continue;
    told.disks[broker.id] = add_up(*folders);
    for (const client::LogFolder& folder : *folders) {
      for (const client::PartitionSize& partition : folder.partitions) {
        told.sizes[{broker.id, partition.name}] = partition.bytes;
      }
    }
  }
  co_return told;
}

void add_ids(JsonText& json, std::string_view name, const std::vector<BrokerId>& brokers) {
  json.key(name).open_array();
  for (const BrokerId broker : brokers) json.value(broker.value());
  json.close_array();
}

void add_repair(JsonText& json, const Repair& repair) {
  json.open_object().member("topic", repair.name.topic).member("partition", repair.name.partition.value());
  json.member("leader", repair.state.leader.value());
  add_ids(json, "replicas", repair.state.replicas);
  add_ids(json, "in_sync", repair.state.in_sync);
  json.key("missing").open_array();
  for (const MissingReplica& replica : repair.missing) {
    json.open_object().member("broker", replica.broker.value()).member("here", replica.is_here);
    json.member("bytes", replica.bytes).member("leader_bytes", replica.leader_bytes).close_object();
  }
  json.close_array().member("repair", repair.to_string()).close_object();
}

std::string as_json(const client::ClusterMetadata& metadata, const Told& told) {
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
    const BrokerDisk& disk = told.disks.at(broker.id);
    json.member("leads", load.leads).member("replicas", load.replicas).member("log_bytes", disk.log_bytes);
    json.member("disk_free_bytes", disk.free_bytes).member("disk_total_bytes", disk.total_bytes);
    json.member("offline_folders", disk.offline_folders).close_object();
  }
  json.close_array();
  add_ids(json, "absent_brokers", absent_brokers(metadata));
  json.key("repairs").open_array();
  for (const Repair& repair : find_repairs(metadata, told.sizes)) add_repair(json, repair);
  return json.close_array().close_object().take();
}

std::string show(std::optional<uint64_t> bytes) {
  return bytes ? format_bytes(*bytes) : "-";
}

std::string brokers_as_text(const client::ClusterMetadata& metadata, const Told& told) {
  constexpr auto kRight = Table::Align::right;
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
    const BrokerDisk& disk = told.disks.at(broker.id);
    table.add({std::to_string(broker.id.value()), broker.address.to_string(), broker.rack.value_or("-"),
               broker.id == metadata.controller ? "controller" : "-", std::to_string(load.leads),
               std::to_string(load.replicas), show(disk.log_bytes), show(disk.free_bytes)});
  }
  for (const BrokerId id : absent_brokers(metadata)) {
    table.add({std::to_string(id.value()), "-", "-", "not here", "0", std::to_string(load_of(metadata, id).replicas),
               "-", "-"});
  }
  return table.render();
}

std::string repairs_as_text(const std::vector<Repair>& repairs) {
  if (repairs.empty()) return "";
  constexpr auto kRight = Table::Align::right;
  Table table({{"TOPIC"}, {"PARTITION", kRight}, {"LEADER", kRight}, {"REPLICAS"}, {"IN-SYNC"}, {"REPAIR"}});
  const size_t shown = std::min(repairs.size(), kMostRepairsShown);
  for (size_t i = 0; i < shown; ++i) {
    const Repair& repair = repairs[i];
    table.add({repair.name.topic, std::to_string(repair.name.partition.value()),
               repair.state.is_offline() ? "none" : std::to_string(repair.state.leader.value()),
               join(repair.state.replicas), join(repair.state.in_sync), repair.to_string()});
  }
  std::string text = "\n" + table.render();
  if (repairs.size() > shown) text += fmt::format("and {} more: --json has all\n", repairs.size() - shown);
  return text;
}

std::string health_as_text(const CommandContext& context, const Totals& totals) {
  if (totals.offline > 0) {
    std::string text = fmt::format("{} without a leader", counted(totals.offline, "partition"));
    if (totals.under_replicated > 0) text += fmt::format(", {} under-replicated", totals.under_replicated);
    return paint(context, Colour::red, text);
  }
  if (totals.under_replicated > 0) {
    return paint(context, Colour::yellow,
                 fmt::format("{} under-replicated", counted(totals.under_replicated, "partition")));
  }
  return paint(context, Colour::green, "all partitions are in order");
}

std::string status_as_text(const CommandContext& context, const client::ClusterMetadata& metadata, const Told& told) {
  const Totals totals = count_all(metadata);
  return fmt::format("cluster {}: {}, {}, {}; {}\n{}{}", printable(metadata.cluster_id),
                     counted(static_cast<int64_t>(metadata.brokers.size()), "broker"),
                     counted(static_cast<int64_t>(totals.topics), "topic"), counted(totals.partitions, "partition"),
                     health_as_text(context, totals), brokers_as_text(metadata, told),
                     repairs_as_text(find_repairs(metadata, told.sizes)));
}

}  // namespace

Task<ExitCode> cluster_status(CommandContext& context, ClusterStatusFlags) {
  client::ClusterClient client(context.seams, client_options(context));
  const Status refreshed = co_await client.refresh_all();
  if (!refreshed.ok()) co_return fail(context, refreshed);
  const Told told = co_await ask_brokers(context, client);
  print(context,
        context.common.json ? as_json(client.metadata(), told) : status_as_text(context, client.metadata(), told));
  co_return ExitCode::ok;
}

}  // namespace naru::command_line
