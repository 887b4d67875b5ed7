// What handlers may use. Built once by the broker; outlives every request.
#pragma once

#include <atomic>
#include <cstdint>

#include "broker/authorizer.h"
#include "broker/hosted_partitions.h"
#include "broker/throttle.h"
#include "configuration/broker_config.h"
#include "platform/clock.h"
#include "platform/scheduler.h"

namespace naru {

class ControllerShell;
class MetadataPublisher;
class ProducerIdPool;

struct BrokerServices {
  const BrokerConfig& config;
  Clock& clock;
  Scheduler& scheduler;
  HostedPartitions& partitions;
  const Authorizer& authorizer;
  Throttle& throttle;
  const MetadataPublisher& metadata;
  ControllerShell& controller;
  ProducerIdPool& producer_ids;
  std::atomic<uint64_t>& watcher_ids;

  uint64_t next_watcher_id() const { return watcher_ids.fetch_add(1, std::memory_order_relaxed); }
};

}  // namespace naru
