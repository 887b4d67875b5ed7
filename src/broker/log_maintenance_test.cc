#include "broker/log_maintenance.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "broker/one_partition_testing.h"
#include "cluster_control/alter_configs.h"
#include "record_format/batch_builder.h"
#include "record_format/batch_validator.h"

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
  LogMaintenance maintenance(process_->seams(), config_, live_config_, hosted_, open_files_, metrics_);
  maintenance.start();
  world_.run_for(29s);
  EXPECT_FALSE(has_looked());
  world_.run_for(2s);
  EXPECT_TRUE(has_looked());
  world_.run_task(maintenance.stop());
}

TEST_F(LogMaintenanceTest, FilesThatAreNotUsedForMinutesAreClosed) {
  host("orders");
  LogMaintenance maintenance(process_->seams(), config_, live_config_, hosted_, open_files_, metrics_);
  maintenance.start();
  ASSERT_GT(open_files_.size(), 0U);
  world_.run_for(61s);
  EXPECT_GT(open_files_.size(), 0U);
  world_.run_for(60s);
  EXPECT_EQ(open_files_.size(), 0U);
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

  // A log in which each of `keys` keys has two values, every one in a segment of its own.
  void host_keys(int keys) {
    host("keys", {{"cleanup.policy", "compact"}, {"segment.bytes", "150"}, {"min.cleanable.dirty.ratio", "0"}});
    for (int i = 0; i < 2 * keys; ++i) {
      BatchBuilder builder;
      builder.add(1000, std::to_string(i % keys), std::string(100, 'v'));
      SharedBytes batch(builder.build().value());
      auto validated = validate_produced_batch(batch.view(), {}, 1000);
      const auto group = std::make_shared<AppendGroup>(1);
      partition_->append({std::move(batch), *validated, Acks::leader}, group, 0);
    }
    durability_.sync();
  }
  int64_t counted(std::string_view metric) {
    const std::string page = metrics_.render_prometheus();
    const std::string line = fmt::format("\n{} ", metric);
    return std::stoll(page.substr(page.find(line) + line.size()));
  }

  LogMaintenance maintenance_{process_->seams(), config_, live_config_, hosted_, open_files_, metrics_};
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

TEST_F(LogMaintenanceConfigTest, TheMemoryOfACompactionFollowsTheConfiguration) {
  maintenance_.start();
  set("log.cleaner.dedupe.buffer.size", "1024");
  host_keys(100);
  world_.run_for(16s);
  EXPECT_EQ(partition_->log().compaction_progress().first_dirty, partition_->log().end_offset() - 1);
  EXPECT_GT(counted("naru_log_cleaner_runs_total"), 3) << "32 keys fit, and each run goes so far";
  world_.run_task(maintenance_.stop());
}

TEST_F(LogMaintenanceConfigTest, ManyKeysAreCompactedAtOnceInTheMemoryOfTheDefault) {
  maintenance_.start();
  host_keys(100);
  world_.run_for(16s);
  EXPECT_EQ(counted("naru_log_cleaner_runs_total"), 1);
  world_.run_task(maintenance_.stop());
}

TEST_F(LogMaintenanceConfigTest, TheRateOfCompactionFollowsTheConfiguration) {
  maintenance_.start();
  set("log.cleaner.io.max.bytes.per.second", "1000");
  host_keys(100);
  const auto size = static_cast<int64_t>(partition_->log().size_bytes());
  const auto done = [this] { return counted("naru_log_cleaner_runs_total") == 1; };
  // What is kept is half of it: it is read twice, and half of it is written.
  const auto seconds = [&](int64_t rate) { return Duration(1s) * (5 * size / 2) / rate; };
  world_.run_for(15s + seconds(1000) / 2);
  EXPECT_FALSE(done());
  set("log.cleaner.io.max.bytes.per.second", "2000");
  world_.run_for(seconds(2000) / 3);
  EXPECT_FALSE(done());
  world_.run_for(seconds(2000) / 2);
  EXPECT_TRUE(done());
  world_.run_task(maintenance_.stop());
}

TEST_F(LogMaintenanceConfigTest, ACompactionThatWaitsForItsRateDoesNotHoldUpTheStop) {
  maintenance_.start();
  set("log.cleaner.io.max.bytes.per.second", "1");
  host_keys(100);
  world_.run_for(1min);
  const MonotonicTime before = world_.now();
  world_.run_task(maintenance_.stop());
  EXPECT_LT(world_.now() - before, 1s);
  EXPECT_EQ(counted("naru_log_cleaner_runs_total") + counted("naru_log_cleaner_failures_total"), 0);
}

}  // namespace
}  // namespace naru
