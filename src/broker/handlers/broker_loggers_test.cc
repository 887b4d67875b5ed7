#include "broker/handlers/broker_loggers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "foundation/log.h"

namespace naru {
namespace {

// The levels are those of the process: each test leaves them as they were.
class BrokerLoggers : public testing::Test {
 protected:
  ~BrokerLoggers() override {
    set_component_log_level("groups", std::nullopt);
    set_log_level(before_);
  }
  static std::string level_of(std::string_view name) {
    const auto all = describe_loggers();
    const auto found = std::ranges::find(all, name, &DescribedLogger::name);
    return found != all.end() ? std::string(found->level) : "none";
  }
  static Status change(std::string name, std::optional<std::string> level,
                       ConfigOperation operation = ConfigOperation::set, bool validate_only = false) {
    return alter_loggers({{std::move(name), std::move(level), operation}}, validate_only);
  }

  const LogLevel before_ = log_level();
};

TEST_F(BrokerLoggers, AreTheComponentsAndTheRootInOrder) {
  const auto all = describe_loggers();
  EXPECT_EQ(all.size(), kLogComponents.size() + 1);
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &DescribedLogger::name));
}

TEST_F(BrokerLoggers, FollowTheRootUntilTheyHaveALevelOfTheirOwn) {
  ASSERT_TRUE(change("root", "ERROR").ok());
  EXPECT_EQ(level_of("root"), "ERROR");
  EXPECT_EQ(level_of("groups"), "ERROR");
  ASSERT_TRUE(change("groups", "DEBUG").ok());
  EXPECT_EQ(level_of("groups"), "DEBUG");
  EXPECT_TRUE(log_enabled(LogLevel::debug, "groups"));
  ASSERT_TRUE(change("groups", std::nullopt, ConfigOperation::remove).ok());
  EXPECT_EQ(level_of("groups"), "ERROR");
}

TEST_F(BrokerLoggers, HaveKafkasLevelsThoughNoLineHasTheLeastAndTheGreatest) {
  ASSERT_TRUE(change("groups", "TRACE").ok());
  EXPECT_EQ(level_of("groups"), "TRACE");
  EXPECT_TRUE(log_enabled(LogLevel::debug, "groups"));
  for (const char* logger : {"groups", "root"}) {
    ASSERT_TRUE(change(logger, "FATAL").ok());
    EXPECT_EQ(level_of(logger), "FATAL");
  }
  EXPECT_FALSE(log_enabled(LogLevel::warn, "groups"));
  EXPECT_TRUE(log_enabled(LogLevel::error, "groups"));
  EXPECT_TRUE(log_enabled(LogLevel::error, "partition")) << "it follows the root";
}

TEST_F(BrokerLoggers, RefuseWhatKafkaRefuses) {
  EXPECT_EQ(change("kafka.server.KafkaApis", "INFO").code(), ErrorCode::invalid_config);
  EXPECT_EQ(change("groups", "LOUD").message(),
            "the level of groups must be TRACE, DEBUG, INFO, WARN, ERROR or FATAL, not 'LOUD'");
  EXPECT_EQ(change("groups", "LOUD").code(), ErrorCode::invalid_config);
  EXPECT_EQ(change("groups", std::nullopt).code(), ErrorCode::invalid_config);
  EXPECT_EQ(change("root", std::nullopt, ConfigOperation::remove).code(), ErrorCode::invalid_request);
  EXPECT_EQ(change("groups", "DEBUG", ConfigOperation::append).code(), ErrorCode::invalid_request);
}

TEST_F(BrokerLoggers, ChangeTogetherOrNotAtAll) {
  const std::string before = level_of("groups");
  EXPECT_FALSE(alter_loggers({{"groups", "DEBUG"}, {"nobody", "DEBUG"}}, false).ok());
  EXPECT_EQ(level_of("groups"), before);
  EXPECT_EQ(alter_loggers({{"groups", "DEBUG"}, {"groups", "INFO"}}, false).code(), ErrorCode::invalid_request);
  EXPECT_TRUE(change("groups", "DEBUG", ConfigOperation::set, true).ok());
  EXPECT_EQ(level_of("groups"), before) << "only validated";
}

}  // namespace
}  // namespace naru
