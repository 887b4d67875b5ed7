#include "broker/log_maintenance.h"

#include <gtest/gtest.h>

#include <string>

#include "broker/one_partition_testing.h"
#include "cluster_control/alter_configs.h"

namespace naru {
namespace {

class LogMaintenanceTest : public BrokerWithOnePartition {
 protected:
  // Each look counts the segments that are left.
  bool has_looked() { return metrics_.render_prometheus().find("\nnaru_log_segments 1\n") != std::string::npos; }
};

TEST_F(LogMaintenanceTest, LooksAtRetentionSoonAfterTheStartThoughTheIntervalIsLong) {
  ASSERT_EQ(config_.log_retention_check_interval, 5min);
  host("orders");
  LogMaintenance maintenance(process_->seams(), config_, live_config_, hosted_, metrics_);
  maintenance.start();
  world_.run_for(29s);
  EXPECT_FALSE(has_looked());
  world_.run_for(2s);
  EXPECT_TRUE(has_looked());
  world_.run_task(maintenance.stop());
}

// What a client sets for this broker, as far as maintenance hears of it.
class LogMaintenanceConfigTest : public LogMaintenanceTest {
 protected:
  void set(std::string key, std::string value) {
    AlterConfigsPlanner planner({{ConfigResource::broker, "", {{std::move(key), std::move(value)}}}}, false, config_);
    bench_.run(planner);
    ASSERT_TRUE(planner.take_results().front().status.ok());
    ASSERT_TRUE(live_config_.follow(bench_.image()));
    maintenance_.obey_config();
  }

  LogMaintenance maintenance_{process_->seams(), config_, live_config_, hosted_, metrics_};
};

TEST_F(LogMaintenanceConfigTest, TheNumberOfCompactionsFollowsTheConfiguration) {
  maintenance_.start();
  EXPECT_EQ(maintenance_.compactions(), 1U);
  set("log.cleaner.threads", "3");
  EXPECT_EQ(maintenance_.compactions(), 3U);
  set("log.cleaner.threads", "2");
  world_.run_for(config_.log_cleaner_backoff + 1s);
  EXPECT_EQ(maintenance_.compactions(), 2U) << "one ends at its next look";
  set("log.cleaner.threads", "4");
  EXPECT_EQ(maintenance_.compactions(), 4U);
  world_.run_task(maintenance_.stop());
}

TEST_F(LogMaintenanceConfigTest, ThePauseBetweenLooksFollowsTheConfiguration) {
  maintenance_.start();
  set("log.cleaner.backoff.ms", "1000");
  world_.run_for(16s);
  set("log.cleaner.threads", "2");
  set("log.cleaner.threads", "1");
  EXPECT_EQ(maintenance_.compactions(), 2U);
  world_.run_for(2s);
  EXPECT_EQ(maintenance_.compactions(), 1U) << "it did not take 15 seconds until the next look";
  world_.run_task(maintenance_.stop());
}

}  // namespace
}  // namespace naru
