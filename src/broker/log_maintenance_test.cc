#include "broker/log_maintenance.h"

#include <gtest/gtest.h>

#include <string>

#include "broker/one_partition_testing.h"

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
  LogMaintenance maintenance(process_->seams(), config_, hosted_, metrics_);
  maintenance.start();
  world_.run_for(29s);
  EXPECT_FALSE(has_looked());
  world_.run_for(2s);
  EXPECT_TRUE(has_looked());
  world_.run_task(maintenance.stop());
}

}  // namespace
}  // namespace naru
