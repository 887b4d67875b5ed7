// The keys of groups and of subscriptions to the metrics of clients. Ranges are those that Kafka's brokers have by
// default.
#include <algorithm>
#include <array>

#include "configuration/config_definition.h"
#include "configuration/value_checks.h"

namespace naru {
namespace {

using enum ConfigType;
using enum ConfigEffect;

constexpr std::array<std::string_view, 2> kIsolationLevels{"read_committed", "read_uncommitted"};

constexpr int64_t kAnyInt32 = std::numeric_limits<int32_t>::max();
constexpr std::string_view kNoShareGroups = "There are no share groups yet.";
constexpr std::string_view kNoStreamsGroups = "There are no streams groups yet.";

// A group without a value of its own has that of its broker.
constexpr ConfigSynonyms follows(std::string_view broker_key) {
  return {{ConfigSynonym{broker_key}}, 1};
}

constexpr ConfigDefinition without_effect(std::string_view reason, std::string_view name, std::string_view default_text,
                                          int64_t minimum, int64_t maximum, std::string_view broker_key) {
  return {.name = name,
          .scope = ConfigScope::group,
          .type = int32,
          .default_text = default_text,
          .effect = stored_only,
          .help = reason,
          .minimum = minimum,
          .maximum = maximum,
          .synonyms = follows(broker_key)};
}

constexpr std::string_view kNoTelemetry = "Clients are not asked for their metrics.";

constexpr auto kClientMetricsConfigs = std::to_array<ConfigDefinition>({
    {.name = "interval.ms",
     .scope = ConfigScope::client_metrics,
     .type = int32,
     .default_text = "300000",
     .effect = stored_only,
     .help = kNoTelemetry,
     .minimum = 100,
     .maximum = 3'600'000},
    {.name = "match",
     .scope = ConfigScope::client_metrics,
     .type = list,
     .default_text = "",
     .effect = stored_only,
     .help = kNoTelemetry,
     .check = detail::check_client_patterns},
    {.name = "metrics",
     .scope = ConfigScope::client_metrics,
     .type = list,
     .default_text = "",
     .effect = stored_only,
     .help = kNoTelemetry},
});

constexpr auto kGroupConfigs = std::to_array<ConfigDefinition>({
    without_effect("Partitions are assigned anew as soon as something changes.", "consumer.assignment.interval.ms",
                   "1000", 0, 15'000, "group.consumer.assignment.interval.ms"),
    {.name = "consumer.heartbeat.interval.ms",
     .scope = ConfigScope::group,
     .type = int32,
     .default_text = "5000",
     .effect = at_once,
     .help = "Time between two heartbeats that members are told to keep.",
     .minimum = 5'000,
     .maximum = 15'000,
     .synonyms = follows("group.consumer.heartbeat.interval.ms")},
    {.name = "consumer.session.timeout.ms",
     .scope = ConfigScope::group,
     .type = int32,
     .default_text = "45000",
     .effect = at_once,
     .help = "Time without a heartbeat after which a member is removed from the group.",
     .minimum = 45'000,
     .maximum = 60'000,
     .synonyms = follows("group.consumer.session.timeout.ms")},

    without_effect(kNoShareGroups, "share.assignment.interval.ms", "1000", 0, 15'000,
                   "group.share.assignment.interval.ms"),
    {.name = "share.auto.offset.reset",
     .scope = ConfigScope::group,
     .type = string,
     .default_text = "latest",
     .effect = stored_only,
     .help = kNoShareGroups,
     .check = detail::check_offset_reset},
    without_effect(kNoShareGroups, "share.delivery.count.limit", "5", 2, 10, "group.share.delivery.count.limit"),
    without_effect(kNoShareGroups, "share.heartbeat.interval.ms", "5000", 5'000, 15'000,
                   "group.share.heartbeat.interval.ms"),
    {.name = "share.isolation.level",
     .scope = ConfigScope::group,
     .type = string,
     .default_text = "read_uncommitted",
     .effect = stored_only,
     .help = kNoShareGroups,
     .allowed = kIsolationLevels},
    without_effect(kNoShareGroups, "share.partition.max.record.locks", "2000", 100, 4'000,
                   "group.share.partition.max.record.locks"),
    without_effect(kNoShareGroups, "share.record.lock.duration.ms", "30000", 15'000, 60'000,
                   "group.share.record.lock.duration.ms"),
    {.name = "share.renew.acknowledge.enable",
     .scope = ConfigScope::group,
     .type = boolean,
     .default_text = "true",
     .effect = stored_only,
     .help = kNoShareGroups},
    without_effect(kNoShareGroups, "share.session.timeout.ms", "45000", 45'000, 60'000,
                   "group.share.session.timeout.ms"),

    without_effect(kNoStreamsGroups, "streams.assignment.interval.ms", "1000", 0, 15'000,
                   "group.streams.assignment.interval.ms"),
    without_effect(kNoStreamsGroups, "streams.heartbeat.interval.ms", "5000", 5'000, 15'000,
                   "group.streams.heartbeat.interval.ms"),
    without_effect(kNoStreamsGroups, "streams.initial.rebalance.delay.ms", "3000", 0, kAnyInt32,
                   "group.streams.initial.rebalance.delay.ms"),
    without_effect(kNoStreamsGroups, "streams.num.standby.replicas", "0", 0, 2, "group.streams.num.standby.replicas"),
    without_effect(kNoStreamsGroups, "streams.session.timeout.ms", "45000", 45'000, 60'000,
                   "group.streams.session.timeout.ms"),
});

const ConfigDefinition* find(std::span<const ConfigDefinition> rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &ConfigDefinition::name);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

std::span<const ConfigDefinition> group_config_definitions() {
  return kGroupConfigs;
}
std::span<const ConfigDefinition> client_metrics_config_definitions() {
  return kClientMetricsConfigs;
}
const ConfigDefinition* find_group_config(std::string_view name) {
  return find(kGroupConfigs, name);
}
const ConfigDefinition* find_client_metrics_config(std::string_view name) {
  return find(kClientMetricsConfigs, name);
}

}  // namespace naru
