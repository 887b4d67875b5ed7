// What the handlers of the group APIs share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "broker/authorizer.h"
#include "broker/broker_services.h"
#include "broker/request_context.h"
#include "consumer_groups/group_messages.h"

namespace naru {

inline std::optional<std::string> to_owned(std::optional<std::string_view> text) {
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

inline Bytes to_owned(BytesView bytes) {
  return {bytes.begin(), bytes.end()};
}

// group_authorization_failed, or none.
inline ErrorCode group_access(const BrokerServices& services, const RequestContext& context, Operation operation,
                              std::string_view group_id) {
  return services.authorizer.authorize(context, operation, ResourceType::group, group_id)
             ? ErrorCode::none
             : ErrorCode::group_authorization_failed;
}

}  // namespace naru
