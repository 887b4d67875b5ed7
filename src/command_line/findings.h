// What the doctor thinks of facts. Pure functions: finding the facts is the business of doctor.cc.
#pragma once

#include <string>
#include <vector>

#include "client/api_versions.h"
#include "client/broker_state.h"
#include "client/cluster_metadata.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "platform/file_system.h"
#include "platform/system_facts.h"

namespace naru::command_line {

enum class Verdict : uint8_t { ok, warn, fail };

struct Finding {
  Verdict verdict = Verdict::ok;
  std::string check;   // what was looked at
  std::string found;   // what is there
  std::string advice;  // what to do; empty when all is well
};
using Findings = std::vector<Finding>;

// An address that was given, and what came of connecting to it.
Finding judge_bootstrap(const Endpoint& address, const Status& connected, Duration took);
Finding judge_versions(const client::ApiVersions& versions);
// An address that a broker advertises: what came of asking it a question. `given` is what the person used.
Finding judge_advertised(const client::BrokerInfo& broker, const Status& asked, Duration took,
                         const std::vector<Endpoint>& given);
Finding judge_clock(const client::BrokerInfo& broker, const client::BrokerClock& clock);
// Whether strangers could act as a broker.
Finding judge_listeners(const client::BrokerInfo& broker, const client::ListenerSettings& settings);
// Those of a broker; only what is not in order.
Findings judge_folders(const client::BrokerInfo& broker, const std::vector<client::LogFolder>& folders);
Findings judge_partitions(const client::ClusterMetadata& metadata);
Findings judge_system(const SystemFacts& facts);
Finding judge_sync_speed(const std::string& folder, const Result<std::vector<Duration>>& syncs);
Finding judge_space(const std::string& folder, const Result<DiskSpace>& space);

}  // namespace naru::command_line
