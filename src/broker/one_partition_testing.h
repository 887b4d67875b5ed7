// For tests of what a broker does around one of its partitions, whose records are durable when the test says so.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/hosted_partitions.h"
#include "broker/live_config.h"
#include "cluster_control/create_topics.h"
#include "cluster_control/metadata_bench.h"
#include "cluster_control/metadata_publisher.h"
#include "platform/simulated/simulated_world.h"
#include "replication/partition_testing.h"

namespace naru {

class BrokerWithOnePartition : public testing::Test {
 protected:
  void host(std::string_view topic, const ConfigOverrides& overrides = {}) {
    const Seams seams = process_->seams();
    partition_ = open_test_partition(node_.disk(), open_files_,
                                     {seams.clock, seams.scheduler, durability_, unsynced_logs_}, overrides);
    PartitionIdentity identity = partition_->identity();
    identity.topic = topic;
    hosted_.add(identity, {.partition = partition_, .log_dir = "/"});
  }
  // The metadata of the topic that is hosted, for create().
  NewTopic hosted_internal_topic(std::string_view name) const {
    return {.name = std::string(name),
            .partition_count = 1,
            .configs = {{"cleanup.policy", "compact"}},
            .internal = true,
            .id = partition_->identity().topic_id};
  }
  void create(std::vector<NewTopic> topics) {
    CreateTopicsPlanner planner({std::move(topics), false}, config_, 0);
    bench_.run(planner);
  }
  void publish() { world_.run_task(publisher_.publish(*bench_.rebuild())); }
  // Whoever waits for the log goes on, so that it can be stopped.
  void let_appends_end() {
    if (durability_.asked > 0) durability_.sync();
    world_.run_for(1ms);
  }

  SimulatedWorld world_{1};
  SimulatedNode& node_ = world_.add_node("broker");
  std::unique_ptr<SimulatedProcess> process_ = node_.start();
  const BrokerConfig config_ = *make_broker_config({{"node.id", "0"}});
  LiveConfig live_config_{config_};
  OpenFiles open_files_{node_.disk(), 4};
  MetricsRegistry metrics_;
  UnsyncedLogs unsynced_logs_{{.sync_beyond = 100, .full = 200}, metrics_};
  ManualDurability durability_;
  std::shared_ptr<Partition> partition_;
  HostedPartitions hosted_;
  MetadataBench bench_{1};
  MetadataPublisher publisher_;
};

}  // namespace naru
