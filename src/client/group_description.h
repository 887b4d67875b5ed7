// Groups of both types, from the broker's words to ours. No I/O.
#pragma once

#include "client/group_admin.h"
#include "kafka_protocol/messages/consumer_group_describe_response.h"
#include "kafka_protocol/messages/describe_groups_response.h"

namespace naru::client {

// Of answers without an error. What they say is the broker's and the members': it may be in any order, and anything.
GroupDescription to_description(kafka::DescribeGroupsResponse::DescribedGroup described, BrokerId coordinator);
GroupDescription to_description(kafka::ConsumerGroupDescribeResponse::DescribedGroup described, BrokerId coordinator);

}  // namespace naru::client
