// A topic is created as a whole or not at all.
#pragma once

#include <vector>

#include "async/task.h"
#include "broker/broker_services.h"
#include "cluster_control/create_topics.h"

namespace naru {

// Deletes topics that were created just now and whose folders this broker could not make (the disk is full, say), and
// puts the reason into their results.
Task<void> undo_unusable_topics(const BrokerServices& services, std::vector<CreateTopicResult>& results);

}  // namespace naru
