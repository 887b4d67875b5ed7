// The keys of groups. Ranges are those that Kafka's brokers have by default.
#include <algorithm>
#include <array>

#include "configuration/config_definition.h"
#include "configuration/value_checks.h"

namespace naru {
namespace {

using enum ConfigType;
using enum ConfigEffect;

constexpr std::array<std::string_view, 2> kIsolationLevels{"read_committed", "read_uncommitted"};

constexpr ConfigDefinition session_timeout(std::string_view name, ConfigEffect effect = stored_only) {
  return {.name = name,
          .scope = ConfigScope::group,
          .type = int32,
          .default_text = "45000",
          .effect = effect,
          .help = "Time without a heartbeat after which a member is removed from the group.",
          .minimum = 45'000,
          .maximum = 60'000};
}

constexpr ConfigDefinition heartbeat_interval(std::string_view name, ConfigEffect effect = stored_only) {
  return {.name = name,
          .scope = ConfigScope::group,
          .type = int32,
          .default_text = "5000",
          .effect = effect,
          .help = "Time between two heartbeats that members are told to keep.",
          .minimum = 5'000,
          .maximum = 15'000};
}

constexpr auto kGroupConfigs = std::to_array<ConfigDefinition>({
    heartbeat_interval("consumer.heartbeat.interval.ms", at_once),
    session_timeout("consumer.session.timeout.ms", at_once),
    {.name = "share.auto.offset.reset",
     .scope = ConfigScope::group,
     .type = string,
     .default_text = "latest",
     .effect = stored_only,
     .help =
         "Where a share group starts in a partition: latest, earliest, or by_duration:PERIOD (ISO 8601) before now.",
     .check = detail::check_offset_reset},
    heartbeat_interval("share.heartbeat.interval.ms"),
    {.name = "share.isolation.level",
     .scope = ConfigScope::group,
     .type = string,
     .default_text = "read_uncommitted",
     .effect = stored_only,
     .help = "Whether a share group reads records of transactions that are not committed.",
     .allowed = kIsolationLevels},
    {.name = "share.record.lock.duration.ms",
     .scope = ConfigScope::group,
     .type = int32,
     .default_text = "30000",
     .effect = stored_only,
     .help = "Time for which a member of a share group has a record to itself.",
     .minimum = 15'000,
     .maximum = 60'000},
    session_timeout("share.session.timeout.ms"),
    heartbeat_interval("streams.heartbeat.interval.ms"),
    {.name = "streams.num.standby.replicas",
     .scope = ConfigScope::group,
     .type = int32,
     .default_text = "0",
     .effect = stored_only,
     .help = "Standby replicas of each task of a streams group.",
     .minimum = 0,
     .maximum = 2},
    session_timeout("streams.session.timeout.ms"),
});

}  // namespace

std::span<const ConfigDefinition> group_config_definitions() {
  return kGroupConfigs;
}

const ConfigDefinition* find_group_config(std::string_view name) {
  const auto found = std::ranges::find(kGroupConfigs, name, &ConfigDefinition::name);
  return found == kGroupConfigs.end() ? nullptr : &*found;
}

}  // namespace naru
