// What the handlers of the group APIs share.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "access/authorizer.h"
#include "broker/broker_services.h"
#include "broker/request_context.h"
#include "broker/turns.h"
#include "consumer_groups/group_messages.h"
#include "coordinator_runtime/coordinator_shard.h"
#include "foundation/request_canary.h"

namespace naru {

inline std::optional<std::string> to_owned(std::optional<std::string_view> text) {
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

inline Bytes to_owned(BytesView bytes) {
  return {bytes.begin(), bytes.end()};
}

// What a large request says, or its answer, is taken apart in one piece: not on a loop. `elements`: of its lists.
// Requests that large are not pipelined, so their order is not kept.
inline Turns::ToWorker off_the_loop_if_large(const BrokerServices& services, const RequestContext& context,
                                             size_t elements = 0) {
  constexpr size_t kLarge = 256 * 1024;
  const bool is_large = context.frame.size() >= kLarge || elements > CoordinatorShard::kElementsOnLoop;
  return {services.scheduler, is_large && !is_planted(RequestCanary::long_steps_on_loops)};
}

// group_authorization_failed, or none.
inline ErrorCode group_access(const BrokerServices& services, const RequestContext& context, Operation operation,
                              std::string_view group_id) {
  return services.authorizer.authorize(context.caller, operation, ResourceType::group, group_id)
             ? ErrorCode::none
             : ErrorCode::group_authorization_failed;
}

}  // namespace naru
