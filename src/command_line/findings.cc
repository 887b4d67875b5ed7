#include "command_line/findings.h"

#include <algorithm>
#include <cstdlib>

#include "client/broker_error.h"
#include "command_line/topic_commands.h"
#include "command_line/units.h"

namespace naru::command_line {
namespace {

constexpr uint64_t kOpenFilesWanted = 65'536;
constexpr uint64_t kMemoryMapsWanted = 65'530;
constexpr uint64_t kDirtyBytesMax = 8ull << 30;
constexpr Duration kSlowSync = 20ms;
constexpr int64_t kClockDifferenceMaxMs = 1000;
constexpr uint64_t kFreePercentWanted = 10;
constexpr uint64_t kFreeBytesNeeded = 1ull << 30;

Finding judge_open_files(const SystemFacts& facts) {
  // A broker takes as many as it may have.
  const uint64_t limit = std::max(*facts.open_files, facts.open_files_max.value_or(0));
  const std::string found = limit == UINT64_MAX ? "no limit" : format_count(limit);
  if (limit >= kOpenFilesWanted) return {Verdict::ok, "open files", found, ""};
  return {Verdict::warn, "open files", found,
          fmt::format("every connection is one, and so is every partition that was written to since its last sync; "
                      "raise the hard limit to {} in /etc/security/limits.conf, or LimitNOFILE= of its service",
                      kOpenFilesWanted)};
}

}  // namespace

Finding judge_bootstrap(const Endpoint& address, const Status& connected, Duration took) {
  const std::string check = fmt::format("reach {}", address.to_string());
  if (connected.ok()) return {Verdict::ok, check, fmt::format("answered in {}", format_duration(took)), ""};
  const bool refused = connected.message().find("refused") != std::string::npos;
  return {Verdict::fail, check, connected.message(),
          refused ? "nobody listens there: start a broker (naru server), or use --bootstrap with another address"
                  : "check the address, the network and firewalls in between"};
}

Finding judge_versions(const client::ApiVersions& versions) {
  std::string missing;
  for (const kafka::ApiRow& row : kafka::kApiTable) {
    if (!row.between_brokers && !versions.choose(row.key, {}))
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", row.name);
  }
  const std::string found = fmt::format("{} APIs", versions.offered().size());
  if (missing.empty()) return {Verdict::ok, "protocol", found + ", all that this naru uses", ""};
  return {Verdict::warn, "protocol", found + ", without " + missing,
          "commands that need these will not work; is the broker older than this naru, or not a Naru?"};
}

Finding judge_advertised(const client::BrokerInfo& broker, const Status& asked, Duration took,
                         const std::vector<Endpoint>& given) {
  const std::string check = fmt::format("broker {} at {}", broker.id, broker.address.to_string());
  const std::string advertise =
      "start the broker with an address that its clients can use: --advertise HOST:PORT "
      "(advertised.listeners)";
  if (broker.address.is_everywhere())
    return {Verdict::fail, check, "advertises an address that means nowhere", advertise};
  if (!asked.ok()) return {Verdict::fail, check, asked.message(), advertise};
  if (broker.address.is_loopback() && std::ranges::none_of(given, &Endpoint::is_loopback)) {
    return {Verdict::fail, check, "advertises itself as this machine, which is another one for every other client",
            advertise};
  }
  return {Verdict::ok, check, fmt::format("answered in {}", format_duration(took)), ""};
}

Finding judge_clock(const client::BrokerInfo& broker, const client::BrokerClock& clock) {
  const std::string check = fmt::format("clock of broker {}", broker.id);
  const int64_t ahead = clock.ahead_ms();
  if (ahead == 0) return {Verdict::ok, check, "as here", ""};
  const std::string found =
      fmt::format("{} {} ours", format_duration(Milliseconds(std::abs(ahead))), ahead > 0 ? "ahead of" : "behind");
  if (std::abs(ahead) < kClockDifferenceMaxMs) return {Verdict::ok, check, found, ""};
  return {Verdict::warn, check, found,
          "timestamps, retention by time and reading by time suffer: synchronise the clocks (chrony, ntp)"};
}

Finding judge_listeners(const client::BrokerInfo& broker, const client::ListenerSettings& settings) {
  const std::string check = fmt::format("listeners of broker {}", broker.id);
  const bool several = settings.listeners.find(',') != std::string::npos;
  if (several && settings.between_brokers) {
    return {Verdict::ok, check, fmt::format("{} is for brokers alone", *settings.between_brokers), ""};
  }
  const std::string address = settings.listeners.substr(0, settings.listeners.find(','));
  const size_t host = address.find("://");
  const auto endpoint = parse_endpoint(host == std::string::npos ? address : address.substr(host + 3));
  if (endpoint && endpoint->is_loopback()) {
    return {Verdict::ok, check, "shared by clients and brokers, and reached from this machine only", ""};
  }
  return {Verdict::warn, check, "shared by clients and brokers: every client there has the rights of a broker",
          "give brokers a listener of their own in a network that clients cannot reach: a second one in `listeners`, "
          "named by `inter.broker.listener.name`"};
}

Findings judge_folders(const client::BrokerInfo& broker, const std::vector<client::LogFolder>& folders) {
  Findings findings;
  for (const client::LogFolder& folder : folders) {
    const std::string name = fmt::format("{} of broker {}", folder.path, broker.id);
    if (folder.error != ErrorCode::none) {
      findings.push_back({Verdict::fail, name, client::broker_error(folder.error, "offline").message(),
                          "look into the broker's log; a disk that failed stays offline until a restart"});
    } else if (folder.total_bytes && folder.free_bytes) {
      Finding space = judge_space(name, DiskSpace{*folder.total_bytes, *folder.free_bytes});
      if (space.verdict != Verdict::ok) findings.push_back(std::move(space));
    }
  }
  return findings;
}

Findings judge_partitions(const client::ClusterMetadata& metadata) {
  Findings findings;
  size_t partitions = 0;
  for (const client::TopicInfo& topic : metadata.topics) {
    partitions += topic.partitions.size();
    const std::string check = fmt::format("topic {}", topic.name);
    if (offline_partitions(topic) > 0) {
      findings.push_back({Verdict::fail, check, health_of(topic),
                          "start the brokers that hold these partitions; their logs say why one does not open"});
    } else if (under_replicated_partitions(topic) > 0) {
      findings.push_back({Verdict::warn, check, health_of(topic), "start the brokers that are missing, or wait"});
    }
  }
  if (findings.empty()) {
    findings.push_back({Verdict::ok, "partitions", fmt::format("{}, all in order", format_count(partitions)), ""});
  }
  return findings;
}

Findings judge_system(const SystemFacts& facts) {
  Findings findings;
  if (facts.open_files) findings.push_back(judge_open_files(facts));
  if (facts.memory_maps) {
    const bool enough = *facts.memory_maps >= kMemoryMapsWanted;
    findings.push_back({enough ? Verdict::ok : Verdict::warn, "memory maps", format_count(*facts.memory_maps),
                        enough ? "" : fmt::format("sysctl vm.max_map_count={}", kMemoryMapsWanted)});
  }
  if (facts.dirty_bytes) {
    const bool little = *facts.dirty_bytes <= kDirtyBytesMax;
    findings.push_back({little ? Verdict::ok : Verdict::warn, "unwritten data",
                        fmt::format("up to {} before writers wait", format_bytes(*facts.dirty_bytes)),
                        little ? "" : "a sync may have to wait for all of it: sysctl vm.dirty_bytes=1073741824"});
  }
  return findings;
}

Finding judge_sync_speed(const std::string& folder, const Result<std::vector<Duration>>& syncs) {
  const std::string check = fmt::format("sync in {}", folder);
  if (!syncs) return {Verdict::fail, check, syncs.error().message(), "the broker cannot write there either"};
  std::vector<Duration> sorted = *syncs;
  std::ranges::sort(sorted);
  const Duration median = sorted[sorted.size() / 2];
  const std::string found = fmt::format("{}, at most {}", format_duration(median), format_duration(sorted.back()));
  if (median <= kSlowSync) return {Verdict::ok, check, found, ""};
  return {Verdict::warn, check, found,
          "every acknowledgement waits for a sync (flush.messages=1): use a faster disk, or one with a write cache "
          "that survives power cuts"};
}

Finding judge_space(const std::string& folder, const Result<DiskSpace>& space) {
  const std::string check = fmt::format("space in {}", folder);
  if (!space) return {Verdict::fail, check, space.error().message(), "check the folder's name and permissions"};
  const uint64_t percent = space->total_bytes < 100 ? 0 : space->free_bytes / (space->total_bytes / 100);
  const std::string found =
      fmt::format("{} of {} free ({} %)", format_bytes(space->free_bytes), format_bytes(space->total_bytes), percent);
  const std::string advice =
      "a full disk refuses writes: make room, or lower retention.ms and retention.bytes of topics";
  if (space->free_bytes < kFreeBytesNeeded) return {Verdict::fail, check, found, advice};
  if (percent < kFreePercentWanted) return {Verdict::warn, check, found, advice};
  return {Verdict::ok, check, found, ""};
}

}  // namespace naru::command_line
