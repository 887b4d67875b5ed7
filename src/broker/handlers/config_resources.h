// How requests about configuration name what they are about.
#pragma once

#include <cstdint>
#include <string_view>

#include "broker/broker_services.h"
#include "broker/request_context.h"
#include "cluster_control/alter_configs.h"

namespace naru {

// Kafka's numbers.
inline constexpr int8_t kTopicResource = 2;
inline constexpr int8_t kBrokerResource = 4;
inline constexpr int8_t kBrokerLoggerResource = 8;
inline constexpr int8_t kClientMetricsResource = 16;
inline constexpr int8_t kGroupResource = 32;

// invalid_request for a kind that is not stored; loggers are not (broker_loggers.h).
Result<ConfigResource> config_resource(int8_t type);
int8_t resource_type(ConfigResource resource);

// nullptr: there is no such key.
const ConfigDefinition* find_config(ConfigResource resource, std::string_view name);

// Topics and groups are authorized by name, brokers and client metrics as a part of the cluster.
Status authorize_configs(const BrokerServices& services, const RequestContext& context, Operation operation,
                         ConfigResource resource, std::string_view name);

}  // namespace naru
