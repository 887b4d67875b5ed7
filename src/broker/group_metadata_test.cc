#include "broker/group_metadata.h"

#include <gtest/gtest.h>

#include "configuration/config_definition.h"
#include "consumer_groups/consumer_protocol/consumer_group_target.h"

namespace naru {
namespace {

TEST(GroupMetadata, EveryAssignorThatCanBeConfiguredExists) {
  const auto allowed = find_broker_config("group.consumer.assignors")->allowed;
  ASSERT_FALSE(allowed.empty());
  for (const std::string_view name : allowed) EXPECT_TRUE(is_known_assignor(name)) << name;
}

TEST(GroupMetadata, AssignorsAreTakenInTheirOrder) {
  const BrokerConfig config = *make_broker_config({{"group.consumer.assignors", "range, uniform"}});
  EXPECT_EQ(group_settings(config.groups, MetadataImage()).consumer.assignors,
            (std::vector<std::string>{"range", "uniform"}));
}

}  // namespace
}  // namespace naru
