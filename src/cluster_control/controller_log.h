// What the controller says about brokers that came and went, in words for an operator.
#pragma once

#include <cstdint>
#include <map>

#include "cluster_control/broker_standings.h"
#include "cluster_control/settle_partitions.h"

namespace naru {

// `before`: the brokers that the partitions were in line with, by epoch. `standings`: as they were when `planner`
// began.
void log_settled(const std::map<BrokerId, int64_t>& before, const BrokerStandings& standings,
                 const SettlePartitionsPlanner& planner);

}  // namespace naru
