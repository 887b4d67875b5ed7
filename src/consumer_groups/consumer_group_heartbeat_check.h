// What is wrong with a heartbeat by itself, whatever the group looks like.
#pragma once

#include "consumer_groups/consumer_group_messages.h"
#include "consumer_groups/consumer_group_settings.h"
#include "foundation/status.h"

namespace naru {

Status check_heartbeat(const ConsumerHeartbeat& request, const ConsumerGroupSettings& settings);

}  // namespace naru
