// What a heartbeat says: what is wrong with it by itself, whatever the group looks like, and what it means for the
// member's subscription.
#pragma once

#include "consumer_groups/consumer_protocol/consumer_group.h"
#include "consumer_groups/consumer_protocol/consumer_group_messages.h"
#include "consumer_groups/consumer_protocol/consumer_group_settings.h"
#include "foundation/status.h"

namespace naru {

Status check_heartbeat(const ConsumerHeartbeat& request, const ConsumerGroupSettings& settings);

// What the member has said before, and what it says now.
ConsumerSubscription updated_subscription(ConsumerSubscription said, const ConsumerHeartbeat& request);

}  // namespace naru
