// Topics that are made because somebody needs them: by a client's Metadata request, or because a coordinator's state
// has to be somewhere.
#pragma once

#include <string>
#include <vector>

#include "async/task.h"
#include "broker/broker_services.h"
#include "foundation/status.h"

namespace naru {

// With their defaults, wherever the controller is; internal topics get what their coordinator needs. One result for
// each name, in their order; ok also for those that exist already.
Task<std::vector<Status>> make_missing_topics(const BrokerServices& services, std::vector<std::string> names);
// The same, by the controller on this broker.
Task<std::vector<Status>> make_missing_topics_here(const BrokerServices& services, std::vector<std::string> names);

}  // namespace naru
