// What handlers may use. Built once by the broker; outlives every request.
#pragma once

#include <atomic>
#include <cstdint>

#include "access/authorizer.h"
#include "access/quotas.h"
#include "broker/hosted_partitions.h"
#include "broker/live_config.h"
#include "configuration/broker_config.h"
#include "platform/clock.h"
#include "platform/file_system.h"
#include "platform/scheduler.h"

namespace naru {

class ClusterContact;
class ControllerLink;
class ControllerShell;
class Counter;
class FetchSessions;
class FilePins;
class GroupCoordinators;
class LateWork;
class MarkerWriter;
class MemoryBudget;
class MetadataPublisher;
class PartitionKeeper;
class ProducerIdPool;
class Random;
class TransactionCoordinators;
class TransactionLink;
class UnsyncedLogs;

struct BrokerServices {
  const BrokerConfig& config;     // what the broker was started with: for keys that are read at a restart
  const LiveConfig& live_config;  // for keys that take effect at once; costs a lock, so not for every message
  Clock& clock;
  Random& random;
  Scheduler& scheduler;
  FileSystem& files;
  HostedPartitions& partitions;
  const Authorizer& authorizer;
  Quotas& quotas;
  const MetadataPublisher& metadata;
  ControllerShell& controller;  // of this broker, in office or not
  ControllerLink& controller_link;
  ProducerIdPool& producer_ids;
  const PartitionKeeper& keeper;
  MemoryBudget& memory;
  FetchSessions& fetch_sessions;
  GroupCoordinators& groups;
  TransactionCoordinators& transactions;
  TransactionLink& transaction_link;
  MarkerWriter& marker_writer;
  UnsyncedLogs& unsynced_logs;
  ClusterContact& contact;
  LateWork& late_work;
  Counter& reads_sent_nearer;
  const size_t files_per_fetch;  // descriptor_shares.h
  FilePins& file_pins;
  std::atomic<uint64_t>& watcher_ids;

  uint64_t next_watcher_id() const { return watcher_ids.fetch_add(1, std::memory_order_relaxed); }
};

}  // namespace naru
