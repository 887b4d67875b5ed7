// The components of the log as Kafka's loggers of a broker: each is described with its level and given another one.
//
// Levels are those of this process and are not stored: a restart begins with naru.log.level, as in Kafka with its file.
#pragma once

#include <string_view>
#include <vector>

#include "broker/broker_services.h"
#include "broker/request_context.h"
#include "cluster_control/alter_configs.h"
#include "kafka_protocol/wire_reader.h"

namespace naru {

struct DescribedLogger {
  std::string_view name;   // of a component, or "root"
  std::string_view level;  // that holds for it
};

// In the order of their names.
std::vector<DescribedLogger> describe_loggers();

// All changes or none. invalid_config for a logger or a level that does not exist, invalid_request for an operation
// that loggers do not have.
Status alter_loggers(const std::vector<ConfigChange>& changes, bool validate_only);

// Each broker has loggers of its own: `broker` is the number of this one.
Status check_own_loggers(const BrokerServices& services, const RequestContext& context, Operation operation,
                         std::string_view broker);

// Whether an IncrementalAlterConfigs request names loggers: then this broker answers it, also if another one is the
// controller.
bool asks_for_loggers(const RequestContext& context, kafka::WireReader reader);

}  // namespace naru
